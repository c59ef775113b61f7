package io.millrace.tools.bench.failover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Message;
import io.millrace.client.FsyncPolicy;
import io.millrace.client.ProducerRecord;
import io.millrace.client.TopicDescription;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.FrameFormat;
import io.millrace.protocol.frame.Frames;
import io.millrace.protocol.message.HelloResponse;
import io.millrace.protocol.message.ProduceRequest;
import io.millrace.protocol.message.ProduceResponse;
import io.millrace.protocol.message.ProduceResult;
import io.millrace.protocol.message.ResponseContext;
import io.millrace.tools.bench.failover.StaleLeaderProbe.Answer;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Against a socket that plays the broker. */
@Timeout(30)
class StaleLeaderProbeTest {
  private static final UUID TOPIC = new UUID(3, 4);
  private static final TopicDescription DESCRIPTION =
      new TopicDescription("t", TOPIC, 3, FsyncPolicy.ALWAYS, 0, 1, 1, 0, 0, 0, "", List.of());

  private ServerSocket server;
  private Socket broker;
  private StaleLeaderProbe probe;

  private record Request(int correlation, ProduceRequest header, ByteBuffer batch) {}

  @BeforeEach
  void connect() throws Exception {
    server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    var connecting =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return new StaleLeaderProbe("127.0.0.1", server.getLocalPort(), DESCRIPTION);
              } catch (IOException e) {
                throw new IllegalStateException(e);
              }
            });
    broker = server.accept();
    byte[] hello = read();
    answer(
        ApiKind.HELLO,
        ByteBuffer.wrap(hello).getInt(FrameFormat.CORRELATION_OFFSET),
        HelloResponse.newBuilder().setMinVersion(1).setMaxVersion(1).build());
    probe = connecting.join();
  }

  @AfterEach
  void close() throws IOException {
    probe.close();
    broker.close();
    server.close();
  }

  private byte[] read() throws IOException {
    var in = new DataInputStream(broker.getInputStream());
    byte[] prefix = new byte[FrameFormat.PREFIX_BYTES];
    in.readFully(prefix);
    byte[] body = new byte[ByteBuffer.wrap(prefix).getInt(FrameFormat.LENGTH_OFFSET)];
    in.readFully(body);
    return ByteBuffer.allocate(prefix.length + body.length).put(prefix).put(body).array();
  }

  private Request readProduce() throws IOException {
    byte[] frame = read();
    CodedInputStream body =
        CodedInputStream.newInstance(
            frame, FrameFormat.PREFIX_BYTES, frame.length - FrameFormat.PREFIX_BYTES);
    byte[] header = body.readByteArray();
    int payload = FrameFormat.PREFIX_BYTES + body.getTotalBytesRead();
    return new Request(
        ByteBuffer.wrap(frame).getInt(FrameFormat.CORRELATION_OFFSET),
        ProduceRequest.parseFrom(header),
        ByteBuffer.wrap(frame, payload, frame.length - payload).slice());
  }

  private void answer(ApiKind kind, int correlation, Message header) throws IOException {
    ByteBuf frame =
        Frames.encode(UnpooledByteBufAllocator.DEFAULT, kind, true, correlation, header, null);
    broker.getOutputStream().write(ByteBufUtil.getBytes(frame));
    frame.release();
  }

  private static ProduceResponse result(ProduceResult.Builder result) {
    return ProduceResponse.newBuilder().addResults(result).build();
  }

  @Test
  void answersAreMatchedWhateverTheirOrder() throws IOException {
    var requests = new ArrayList<Request>();
    for (long number = 0; number < 4; number++) {
      probe.send(number, ProducerRecord.of("t", new byte[] {1}, new byte[100]));
      requests.add(readProduce());
    }
    answer(
        ApiKind.PRODUCE,
        requests.get(2).correlation(),
        result(ProduceResult.newBuilder().setBaseOffset(17).setTerm(4)));
    answer(
        ApiKind.PRODUCE,
        requests.get(0).correlation(),
        result(ProduceResult.newBuilder().setError(ErrorCode.NOT_LEADER.toInfo("moved"))));
    answer(
        ApiKind.PRODUCE,
        requests.get(1).correlation(),
        ProduceResponse.newBuilder()
            .setContext(
                ResponseContext.newBuilder().setError(ErrorCode.REQUEST_TIMEOUT.toInfo("late")))
            .build());

    await().until(() -> probe.answers().size() == 3);

    assertThat(probe.answers())
        .isEqualTo(
            Map.of(
                0L, new Answer(ErrorCode.NOT_LEADER, 0, 0),
                1L, new Answer(ErrorCode.REQUEST_TIMEOUT, 0, -1),
                2L, new Answer(ErrorCode.NONE, 4, 17)));
    assertThat(probe.answers().get(2L).acked()).isTrue();
    assertThat(probe.answers().get(0L).acked()).isFalse();
  }

  @Test
  void aRecordIsOneBatchOfNoProducerForPartitionZero() throws IOException {
    probe.send(5, ProducerRecord.of("t", new byte[] {1}, new byte[100]));

    Request request = readProduce();

    assertThat(request.header().getBatchesCount()).isEqualTo(1);
    assertThat(request.header().getBatches(0).getPartition()).isZero();
    assertThat(request.header().getBatches(0).getTopicId().asReadOnlyByteBuffer())
        .isEqualTo(ByteBuffer.allocate(16).putLong(3).putLong(4).flip());
    assertThat(request.header().getBatches(0).getSize()).isEqualTo(request.batch().remaining());
    assertThat(BatchHeader.isIntact(request.batch(), 0)).isTrue();
    assertThat(BatchHeader.producerId(request.batch(), 0)).isEqualTo(BatchHeader.NO_PRODUCER_ID);
    assertThat(BatchHeader.recordCount(request.batch(), 0)).isEqualTo(1);
  }

  @Test
  void aClosedConnectionIsToldAndLeavesTheRestWithoutAnAnswer() throws IOException {
    probe.send(0, ProducerRecord.of("t", new byte[] {1}, new byte[100]));
    assertThat(probe.ended()).isNull();

    broker.close();

    await().until(() -> probe.ended() != null);
    assertThat(probe.answers()).isEmpty();
  }
}
