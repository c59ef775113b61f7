package io.millrace.protocol.frame;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.DeleteTopicRequest;
import io.millrace.protocol.message.HelloRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(30)
class FrameDecoderTest {

  private static final int LIMIT = 1 << 20;
  private static final int READ_BYTES = 64 << 10;

  private final EmbeddedChannel channel = new EmbeddedChannel(new FrameDecoder(() -> LIMIT));

  @Test
  void frameArrivesWholeWhereverTheBytesAreCut() {
    byte[] bytes = frameBytes("orders", new byte[] {1, 2, 3});
    for (int cut = 0; cut <= bytes.length; cut++) {
      channel.writeInbound(Unpooled.copiedBuffer(bytes, 0, cut));
      if (cut < bytes.length) {
        assertThat((Object) channel.readInbound()).as("cut at %d", cut).isNull();
      }
      channel.writeInbound(Unpooled.copiedBuffer(bytes, cut, bytes.length - cut));
      assertFrame(channel.readInbound(), "orders", new byte[] {1, 2, 3});
    }
    assertThat(channel.finish()).isFalse();
  }

  @Test
  void framesArriveByteByByte() {
    byte[] bytes = frameBytes("orders", new byte[200]);
    for (int round = 0; round < 3; round++) {
      for (byte b : bytes) {
        assertThat((Object) channel.readInbound()).isNull();
        channel.writeInbound(Unpooled.buffer(1).writeByte(b));
      }
      assertFrame(channel.readInbound(), "orders", new byte[200]);
    }
  }

  @Test
  void manyFramesInOneReadAreAllDelivered() {
    ByteBuf all = Unpooled.buffer();
    for (int i = 0; i < 100; i++) {
      all.writeBytes(frameBytes("t" + i, new byte[i]));
    }
    channel.writeInbound(all);
    for (int i = 0; i < 100; i++) {
      assertFrame(channel.readInbound(), "t" + i, new byte[i]);
    }
    assertThat(all.refCnt()).isZero();
  }

  @Test
  void heldFramesStayIntactWhileMoreArrives() {
    byte[] payload = new byte[5000];
    byte[] bytes = frameBytes("orders", payload);
    ByteBuf stream = Unpooled.buffer();
    int count = 50;
    for (int i = 0; i < count; i++) {
      stream.writeBytes(bytes);
      stream.setByte(stream.writerIndex() - 1, i);
    }
    while (stream.isReadable()) {
      int chunk = Math.min(1777, stream.readableBytes());
      channel.writeInbound(PooledByteBufAllocator.DEFAULT.buffer().writeBytes(stream, chunk));
    }
    List<Frame> frames = new ArrayList<>();
    for (Frame f = channel.readInbound(); f != null; f = channel.readInbound()) {
      frames.add(f);
    }
    assertThat(frames).hasSize(count);
    for (int i = 0; i < count; i++) {
      payload[payload.length - 1] = (byte) i;
      assertFrame(frames.get(i), "orders", payload);
    }
    assertThat(stream.release()).isTrue();
  }

  @Test
  void largeFrameTakesItsBufferOnceAndFreesTheReads() {
    CountingAllocator alloc = new CountingAllocator();
    EmbeddedChannel large = new EmbeddedChannel(new FrameDecoder(() -> 2 << 20));
    large.config().setAllocator(alloc);
    byte[] payload = new byte[1 << 20];
    payload[0] = 1;
    payload[payload.length - 1] = 2;
    byte[] bytes = frameBytes("orders", payload);
    int reads = 0;
    for (int at = 0; at < bytes.length; at += READ_BYTES, reads++) {
      int length = Math.min(READ_BYTES, bytes.length - at);
      large.writeInbound(alloc.heapBuffer(READ_BYTES).writeBytes(bytes, at, length));
    }
    assertThat(alloc.buffers()).hasSize(reads + 1);
    assertThat(alloc.largestRequest()).isEqualTo(bytes.length + READ_BYTES);
    assertFrame(large.readInbound(), "orders", payload);
    assertThat(large.finish()).isFalse();
    assertThat(alloc.buffers()).allSatisfy(buffer -> assertThat(buffer.refCnt()).isZero());
  }

  @Test
  void claimedLengthOfAHugeFrameTakesNoMemoryBeforeTheBytesAreThere() {
    CountingAllocator alloc = new CountingAllocator();
    EmbeddedChannel large = new EmbeddedChannel(new FrameDecoder(() -> 64 << 20));
    large.config().setAllocator(alloc);
    byte[] start = ByteBufUtil.decodeHexDump("4D52010000030000002A04000000");
    large.writeInbound(alloc.heapBuffer(READ_BYTES).writeBytes(start));
    for (int i = 0; i < 4; i++) {
      large.writeInbound(alloc.heapBuffer(READ_BYTES).writeZero(READ_BYTES));
    }
    assertThat(alloc.largestRequest()).isLessThanOrEqualTo(8 * READ_BYTES);
    assertThat(large.finish()).isFalse();
    assertThat(alloc.buffers()).allSatisfy(buffer -> assertThat(buffer.refCnt()).isZero());
  }

  @Test
  void pendingFrameIsStatedFromItsPrefixToItsEnd() {
    FrameDecoder decoder = new FrameDecoder(() -> LIMIT);
    EmbeddedChannel pending = new EmbeddedChannel(decoder);
    byte[] bytes = frameBytes("orders", new byte[100]);
    pending.writeInbound(Unpooled.copiedBuffer(bytes, 0, 13));
    assertThat(decoder.pendingFrameBytes()).isZero();
    pending.writeInbound(Unpooled.copiedBuffer(bytes, 13, 1));
    assertThat(decoder.pendingFrameBytes()).isEqualTo(bytes.length);
    pending.writeInbound(Unpooled.copiedBuffer(bytes, 14, bytes.length - 14));
    assertThat(decoder.pendingFrameBytes()).isZero();
    assertFrame(pending.readInbound(), "orders", new byte[100]);
  }

  @Test
  void kindThatIsNotKnownIsAFrameLikeAnyOther() {
    byte[] bytes = frameBytes("orders", new byte[0]);
    bytes[4] = (byte) 0xFF;
    bytes[5] = 0x7F;
    channel.writeInbound(Unpooled.wrappedBuffer(bytes));
    Frame frame = channel.readInbound();
    assertThat(frame.kindCode()).isEqualTo(0xFF7F);
    assertThat(frame.kind()).isNull();
    assertThat(frame.release()).isTrue();
  }

  @ParameterizedTest
  @CsvSource({
    "00, MALFORMED_REQUEST, magic",
    "4D53, MALFORMED_REQUEST, magic",
    "474554202F20485454502F312E310D0A, MALFORMED_REQUEST, magic",
    "1603010200, MALFORMED_REQUEST, magic",
    "4D5200, UNSUPPORTED_VERSION, version 0 is not supported; supported: 1",
    "4D5202, UNSUPPORTED_VERSION, version 2 is not supported",
    "4D520102, MALFORMED_REQUEST, flags 0x2",
    "4D520181, MALFORMED_REQUEST, flags 0x81",
  })
  void garbageIsRefusedAtItsFirstWrongByte(String hex, ErrorCode code, String text) {
    MalformedFrameException e = refused(ByteBufUtil.decodeHexDump(hex));
    assertThat(e.code()).isEqualTo(code);
    assertThat(e).hasMessageContaining(text);
    assertThat(e.boundaryLost()).isTrue();
    assertThat(e.requestKnown()).isFalse();
  }

  @ParameterizedTest
  @CsvSource({
    "00100001, FRAME_TOO_LARGE, frame of 1048577 bytes is over the limit of 1048576",
    "7FFFFFFF, FRAME_TOO_LARGE, frame of 2147483647 bytes",
    "80000000, FRAME_TOO_LARGE, frame of 2147483648 bytes",
    "FFFFFFFF, FRAME_TOO_LARGE, frame of 4294967295 bytes",
    "00000000, MALFORMED_REQUEST, frame length 0",
    "0000000105, MALFORMED_REQUEST, header length 5 is over the 0 bytes left",
    "0000000180, MALFORMED_REQUEST, no varint",
    "00000006808080808001, MALFORMED_REQUEST, no varint",
    "00000006FFFFFFFF7F00, MALFORMED_REQUEST, header length 34359738367 is over",
  })
  void wrongLengthIsRefusedNamingTheRequest(String hex, ErrorCode code, String text) {
    MalformedFrameException e = refused(ByteBufUtil.decodeHexDump("4D52010000030000002A" + hex));
    assertThat(e.code()).isEqualTo(code);
    assertThat(e).hasMessageContaining(text);
    assertThat(e.boundaryLost()).isTrue();
    assertThat(e.requestKnown()).isTrue();
    assertThat(e.kindCode()).isEqualTo(ApiKind.PRODUCE.code());
    assertThat(e.correlation()).isEqualTo(42);
  }

  @Test
  void framesBeforeGarbageAreDeliveredAndBytesBehindItDropped() {
    ByteBuf in = Unpooled.buffer();
    in.writeBytes(frameBytes("first", new byte[0]));
    in.writeBytes(new byte[] {'G', 'E', 'T'});
    in.writeBytes(frameBytes("second", new byte[0]));
    MalformedFrameException e =
        catchThrowableOfType(MalformedFrameException.class, () -> channel.writeInbound(in));
    assertThat(e.code()).isEqualTo(ErrorCode.MALFORMED_REQUEST);
    assertFrame(channel.readInbound(), "first", new byte[0]);
    ByteBuf late = Unpooled.wrappedBuffer(frameBytes("third", new byte[0]));
    channel.writeInbound(late);
    assertThat((Object) channel.readInbound()).isNull();
    assertThat(channel.finish()).isFalse();
    assertThat(List.of(in.refCnt(), late.refCnt())).containsOnly(0);
  }

  @Test
  void limitIsAskedForEveryFrame() {
    AtomicInteger limit = new AtomicInteger(40);
    EmbeddedChannel limited = new EmbeddedChannel(new FrameDecoder(limit::get));
    limited.writeInbound(Unpooled.wrappedBuffer(frameBytes("first", new byte[10])));
    assertFrame(limited.readInbound(), "first", new byte[10]);
    limit.set(2000);
    limited.writeInbound(Unpooled.wrappedBuffer(frameBytes("second", new byte[1000])));
    assertFrame(limited.readInbound(), "second", new byte[1000]);
    limit.set(40);
    MalformedFrameException e =
        catchThrowableOfType(
            MalformedFrameException.class,
            () ->
                limited.writeInbound(Unpooled.wrappedBuffer(frameBytes("third", new byte[1000]))));
    assertThat(e.code()).isEqualTo(ErrorCode.FRAME_TOO_LARGE);
    assertThat(e).hasMessageContaining("limit of 40");
  }

  @Test
  void headerThatIsNoMessageLeavesTheConnectionUsable() {
    byte[] bytes = frameBytes("orders", new byte[0]);
    bytes[15] = (byte) 0xFF;
    channel.writeInbound(Unpooled.wrappedBuffer(bytes));
    Frame frame = channel.readInbound();
    MalformedFrameException e =
        catchThrowableOfType(
            MalformedFrameException.class, () -> frame.header(DeleteTopicRequest.parser()));
    assertThat(e.code()).isEqualTo(ErrorCode.MALFORMED_REQUEST);
    assertThat(e.boundaryLost()).isFalse();
    assertThat(e.requestKnown()).isTrue();
    assertThat(e.kindCode()).isEqualTo(ApiKind.DELETE_TOPIC.code());
    assertThat(e.correlation()).isEqualTo(42);
    assertThat(frame.release()).isTrue();
    channel.writeInbound(Unpooled.wrappedBuffer(frameBytes("next", new byte[0])));
    assertFrame(channel.readInbound(), "next", new byte[0]);
  }

  @Test
  void headerThatEndsWithAnEndGroupTagIsRefused() {
    byte[] bytes =
        ByteBufUtil.decodeHexDump("4D52" + "0100" + "0008" + "0000002A" + "00000002" + "01" + "0C");
    channel.writeInbound(Unpooled.wrappedBuffer(bytes));
    Frame frame = channel.readInbound();
    assertThat(
            catchThrowableOfType(
                MalformedFrameException.class, () -> frame.header(DeleteTopicRequest.parser())))
        .isNotNull();
    assertThat(frame.release()).isTrue();
  }

  @Test
  void closedConnectionReleasesTheIncompleteFrame() {
    ByteBuf half = Unpooled.copiedBuffer(frameBytes("orders", new byte[100]), 0, 50);
    channel.writeInbound(half);
    assertThat(half.refCnt()).isEqualTo(1);
    assertThat(channel.finish()).isFalse();
    assertThat(half.refCnt()).isZero();
  }

  @Test
  void frameIsReleasedLikeAnyMessage() {
    channel.writeInbound(Unpooled.wrappedBuffer(frameBytes("orders", new byte[3])));
    Frame frame = channel.readInbound();
    assertThat(frame.refCnt()).isEqualTo(1);
    assertThat(frame.retain().refCnt()).isEqualTo(2);
    assertThat(frame.touch("here")).isSameAs(frame);
    assertThat(frame.release()).isFalse();
    ByteBuf payload = frame.payload();
    assertThat(ReferenceCountUtil.release(frame)).isTrue();
    assertThat(payload.refCnt()).isZero();
  }

  @Test
  void frameWithEmptyHeaderAndPayload() {
    ByteBuf bytes =
        Frames.encode(
            UnpooledByteBufAllocator.DEFAULT,
            ApiKind.HELLO,
            false,
            0,
            HelloRequest.getDefaultInstance(),
            null);
    assertThat(bytes.readableBytes()).isEqualTo(15);
    channel.writeInbound(bytes);
    Frame frame = channel.readInbound();
    assertThat(frame.header(HelloRequest.parser())).isEqualTo(HelloRequest.getDefaultInstance());
    assertThat(frame.payloadBytes()).isZero();
    assertThat(frame.release()).isTrue();
  }

  private MalformedFrameException refused(byte[] bytes) {
    ByteBuf in = Unpooled.wrappedBuffer(bytes);
    MalformedFrameException e =
        catchThrowableOfType(MalformedFrameException.class, () -> channel.writeInbound(in));
    assertThat(e).isNotNull();
    assertThat(channel.finish()).isFalse();
    assertThat(in.refCnt()).isZero();
    return e;
  }

  private static void assertFrame(Frame frame, String name, byte[] payload) {
    assertThat(frame).isNotNull();
    assertThat(frame.kind()).isEqualTo(ApiKind.DELETE_TOPIC);
    assertThat(frame.correlation()).isEqualTo(42);
    assertThat(frame.isResponse()).isFalse();
    assertThat(frame.header(DeleteTopicRequest.parser()).getName()).isEqualTo(name);
    assertThat(ByteBufUtil.getBytes(frame.payload())).isEqualTo(payload);
    frame.release();
  }

  private static byte[] frameBytes(String name, byte[] payload) {
    ByteBuf frame =
        Frames.encode(
            UnpooledByteBufAllocator.DEFAULT,
            ApiKind.DELETE_TOPIC,
            false,
            42,
            DeleteTopicRequest.newBuilder().setName(name).build(),
            Unpooled.wrappedBuffer(payload));
    byte[] bytes = ByteBufUtil.getBytes(frame);
    frame.release();
    return bytes;
  }
}
