package io.millrace.broker.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.api.Handlers;
import io.millrace.broker.raft.transport.NetworkFaults;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.FrameFormat;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.nio.NioIoHandler;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What is no request costs next to no memory, is counted, and closes the connection. */
class GarbageTest {

  private static final long MAX_BYTES = 64 * 1024;

  private final NetworkConfig config = NetworkConfig.defaults(256 << 20);
  private final NetworkCounters counters = new NetworkCounters();
  private final CountingAllocator allocator = new CountingAllocator();
  private final NetworkBudget outBudget = new NetworkBudget("out", config.outBytes());
  private NettyServer server;
  private MultiThreadIoEventLoopGroup peerLoops;

  @BeforeEach
  void start() {
    server = new NettyServer(config, new Handlers(List.of()), counters, "garbage");
    peerLoops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  }

  @AfterEach
  void stop() {
    server.close();
    peerLoops.shutdownGracefully();
  }

  static Stream<Arguments> garbage() {
    byte[] random = new byte[4_000];
    new Random(3).nextBytes(random);
    random[0] = 0;
    return Stream.of(
        Arguments.of("random", random, CloseReason.GARBAGE),
        Arguments.of("TLS", new byte[] {0x16, 3, 1, 2, 0, 1, 0, 1}, CloseReason.GARBAGE),
        Arguments.of("HTTP", "GET / HTTP/1.1\r\n\r\n".getBytes(), CloseReason.GARBAGE),
        Arguments.of("magic only, then wrong", new byte[] {0x4d, 0x53}, CloseReason.GARBAGE),
        Arguments.of("version", prefix(9, 0, 10), CloseReason.UNSUPPORTED_VERSION),
        Arguments.of("flags", prefix(1, 0x80, 10), CloseReason.GARBAGE),
        Arguments.of("largest length", prefix(1, 0, -1), CloseReason.FRAME_TOO_LARGE),
        Arguments.of(
            "a megabyte before the handshake", prefix(1, 0, 1 << 20), CloseReason.FRAME_TOO_LARGE),
        Arguments.of("length 0", prefix(1, 0, 0), CloseReason.MALFORMED_FRAME),
        Arguments.of(
            "header longer than the frame",
            ByteBuffer.allocate(16).put(prefix(1, 0, 2)).put((byte) 99).put((byte) 0).array(),
            CloseReason.MALFORMED_FRAME));
  }

  private static byte[] prefix(int version, int flags, int length) {
    return ByteBuffer.allocate(FrameFormat.PREFIX_BYTES)
        .putShort((short) FrameFormat.MAGIC)
        .put((byte) version)
        .put((byte) flags)
        .putShort((short) ApiKind.HELLO.code())
        .putInt(1)
        .putInt(length)
        .array();
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("garbage")
  void closesCountedAndCheap(String name, byte[] bytes, CloseReason reason) {
    EmbeddedChannel channel = new EmbeddedChannel();
    channel.config().setAllocator(allocator);
    NettyConnection connection =
        new NettyConnection(
            channel, config, counters, outBudget, peerLoops, new NetworkFaults(), false);
    server.addHandlers(channel, connection);
    // In pieces, as a network may bring it.
    for (int i = 0; i < bytes.length && channel.isOpen(); i += 7) {
      channel.writeInbound(Unpooled.copiedBuffer(bytes, i, Math.min(7, bytes.length - i)));
    }
    channel.runPendingTasks();
    assertThat(channel.isOpen()).isFalse();
    assertThat(counters.closedCount(reason)).isEqualTo(1);
    assertThat(allocator.allocated()).isLessThan(MAX_BYTES);
    for (ByteBuf answer = channel.readOutbound(); answer != null; ) {
      answer.release();
      answer = channel.readOutbound();
    }
    channel.finishAndReleaseAll();
    assertThat(allocator.used()).isZero();
    assertThat(outBudget.used()).isZero();
  }
}
