package io.millrace.protocol.frame;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import com.google.protobuf.TextFormat;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.DeleteTopicRequest;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.ResponseContext;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class FramesTest {

  private static final ByteBufAllocator ALLOC = UnpooledByteBufAllocator.DEFAULT;
  private static final Message HEADER = DeleteTopicRequest.newBuilder().setName("orders").build();

  record Golden(String title, String text, String hex) {
    @Override
    public String toString() {
      return title;
    }
  }

  static Stream<Golden> golden() throws IOException {
    try (InputStream in = FramesTest.class.getResourceAsStream("/golden/frames-v1.txt")) {
      String all = new String(in.readAllBytes(), StandardCharsets.UTF_8);
      return Arrays.stream(all.split("\n\n"))
          .map(entry -> entry.strip().split("\n"))
          .map(lines -> new Golden(lines[0], lines[1], lines[2]))
          .toList()
          .stream();
    }
  }

  @Test
  void goldenFramesCoverEveryKindBothWays() throws IOException {
    List<String> expected =
        Arrays.stream(ApiKind.values())
            .flatMap(k -> Stream.of(k + " request", k + " response"))
            .toList();
    assertThat(golden().map(Golden::title)).isEqualTo(expected);
  }

  /** A field that changes its number or type fails here; a new field does not. */
  @ParameterizedTest
  @MethodSource("golden")
  void goldenBytesOfVersion1(Golden golden) {
    Frame frame = decode(Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(golden.hex)));
    try {
      assertThat(frame.kind() + (frame.isResponse() ? " response" : " request"))
          .isEqualTo(golden.title);
      assertThat(frame.correlation()).isEqualTo(0x01020300 + frame.kindCode());
      Parser<? extends Message> parser =
          frame.isResponse() ? frame.kind().response() : frame.kind().request();
      Message header = frame.header(parser);
      assertThat(TextFormat.printer().emittingSingleLine(true).printToString(header))
          .isEqualTo(golden.text);
      assertThat(ByteBufUtil.hexDump(frame.payload())).isEqualTo("aabbcc");

      ByteBuf again =
          Frames.encode(
              ALLOC,
              frame.kind(),
              frame.isResponse(),
              frame.correlation(),
              header,
              frame.payload().retain());
      assertThat(ByteBufUtil.hexDump(again)).isEqualTo(golden.hex);
      assertThat(again.release()).isTrue();
    } finally {
      assertThat(frame.release()).isTrue();
    }
  }

  @Test
  void kindCodesAreTheGoldenList() {
    assertThat(Arrays.stream(ApiKind.values()).map(k -> k.code() + " " + k))
        .containsExactly(
            "1 HELLO",
            "2 METADATA",
            "3 PRODUCE",
            "4 FETCH",
            "5 LIST_OFFSETS",
            "6 INIT_PRODUCER_ID",
            "7 CREATE_TOPIC",
            "8 DELETE_TOPIC",
            "9 BROKER_STATUS",
            "10 NETWORK_FAULTS",
            "11 DELETE_RECORDS",
            "12 ALTER_TOPIC",
            "100 PEER_HELLO",
            "101 RAFT",
            "102 METADATA_COMMAND",
            "103 LEADER_ANNOUNCEMENT",
            "104 TRANSFER_LEADER",
            "105 PEER_PING",
            "106 REPLICA_STATE",
            "107 REPLICA_FETCH",
            "108 REPLICA_CHECKPOINT",
            "110 PEER_PROOF");
    for (ApiKind kind : ApiKind.values()) {
      assertThat(ApiKind.of(kind.code())).isSameAs(kind);
    }
    assertThat(List.of(-1, 0, 13, 99, 109, 127, 128, 65535))
        .allSatisfy(code -> assertThat(ApiKind.of(code)).isNull());
  }

  @ParameterizedTest
  @EnumSource(ApiKind.class)
  void everyKindStandsInTheDocumentation(ApiKind kind) throws IOException {
    assertThat(Files.readString(Path.of("..", "docs", "inside", "protocol.md")))
        .contains("| " + kind.code() + " | " + kind + " |");
  }

  @Test
  void payloadIsNotCopiedAndReleasedWithTheFrame() {
    ByteBuf payload = PooledByteBufAllocator.DEFAULT.directBuffer(8).writeLong(1);
    ByteBuf frame = Frames.encode(ALLOC, ApiKind.PRODUCE, false, 7, HEADER, payload);
    assertThat(frame).isInstanceOf(CompositeByteBuf.class);
    payload.setLong(0, 0x1122334455667788L);
    assertThat(frame.getLong(frame.writerIndex() - 8)).isEqualTo(0x1122334455667788L);
    assertThat(payload.refCnt()).isEqualTo(1);
    assertThat(frame.release()).isTrue();
    assertThat(payload.refCnt()).isZero();
  }

  @Test
  void compositePayloadIsTakenApartNotCopied() {
    ByteBuf first = Unpooled.buffer().writeInt(1);
    ByteBuf second = Unpooled.buffer().writeInt(2);
    ByteBuf payload = Unpooled.wrappedBuffer(first, second);
    ByteBuf frame = Frames.encode(ALLOC, ApiKind.PRODUCE, false, 7, HEADER, payload);
    assertThat(frame.nioBufferCount()).isEqualTo(3);
    second.setInt(0, 99);
    assertThat(frame.getInt(frame.writerIndex() - 4)).isEqualTo(99);
    assertThat(frame.release()).isTrue();
    assertThat(List.of(first.refCnt(), second.refCnt(), payload.refCnt())).containsOnly(0);
  }

  @Test
  void emptyPayloadIsReleasedAtOnce() {
    ByteBuf payload = Unpooled.buffer(16);
    ByteBuf frame = Frames.encode(ALLOC, ApiKind.PRODUCE, false, 7, HEADER, payload);
    assertThat(payload.refCnt()).isZero();
    assertThat(frame.release()).isTrue();
  }

  @Test
  void payloadIsReleasedWhenEncodingFails() {
    ByteBuf payload = Unpooled.buffer().writeInt(1);
    assertThatThrownBy(() -> Frames.encode(ALLOC, ApiKind.PRODUCE, false, 7, null, payload))
        .isInstanceOf(NullPointerException.class);
    assertThat(payload.refCnt()).isZero();
  }

  @Test
  void prefixCountsThePayloadThatFollows() {
    ByteBuf prefix = Frames.encodePrefix(ALLOC, ApiKind.FETCH, true, -2, HEADER, 5);
    ByteBuf whole = Unpooled.wrappedBuffer(prefix, Unpooled.copiedBuffer(new byte[5]));
    Frame frame = decode(whole);
    assertThat(frame.kind()).isEqualTo(ApiKind.FETCH);
    assertThat(frame.isResponse()).isTrue();
    assertThat(frame.correlation()).isEqualTo(-2);
    assertThat(frame.payloadBytes()).isEqualTo(5);
    assertThat(frame.header(DeleteTopicRequest.parser())).isEqualTo(HEADER);
    assertThat(frame.release()).isTrue();
    assertThat(prefix.refCnt()).isZero();
  }

  @Test
  void frameOver2GiBIsRefused() {
    assertThatThrownBy(
            () ->
                Frames.encodePrefix(ALLOC, ApiKind.FETCH, true, 1, HEADER, Integer.MAX_VALUE - 8L))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("2147483639 payload bytes does not fit into 2 GiB");
  }

  @ParameterizedTest
  @EnumSource(ApiKind.class)
  void errorResponseIsReadableAsEveryKind(ApiKind kind) throws Exception {
    Frame frame = decode(Frames.errorResponse(ALLOC, kind, 9, ErrorCode.DISK_FULL, "0 bytes free"));
    Message response = frame.header(kind.response());
    var field = response.getDescriptorForType().findFieldByNumber(1);
    assertThat(field.getMessageType()).isEqualTo(ResponseContext.getDescriptor());
    ErrorInfo error = ((ResponseContext) response.getField(field)).getError();
    assertThat(error.getCode()).isEqualTo(28);
    assertThat(error.getText()).isEqualTo("0 bytes free");
    assertThat(response.getUnknownFields().asMap()).isEmpty();
    assertThat(frame.isResponse()).isTrue();
    assertThat(frame.correlation()).isEqualTo(9);
    assertThat(frame.release()).isTrue();
  }

  @Test
  void errorResponseToAnUnknownKindKeepsItsCode() {
    Frame frame = decode(Frames.errorResponse(ALLOC, 4711, 9, ErrorCode.UNKNOWN_API, "kind 4711"));
    assertThat(frame.kindCode()).isEqualTo(4711);
    assertThat(frame.kind()).isNull();
    assertThat(frame.toString()).isEqualTo("kind 4711 response #9 header=17 body=18");
    assertThat(frame.release()).isTrue();
    assertThat(frame.toString()).endsWith("released");
  }

  private static Frame decode(ByteBuf bytes) {
    EmbeddedChannel channel = new EmbeddedChannel(new FrameDecoder(() -> 1 << 20));
    channel.writeInbound(bytes);
    Frame frame = channel.readInbound();
    assertThat(frame).isNotNull();
    assertThat(channel.finish()).isFalse();
    return frame;
  }
}
