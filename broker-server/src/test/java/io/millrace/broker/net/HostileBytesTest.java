package io.millrace.broker.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import io.millrace.broker.api.DistinctErrors;
import io.millrace.broker.api.Handlers;
import io.millrace.broker.api.HelloHandler;
import io.millrace.broker.api.PeerHelloHandler;
import io.millrace.broker.api.PeerProofHandler;
import io.millrace.broker.api.RaftHandler;
import io.millrace.broker.api.RequestHandler;
import io.millrace.broker.cluster.LocalBroker;
import io.millrace.broker.raft.transport.ClusterSecret;
import io.millrace.broker.raft.transport.NetworkFaults;
import io.millrace.broker.raft.transport.PeerCredentials;
import io.millrace.broker.raft.transport.PeerRequests;
import io.millrace.broker.raft.transport.PeerTranscript;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.FrameFormat;
import io.millrace.protocol.message.PeerHelloRequest;
import io.millrace.protocol.message.PeerHelloResponse;
import io.millrace.protocol.message.PeerProofRequest;
import io.millrace.protocol.message.RaftHeader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

/**
 * Strangers at the broker's port, over real sockets: each is closed at once, costs less than 64 KiB
 * in all, is counted, and has no Raft message parsed.
 */
@Timeout(60)
class HostileBytesTest {

  private static final long MAX_BYTES = 64 * 1024;
  private static final LocalBroker SELF = new LocalBroker("shop", 1, new UUID(1, 2));
  private static final ClusterSecret SECRET = ClusterSecret.random();
  private static final String GROUP = "group";

  /** Well formed for the parser, had it been asked: RequestVote with the highest term. */
  private static final RaftHeader VOTE = RaftHeader.newBuilder().setType(1).setGroup(GROUP).build();

  private final NetworkCounters counters = new NetworkCounters();
  private final CountingAllocator allocator = new CountingAllocator();
  private final PeerRequests raft = new PeerRequests(1, broker -> {}, null, null);
  private final AtomicInteger raftMessages = new AtomicInteger();
  private final AtomicInteger peerCalls = new AtomicInteger();
  private final AtomicInteger authenticated = new AtomicInteger();
  private NettyServer server;
  private InetSocketAddress address;

  @BeforeEach
  void start() throws IOException {
    NetworkConfig defaults = NetworkConfig.defaults(256 << 20);
    // So long that no timeout can be what closes a connection.
    NetworkConfig config =
        new NetworkConfig(
            1,
            1,
            defaults.maxFrameBytes(),
            100,
            defaults.inBytes(),
            defaults.outBytes(),
            defaults.outBytesPerConnection(),
            100,
            600_000,
            600_000);
    PeerCredentials credentials = new PeerCredentials(SECRET, null);
    DistinctErrors errors = new DistinctErrors(LoggerFactory.getLogger(HostileBytesTest.class));
    List<RequestHandler> handlers = new ArrayList<>();
    handlers.add(new HelloHandler(SELF, config.maxFrameBytes(), 1, "test"));
    handlers.add(new PeerHelloHandler(SELF, credentials));
    handlers.add(
        new PeerProofHandler(
            credentials, (hello, remote) -> authenticated.incrementAndGet(), errors));
    handlers.add(new RaftHandler(raft));
    for (ApiKind kind :
        List.of(ApiKind.METADATA_COMMAND, ApiKind.LEADER_ANNOUNCEMENT, ApiKind.TRANSFER_LEADER)) {
      handlers.add(new TestHandler(kind, (request, responder) -> peerCalls.incrementAndGet()));
    }
    raft.add(GROUP, (sender, message, responder) -> raftMessages.incrementAndGet());
    server =
        new NettyServer(
            config,
            new Handlers(handlers),
            counters,
            "hostile",
            new NetworkFaults(),
            null,
            allocator);
    address = server.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  @AfterEach
  void stop() throws InterruptedException {
    server.close();
    raft.close();
    await().untilAsserted(() -> assertThat(allocator.used()).isZero());
  }

  /** What a stranger does after it has connected. */
  private interface Attack {
    void run(RawClient client) throws IOException;
  }

  private static Arguments attack(String name, CloseReason counted, Attack attack) {
    return Arguments.of(name, counted, attack);
  }

  private static Attack bytes(byte[] bytes) {
    return client -> client.write(bytes);
  }

  static Stream<Arguments> attacks() {
    byte[] random = new byte[1_500];
    new Random(11).nextBytes(random);
    random[0] = 1;
    byte[] tls = new byte[517];
    new Random(12).nextBytes(tls);
    System.arraycopy(new byte[] {22, 3, 1, 2, 0, 1, 0, 1, -4, 3, 3}, 0, tls, 0, 11);
    return Stream.of(
        attack("random bytes", CloseReason.GARBAGE, bytes(random)),
        attack("TLS hello", CloseReason.GARBAGE, bytes(tls)),
        attack(
            "oversized length", CloseReason.FRAME_TOO_LARGE, bytes(prefix(ApiKind.RAFT, 1 << 30))),
        attack(
            "length over that of the handshake",
            CloseReason.FRAME_TOO_LARGE,
            bytes(prefix(ApiKind.RAFT, NetworkConfig.HANDSHAKE_FRAME_BYTES + 1))),
        attack(
            "RAFT without authentication",
            CloseReason.UNAUTHENTICATED,
            client -> client.send(ApiKind.RAFT, 1, VOTE, new byte[100])),
        attack(
            "RAFT from a client",
            CloseReason.UNAUTHENTICATED,
            client -> {
              client.hello();
              client.send(ApiKind.RAFT, 1, VOTE, new byte[100]);
            }),
        attack(
            "METADATA_COMMAND without authentication",
            CloseReason.UNAUTHENTICATED,
            client -> client.send(ApiKind.METADATA_COMMAND, 1, VOTE)),
        attack(
            "LEADER_ANNOUNCEMENT without authentication",
            CloseReason.UNAUTHENTICATED,
            client -> client.send(ApiKind.LEADER_ANNOUNCEMENT, 1, VOTE)),
        attack(
            "TRANSFER_LEADER without authentication",
            CloseReason.UNAUTHENTICATED,
            client -> client.send(ApiKind.TRANSFER_LEADER, 1, VOTE)),
        attack(
            "RAFT behind PEER_HELLO, without proof",
            CloseReason.UNAUTHENTICATED,
            client -> {
              hello(client);
              client.send(ApiKind.RAFT, 2, VOTE, new byte[100]);
            }),
        attack(
            "RAFT in one write with PEER_HELLO and a wrong proof",
            CloseReason.UNAUTHENTICATED,
            HostileBytesTest::everythingAtOnce),
        attack(
            "HELLO behind PEER_HELLO",
            CloseReason.UNAUTHENTICATED,
            client -> {
              hello(client);
              client.hello();
            }),
        attack(
            "a second PEER_HELLO",
            CloseReason.UNAUTHENTICATED,
            client -> {
              hello(client);
              hello(client);
            }),
        attack(
            "PEER_PROOF without PEER_HELLO",
            CloseReason.UNAUTHENTICATED,
            client -> client.send(ApiKind.PEER_PROOF, 1, PeerProofRequest.getDefaultInstance())),
        attack("no proof", CloseReason.UNAUTHENTICATED, client -> prove(client, new byte[0])),
        attack(
            "a proof of zeros",
            CloseReason.UNAUTHENTICATED,
            client -> prove(client, new byte[ClusterSecret.BYTES])),
        attack(
            "the proof of another secret",
            CloseReason.UNAUTHENTICATED,
            client -> client.peerHello("shop", 2, ClusterSecret.random())),
        attack(
            "the proof of the other direction",
            CloseReason.UNAUTHENTICATED,
            HostileBytesTest::otherDirection),
        attack(
            "a proof that is no message",
            CloseReason.MALFORMED_FRAME,
            client -> {
              hello(client);
              client.write(
                  ByteBuffer.allocate(FrameFormat.PREFIX_BYTES + 4)
                      .put(prefix(ApiKind.PEER_PROOF, 4))
                      .put(new byte[] {3, -1, -1, -1})
                      .array());
            }),
        attack(
            "a nonce of the wrong size",
            CloseReason.REFUSED,
            client ->
                client.send(
                    ApiKind.PEER_HELLO,
                    1,
                    RawClient.peerHelloOf("shop", 2).toBuilder()
                        .setNonce(ByteString.copyFromUtf8("0"))
                        .build())),
        attack(
            "another cluster", CloseReason.REFUSED, client -> client.peerHello("bank", 2, SECRET)));
  }

  private static byte[] prefix(ApiKind kind, int length) {
    return ByteBuffer.allocate(FrameFormat.PREFIX_BYTES)
        .putShort((short) FrameFormat.MAGIC)
        .put((byte) 1)
        .put((byte) 0)
        .putShort((short) kind.code())
        .putInt(1)
        .putInt(length)
        .array();
  }

  private static PeerTranscript hello(RawClient client) throws IOException {
    PeerHelloRequest hello = RawClient.peerHelloOf("shop", 2);
    client.send(ApiKind.PEER_HELLO, 1, hello);
    RawClient.Answer answer = client.read();
    return new PeerTranscript(hello, 1, answer.header(PeerHelloResponse.parser()));
  }

  private static void prove(RawClient client, byte[] proof) throws IOException {
    hello(client);
    client.send(
        ApiKind.PEER_PROOF,
        2,
        PeerProofRequest.newBuilder().setProof(ByteString.copyFrom(proof)).build());
  }

  private static void otherDirection(RawClient client) throws IOException {
    byte[] proof = hello(client).acceptorProof(SECRET);
    client.send(
        ApiKind.PEER_PROOF,
        2,
        PeerProofRequest.newBuilder().setProof(ByteString.copyFrom(proof)).build());
  }

  private static void everythingAtOnce(RawClient client) throws IOException {
    byte[] hello =
        RawClient.frame(ApiKind.PEER_HELLO, 1, RawClient.peerHelloOf("shop", 2), new byte[0]);
    byte[] proof =
        RawClient.frame(
            ApiKind.PEER_PROOF,
            2,
            PeerProofRequest.newBuilder().setProof(ByteString.copyFrom(new byte[32])).build(),
            new byte[0]);
    byte[] vote = RawClient.frame(ApiKind.RAFT, 3, VOTE, new byte[100]);
    client.write(
        ByteBuffer.allocate(hello.length + proof.length + vote.length)
            .put(hello)
            .put(proof)
            .put(vote)
            .array());
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("attacks")
  void isClosedCountedAndCheap(String name, CloseReason counted, Attack attack) throws IOException {
    long begun = System.nanoTime();
    try (RawClient client = new RawClient(address)) {
      attack.run(client);
      readToTheEnd(client);
    }
    assertThat(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun)).isLessThan(5);
    await().until(() -> server.connectionCount() == 0);
    for (CloseReason reason : CloseReason.values()) {
      assertThat(counters.closedCount(reason))
          .as("%s", reason)
          .isEqualTo(reason == counted ? 1 : 0);
    }
    assertThat(allocator.allocated()).isLessThan(MAX_BYTES);
    assertThat(raft.parsedCount()).isZero();
    assertThat(raftMessages).hasValue(0);
    assertThat(peerCalls).hasValue(0);
    assertThat(authenticated).hasValue(0);
  }

  /** Every read takes a buffer and gives it back, so the most at a time counts here. */
  @Test
  void aLargeFrameInPiecesHoldsLittleAtATime() throws IOException {
    byte[] frame =
        RawClient.frame(ApiKind.RAFT, 1, VOTE, new byte[NetworkConfig.HANDSHAKE_FRAME_BYTES - 100]);
    assertThat(frame.length).isGreaterThan(NetworkConfig.HANDSHAKE_FRAME_BYTES - 100);
    try (RawClient client = new RawClient(address)) {
      for (int i = 0; i < frame.length; i += i < 50 ? 1 : 700) {
        int end = Math.min(frame.length, i < 50 ? i + 1 : i + 700);
        client.write(Arrays.copyOfRange(frame, i, end));
      }
      assertThat(client.read().error().getCode()).isEqualTo(ErrorCode.UNAUTHENTICATED.number());
      assertThat(client.isClosed()).isTrue();
    }
    assertThat(allocator.peak()).isLessThan(MAX_BYTES);
    assertThat(counters.closedCount(CloseReason.UNAUTHENTICATED)).isEqualTo(1);
    assertThat(raft.parsedCount()).isZero();
  }

  /** Answers, if there are any, and then the end; a connection that stays open is a timeout. */
  private static void readToTheEnd(RawClient client) throws IOException {
    while (!client.isClosed()) {
      // A byte of an answer.
    }
  }

  @Test
  void aProofIsGoodOnItsOwnConnectionOnly() throws IOException {
    PeerHelloRequest hello = RawClient.peerHelloOf("shop", 2);
    PeerProofRequest proof;
    try (RawClient broker = new RawClient(address)) {
      broker.send(ApiKind.PEER_HELLO, 1, hello);
      PeerHelloResponse answer = broker.read().header(PeerHelloResponse.parser());
      proof = RawClient.proofOf(hello, answer, SECRET);
      broker.send(ApiKind.PEER_PROOF, 2, proof);
      assertThat(broker.read().error().getCode()).isZero();
    }
    assertThat(authenticated).hasValue(1);
    try (RawClient replay = new RawClient(address)) {
      replay.send(ApiKind.PEER_HELLO, 1, hello);
      replay.read();
      replay.send(ApiKind.PEER_PROOF, 2, proof);
      RawClient.Answer answer = replay.read();
      assertThat(answer.error().getCode()).isEqualTo(ErrorCode.UNAUTHENTICATED.number());
      assertThat(answer.error().getText())
          .isEqualTo(
              "who came as broker 2 does not know the secret of this cluster; give all brokers the"
                  + " same cluster.secret.file");
      assertThat(replay.isClosed()).isTrue();
    }
    assertThat(authenticated).hasValue(1);
    assertThat(counters.closedCount(CloseReason.UNAUTHENTICATED)).isEqualTo(1);
    assertThat(raft.parsedCount()).isZero();
  }

  /** The other tests would also pass if nothing were ever parsed. */
  @Test
  void theRightProofOpensTheWayToRaft() throws IOException {
    try (RawClient broker = new RawClient(address)) {
      broker.peerHello("shop", 2, SECRET);
      broker.send(ApiKind.RAFT, 3, VOTE, (byte) 10, (byte) 0);
      await().until(() -> raft.parsedCount() == 1);
    }
    assertThat(authenticated).hasValue(1);
  }
}
