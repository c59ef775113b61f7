package io.millrace.protocol.frame;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.message.RaftHeader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

class FrameDecoderProperties {

  private static final int LIMIT = 2000;
  private static final int READ_BYTES = 512;

  /** Frames of any sizes, cut anywhere, come out as they went in. */
  @Property(tries = 300)
  void anyFramesInAnyPieces(
      @ForAll @Size(max = 20) List<@IntRange(max = 1500) Integer> payloadBytes,
      @ForAll @IntRange(min = 1, max = 4000) int maxPiece,
      @ForAll long seed) {
    Random random = new Random(seed);
    ByteBuf stream = Unpooled.buffer();
    List<byte[]> payloads = new ArrayList<>();
    for (int i = 0; i < payloadBytes.size(); i++) {
      byte[] payload = new byte[payloadBytes.get(i)];
      random.nextBytes(payload);
      payloads.add(payload);
      ByteBuf frame =
          Frames.encode(
              UnpooledByteBufAllocator.DEFAULT,
              ApiKind.RAFT,
              random.nextBoolean(),
              i,
              RaftHeader.newBuilder().setType(i).setGroup("g".repeat(random.nextInt(300))).build(),
              Unpooled.wrappedBuffer(payload));
      stream.writeBytes(frame);
      frame.release();
    }
    EmbeddedChannel channel = new EmbeddedChannel(new FrameDecoder(() -> LIMIT));
    List<ByteBuf> pieces = new ArrayList<>();
    while (stream.isReadable()) {
      int bytes = Math.min(stream.readableBytes(), 1 + random.nextInt(maxPiece));
      ByteBuf piece = Unpooled.buffer(bytes).writeBytes(stream, bytes);
      pieces.add(piece);
      channel.writeInbound(piece);
    }
    for (int i = 0; i < payloads.size(); i++) {
      Frame frame = channel.readInbound();
      assertThat(frame.correlation()).isEqualTo(i);
      assertThat(frame.header(RaftHeader.parser()).getType()).isEqualTo(i);
      assertThat(ByteBufUtil.getBytes(frame.payload())).isEqualTo(payloads.get(i));
      frame.release();
    }
    assertThat(channel.finish()).isFalse();
    assertThat(pieces).allSatisfy(piece -> assertThat(piece.refCnt()).isZero());
  }

  /** Random bytes, alone and behind a believable start: a typed error or frames, bounded memory. */
  @Property(tries = 2000)
  void garbageNeverTakesMoreThanTheLimit(
      @ForAll @IntRange(max = 14) int validPrefix,
      @ForAll @IntRange(max = 3000) int randomBytes,
      @ForAll long seed) {
    Random random = new Random(seed);
    byte[] bytes = new byte[validPrefix + randomBytes];
    random.nextBytes(bytes);
    byte[] start = ByteBufUtil.decodeHexDump("4d5201000003000000010000" + "03e8");
    System.arraycopy(start, 0, bytes, 0, validPrefix);
    Decoded result = feed(bytes);
    assertThat(result.frames + result.errors).isLessThanOrEqualTo(1 + bytes.length / 15);
    assertThat(result.errors).isLessThanOrEqualTo(1);
  }

  /** A valid stream with a few changed bytes. */
  @Property(tries = 2000)
  void damagedFramesAreFramesOrATypedError(
      @ForAll @IntRange(min = 1, max = 4) int changes, @ForAll long seed) {
    Random random = new Random(seed);
    ByteBuf stream = Unpooled.buffer();
    for (int i = 0; i < 3; i++) {
      ByteBuf frame =
          Frames.encode(
              UnpooledByteBufAllocator.DEFAULT,
              ApiKind.RAFT,
              false,
              i,
              RaftHeader.newBuilder().setType(i).setGroup("meta").build(),
              Unpooled.wrappedBuffer(new byte[random.nextInt(50)]));
      stream.writeBytes(frame);
      frame.release();
    }
    byte[] bytes = ByteBufUtil.getBytes(stream);
    for (int i = 0; i < changes; i++) {
      bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
    }
    Decoded result = feed(bytes);
    assertThat(result.frames).isLessThanOrEqualTo(bytes.length / 15);
    assertThat(result.errors).isLessThanOrEqualTo(1);
  }

  private record Decoded(int frames, int errors) {}

  private static Decoded feed(byte[] bytes) {
    CountingAllocator alloc = new CountingAllocator();
    EmbeddedChannel channel = new EmbeddedChannel(new FrameDecoder(() -> LIMIT));
    channel.config().setAllocator(alloc);
    int errors = 0;
    int frames = 0;
    for (int at = 0; at < bytes.length; at += READ_BYTES) {
      int length = Math.min(READ_BYTES, bytes.length - at);
      try {
        channel.writeInbound(alloc.heapBuffer(READ_BYTES).writeBytes(bytes, at, length));
      } catch (MalformedFrameException e) {
        assertThat(e.code()).isNotNull();
        assertThat(e.boundaryLost()).isTrue();
        errors++;
      }
      for (Frame f = channel.readInbound(); f != null; f = channel.readInbound()) {
        assertThat(f.bodyBytes()).isLessThanOrEqualTo(LIMIT);
        try {
          f.header(RaftHeader.parser());
        } catch (MalformedFrameException e) {
          assertThat(e.boundaryLost()).isFalse();
        }
        f.release();
        frames++;
      }
    }
    channel.finishAndReleaseAll();
    assertThat(alloc.largestRequest())
        .isLessThanOrEqualTo(LIMIT + FrameFormat.PREFIX_BYTES + (64 << 10));
    assertThat(alloc.buffers()).allSatisfy(buffer -> assertThat(buffer.refCnt()).isZero());
    return new Decoded(frames, errors);
  }
}
