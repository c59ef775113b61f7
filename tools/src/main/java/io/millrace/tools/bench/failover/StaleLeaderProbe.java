package io.millrace.tools.bench.failover;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Message;
import io.millrace.client.ProducerRecord;
import io.millrace.client.TopicDescription;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.BatchWriter;
import io.millrace.protocol.batch.Compression;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.FrameFormat;
import io.millrace.protocol.frame.Frames;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.HelloRequest;
import io.millrace.protocol.message.ProduceBatch;
import io.millrace.protocol.message.ProduceRequest;
import io.millrace.protocol.message.ProduceResponse;
import io.millrace.protocol.message.ProduceResult;
import io.millrace.protocol.message.RequestContext;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;

/**
 * Sends records to one broker and to no other, and keeps its answers: what a leader says that was
 * frozen while another took over. The ordinary client would go to the new leader instead.
 *
 * <p>Owns: one connection and the thread that reads it. Requests wait in the socket while the
 * broker is frozen; each is small, so writing them does not block.
 *
 * <p>Threads: {@link #send} on one; the rest from any.
 */
final class StaleLeaderProbe implements AutoCloseable {
  private static final int CONNECT_MILLIS = 5_000;
  private static final int PROTOCOL_VERSION = 1;
  private static final int HELLO_CORRELATION = 0;
  private static final int MAX_ANSWER_BYTES = 1 << 20;
  private static final int MAX_BATCH_BYTES = 64 << 10;

  /** After it the broker answers that the outcome is unknown. */
  private static final long DEADLINE_MILLIS = 5_000;

  /**
   * What the broker said to one record.
   *
   * @param error NONE: it is acknowledged
   */
  record Answer(ErrorCode error, long term, long offset) {
    boolean acked() {
      return error == ErrorCode.NONE;
    }
  }

  private final ByteString topicId;
  private final Socket socket;
  private final OutputStream out;
  private final DataInputStream in;
  private final Thread reader;
  private volatile String ended;
  private final Map<Integer, Long> numbers = new HashMap<>();
  private final Map<Long, Answer> answers = new HashMap<>();
  private int lastCorrelation = HELLO_CORRELATION;

  /** Connects and is greeted; partition 0 of the topic is meant by every record. */
  StaleLeaderProbe(String host, int port, TopicDescription topic) throws IOException {
    ByteBuffer id = ByteBuffer.allocate(2 * Long.BYTES);
    id.putLong(topic.id().getMostSignificantBits()).putLong(topic.id().getLeastSignificantBits());
    topicId = ByteString.copyFrom(id.flip());
    socket = new Socket();
    try {
      socket.connect(new InetSocketAddress(host, port), CONNECT_MILLIS);
      socket.setTcpNoDelay(true);
      socket.setSoTimeout(CONNECT_MILLIS);
      out = socket.getOutputStream();
      in = new DataInputStream(socket.getInputStream());
      write(
          ApiKind.HELLO,
          HELLO_CORRELATION,
          HelloRequest.newBuilder()
              .setClientName("millrace-bench-probe")
              .setMinVersion(PROTOCOL_VERSION)
              .setMaxVersion(PROTOCOL_VERSION)
              .build(),
          Unpooled.EMPTY_BUFFER);
      readFrame();
      socket.setSoTimeout(0);
    } catch (IOException | RuntimeException e) {
      socket.close();
      throw e;
    }
    reader = new Thread(this::readAnswers, "millrace-failover-probe");
    reader.setDaemon(true);
    reader.start();
  }

  /**
   * @param number names the record in {@link #answers}
   */
  void send(long number, ProducerRecord record) throws IOException {
    var writer = new BatchWriter(Compression.NONE, MAX_BATCH_BYTES);
    writer.tryAppend(System.currentTimeMillis(), record.key(), record.value(), record.headers());
    ByteBuffer batch =
        writer.build(
            BatchHeader.NO_PRODUCER_ID, BatchHeader.NO_PRODUCER_EPOCH, BatchHeader.NO_SEQUENCE);
    ProduceRequest request =
        ProduceRequest.newBuilder()
            .setContext(RequestContext.newBuilder().setDeadlineMillis(DEADLINE_MILLIS))
            .addBatches(
                ProduceBatch.newBuilder()
                    .setTopicId(topicId)
                    .setSize(batch.remaining())
                    .setCrc(BatchHeader.crc(batch, 0)))
            .build();
    int correlation;
    synchronized (numbers) {
      correlation = ++lastCorrelation;
      numbers.put(correlation, number);
    }
    write(ApiKind.PRODUCE, correlation, request, Unpooled.wrappedBuffer(batch));
  }

  private void write(ApiKind kind, int correlation, Message header, ByteBuf payload)
      throws IOException {
    ByteBuf frame =
        Frames.encode(UnpooledByteBufAllocator.DEFAULT, kind, false, correlation, header, payload);
    try {
      out.write(ByteBufUtil.getBytes(frame));
      out.flush();
    } finally {
      frame.release();
    }
  }

  /** Until the connection ends; what is not answered by then stays without an answer. */
  private void readAnswers() {
    try {
      while (true) {
        readFrame();
      }
    } catch (IOException e) {
      // Closed by us or by the broker: what has no answer now gets none, so its outcome is unknown.
      ended = e.toString();
    }
  }

  private void readFrame() throws IOException {
    byte[] prefix = new byte[FrameFormat.PREFIX_BYTES];
    in.readFully(prefix);
    ByteBuffer fields = ByteBuffer.wrap(prefix);
    int correlation = fields.getInt(FrameFormat.CORRELATION_OFFSET);
    int length = fields.getInt(FrameFormat.LENGTH_OFFSET);
    if (fields.getShort(FrameFormat.MAGIC_OFFSET) != FrameFormat.MAGIC
        || length < 1
        || length > MAX_ANSWER_BYTES) {
      throw new EOFException("no frame of this protocol: length " + length);
    }
    byte[] body = new byte[length];
    in.readFully(body);
    if (correlation != HELLO_CORRELATION) {
      ProduceResponse response =
          ProduceResponse.parseFrom(CodedInputStream.newInstance(body).readByteArray());
      take(correlation, response);
    }
  }

  private void take(int correlation, ProduceResponse response) {
    synchronized (numbers) {
      Long number = numbers.remove(correlation);
      if (number == null) {
        return;
      }
      answers.put(number, answer(response));
    }
  }

  private static Answer answer(ProduceResponse response) {
    ErrorInfo whole = response.getContext().getError();
    if (whole.getCode() != 0) {
      return new Answer(ErrorCode.of(whole.getCode()), 0, -1);
    }
    if (response.getResultsCount() != 1) {
      return new Answer(ErrorCode.SERVER_ERROR, 0, -1);
    }
    ProduceResult result = response.getResults(0);
    return new Answer(
        ErrorCode.of(result.getError().getCode()), result.getTerm(), result.getBaseOffset());
  }

  /** Why no more answers can come; null: they can. */
  String ended() {
    return ended;
  }

  /** The answers so far, by the number of the record. */
  Map<Long, Answer> answers() {
    synchronized (numbers) {
      return Map.copyOf(answers);
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
