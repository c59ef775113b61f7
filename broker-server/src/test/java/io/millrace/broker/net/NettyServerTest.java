package io.millrace.broker.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.millrace.broker.api.DistinctErrors;
import io.millrace.broker.api.Handlers;
import io.millrace.broker.api.HelloHandler;
import io.millrace.broker.api.PeerHelloHandler;
import io.millrace.broker.api.PeerProofHandler;
import io.millrace.broker.api.RequestContext;
import io.millrace.broker.api.RequestHandler;
import io.millrace.broker.api.RequestRefusedException;
import io.millrace.broker.api.Responder;
import io.millrace.broker.cluster.LocalBroker;
import io.millrace.broker.log.DirectDisk;
import io.millrace.broker.log.FetchSlice;
import io.millrace.broker.log.TestSlices;
import io.millrace.broker.raft.transport.ClusterSecret;
import io.millrace.broker.raft.transport.NetworkFaults;
import io.millrace.broker.raft.transport.NetworkFaults.Flow;
import io.millrace.broker.raft.transport.PeerCredentials;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.FrameFormat;
import io.millrace.protocol.message.BrokerStatusRequest;
import io.millrace.protocol.message.FetchRequest;
import io.millrace.protocol.message.FetchResponse;
import io.millrace.protocol.message.Gauge;
import io.millrace.protocol.message.HelloRequest;
import io.millrace.protocol.message.HelloResponse;
import io.millrace.protocol.message.ListOffsetsRequest;
import io.millrace.protocol.message.ListOffsetsResponse;
import io.millrace.protocol.message.MetadataRequest;
import io.millrace.protocol.message.MetadataResponse;
import io.millrace.protocol.message.PeerHelloRequest;
import io.millrace.protocol.message.PeerHelloResponse;
import io.millrace.protocol.message.ProduceRequest;
import io.millrace.protocol.message.ProduceResponse;
import io.millrace.protocol.message.RaftHeader;
import io.millrace.protocol.message.RaftResponseHeader;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

@Timeout(60)
class NettyServerTest {

  private static final InetSocketAddress ANY_PORT =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  private static final LocalBroker IDENTITY = new LocalBroker("shop", 1, new UUID(1, 2));
  private static final int FRAME_BYTES = 4 << 20;
  private static final ClusterSecret SECRET = ClusterSecret.random();

  private final Map<ApiKind, RequestHandler> handlers = new EnumMap<>(ApiKind.class);
  private final NetworkCounters counters = new NetworkCounters();
  private final PeerCredentials credentials = new PeerCredentials(SECRET, null);
  private final NetworkFaults faults = new NetworkFaults();
  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true, false);
  private NettyServer server;
  private InetSocketAddress address;

  @TempDir Path dir;

  @AfterEach
  void stop() {
    if (server != null) {
      server.close();
      // Every buffer has one owner, and each of them gave it back.
      await()
          .untilAsserted(
              () -> {
                assertThat(allocator.metric().usedDirectMemory()).isZero();
                assertThat(allocator.metric().usedHeapMemory()).isZero();
              });
    }
  }

  private static NetworkConfig config(
      int maxConnections, long inBytes, long outBytes, int outPerConnection, int requests) {
    return new NetworkConfig(
        2,
        2,
        FRAME_BYTES,
        maxConnections,
        inBytes,
        outBytes,
        outPerConnection,
        requests,
        5_000,
        5_000);
  }

  private static NetworkConfig config() {
    return config(100, 64 << 20, 64 << 20, 4 << 20, 256);
  }

  private void handle(ApiKind kind, BiConsumer<RequestContext, Responder> action) {
    handlers.put(kind, new TestHandler(kind, action));
  }

  private void start(NetworkConfig config) throws IOException {
    handlers.put(ApiKind.HELLO, new HelloHandler(IDENTITY, config.maxFrameBytes(), 1, "test"));
    handlers.put(ApiKind.PEER_HELLO, new PeerHelloHandler(IDENTITY, credentials));
    handlers.put(
        ApiKind.PEER_PROOF,
        new PeerProofHandler(
            credentials,
            (hello, remote) -> {
              if (hello.getBrokerId() == 9) {
                throw new RequestRefusedException(
                    ErrorCode.INCARNATION_MISMATCH, "broker 9 has another incarnation");
              }
            },
            new DistinctErrors(LoggerFactory.getLogger(NettyServerTest.class))));
    server =
        new NettyServer(
            config, new Handlers(handlers.values()), counters, "test", faults, null, allocator);
    address = server.start(ANY_PORT);
  }

  private RawClient connect() throws IOException {
    RawClient client = new RawClient(address);
    client.hello();
    return client;
  }

  private static void answerEmpty(RequestContext request, Responder responder) {
    responder.respond(MetadataResponse.getDefaultInstance());
  }

  private static void respondWith(Responder responder, FetchSlice... slices) {
    responder.respond(
        FetchResponse.getDefaultInstance(),
        List.of(slices),
        () -> List.of(slices).forEach(FetchSlice::release));
  }

  private long gauge(String name) {
    return server.gauges().stream()
        .filter(gauge -> gauge.getName().equals(name))
        .mapToLong(Gauge::getUsed)
        .findFirst()
        .orElseThrow();
  }

  // ------------------------------------------------------------------------------------ handshake

  @Test
  void helloTellsWhoAnswers() throws IOException {
    start(config());
    try (RawClient client = new RawClient(address)) {
      HelloResponse hello = client.hello().header(HelloResponse.parser());
      assertThat(hello.getClusterId()).isEqualTo("shop");
      assertThat(hello.getBrokerId()).isEqualTo(1);
      assertThat(hello.getMinVersion()).isEqualTo(1);
      assertThat(hello.getMaxVersion()).isEqualTo(1);
      assertThat(hello.getMaxFrameBytes()).isEqualTo(FRAME_BYTES);
      assertThat(hello.getBrokerVersion()).isEqualTo("test");
      assertThat(hello.getContext().hasError()).isFalse();
    }
  }

  @Test
  void helloRefusesAnotherVersionAndLetsTheClientTryAgain() throws IOException {
    start(config());
    try (RawClient client = new RawClient(address)) {
      client.send(
          ApiKind.HELLO, 7, HelloRequest.newBuilder().setMinVersion(2).setMaxVersion(3).build());
      RawClient.Answer answer = client.read();
      assertThat(answer.correlation()).isEqualTo(7);
      assertThat(answer.error().getCode()).isEqualTo(ErrorCode.UNSUPPORTED_VERSION.number());
      assertThat(answer.error().getText())
          .isEqualTo("protocol versions 2..3 are offered, this broker speaks 1..1");
      assertThat(client.hello().error().getCode()).isZero();
    }
  }

  @Test
  void helloForAnotherClusterIsRefusedNamingBoth() throws IOException {
    start(config());
    try (RawClient client = new RawClient(address)) {
      client.send(
          ApiKind.HELLO,
          1,
          HelloRequest.newBuilder().setMinVersion(1).setMaxVersion(1).setClusterId("bank").build());
      RawClient.Answer answer = client.read();
      assertThat(answer.error().getCode()).isEqualTo(ErrorCode.CLUSTER_MISMATCH.number());
      assertThat(answer.error().getText())
          .isEqualTo(
              "the client wants cluster bank, this broker belongs to shop; correct the bootstrap"
                  + " addresses");
      assertThat(client.isClosed()).isTrue();
    }
    assertThat(counters.closedCount(CloseReason.REFUSED)).isEqualTo(1);
  }

  @Test
  void aRequestBeforeHelloIsRefused() throws IOException {
    AtomicInteger calls = new AtomicInteger();
    handle(ApiKind.METADATA, (request, responder) -> calls.incrementAndGet());
    start(config());
    try (RawClient client = new RawClient(address)) {
      client.send(ApiKind.METADATA, 3, MetadataRequest.getDefaultInstance());
      RawClient.Answer answer = client.read();
      assertThat(answer.error().getCode()).isEqualTo(ErrorCode.UNAUTHENTICATED.number());
      assertThat(answer.error().getText()).isEqualTo("METADATA came before HELLO; say HELLO first");
      assertThat(client.isClosed()).isTrue();
    }
    assertThat(calls).hasValue(0);
    assertThat(counters.closedCount(CloseReason.UNAUTHENTICATED)).isEqualTo(1);
  }

  // ------------------------------------------------------------------------------------ bad input

  @Test
  void randomBytesCloseTheConnectionAndTheBrokerLives() throws IOException {
    handle(ApiKind.METADATA, NettyServerTest::answerEmpty);
    start(config());
    Random random = new Random(42);
    int garbage = 20;
    for (int i = 0; i < garbage; i++) {
      try (RawClient client = new RawClient(address)) {
        byte[] bytes = new byte[1 + random.nextInt(2_000)];
        random.nextBytes(bytes);
        bytes[0] = (byte) (i + 1);
        client.write(bytes);
        assertThat(client.isClosed()).isTrue();
      }
    }
    assertThat(counters.closedCount(CloseReason.GARBAGE)).isEqualTo(garbage);
    try (RawClient client = connect()) {
      client.send(ApiKind.METADATA, 2, MetadataRequest.getDefaultInstance());
      assertThat(client.read().error().getCode()).isZero();
    }
  }

  @Test
  void aTlsHandshakeAndHttpAreGarbage() throws IOException {
    start(config());
    try (RawClient tls = new RawClient(address);
        RawClient http = new RawClient(address)) {
      tls.write(new byte[] {0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, (byte) 0xfc, 0x03});
      http.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".getBytes());
      assertThat(tls.isClosed()).isTrue();
      assertThat(http.isClosed()).isTrue();
    }
    assertThat(counters.closedCount(CloseReason.GARBAGE)).isEqualTo(2);
  }

  @Test
  void anUnknownFrameVersionCloses() throws IOException {
    start(config());
    try (RawClient client = new RawClient(address)) {
      byte[] frame =
          RawClient.frame(ApiKind.HELLO, 1, HelloRequest.getDefaultInstance(), new byte[0]);
      frame[FrameFormat.VERSION_OFFSET] = 9;
      client.write(frame);
      assertThat(client.isClosed()).isTrue();
    }
    assertThat(counters.closedCount(CloseReason.UNSUPPORTED_VERSION)).isEqualTo(1);
  }

  @Test
  void anOversizedLengthIsAnsweredBeforeTheConnectionCloses() throws IOException {
    start(config());
    try (RawClient client = new RawClient(address)) {
      client.write(prefix(ApiKind.PRODUCE.code(), 77, NetworkConfig.HANDSHAKE_FRAME_BYTES + 1));
      RawClient.Answer answer = client.read();
      assertThat(answer.kindCode()).isEqualTo(ApiKind.PRODUCE.code());
      assertThat(answer.correlation()).isEqualTo(77);
      assertThat(answer.error().getCode()).isEqualTo(ErrorCode.FRAME_TOO_LARGE.number());
      assertThat(answer.error().getText())
          .isEqualTo("frame of 4097 bytes is over the limit of 4096 on this connection");
      assertThat(client.isClosed()).isTrue();
    }
    try (RawClient client = connect()) {
      client.write(prefix(ApiKind.PRODUCE.code(), 78, FRAME_BYTES + 1));
      // The rest that the client still sends must not make the answer disappear.
      client.write(new byte[300_000]);
      assertThat(client.read().error().getText())
          .isEqualTo("frame of 4194305 bytes is over the limit of 4194304 on this connection");
      assertThat(client.isClosed()).isTrue();
    }
    assertThat(counters.closedCount(CloseReason.FRAME_TOO_LARGE)).isEqualTo(2);
  }

  private static byte[] prefix(int kind, int correlation, int length) {
    return ByteBuffer.allocate(FrameFormat.PREFIX_BYTES)
        .putShort((short) FrameFormat.MAGIC)
        .put((byte) FrameFormat.VERSION)
        .put((byte) 0)
        .putShort((short) kind)
        .putInt(correlation)
        .putInt(length)
        .array();
  }

  @Test
  void anUnknownKindIsAnsweredAndTheConnectionLives() throws IOException {
    handle(ApiKind.METADATA, NettyServerTest::answerEmpty);
    start(config());
    try (RawClient client = connect()) {
      byte[] frame =
          RawClient.frame(ApiKind.METADATA, 5, MetadataRequest.getDefaultInstance(), new byte[10]);
      frame[FrameFormat.KIND_OFFSET + 1] = 55;
      client.write(frame);
      RawClient.Answer answer = client.read();
      assertThat(answer.kindCode()).isEqualTo(55);
      assertThat(answer.correlation()).isEqualTo(5);
      assertThat(answer.error().getCode()).isEqualTo(ErrorCode.UNKNOWN_API.number());
      assertThat(answer.error().getText()).isEqualTo("request kind 55 is not known to this broker");
      client.send(ApiKind.METADATA, 6, MetadataRequest.getDefaultInstance());
      assertThat(client.read().correlation()).isEqualTo(6);
    }
    assertThat(counters.unknownApiCount()).isEqualTo(1);
  }

  @Test
  void aKindWithoutAHandlerIsUnknownToo() throws IOException {
    start(config());
    try (RawClient client = connect()) {
      client.send(ApiKind.BROKER_STATUS, 5, BrokerStatusRequest.getDefaultInstance());
      assertThat(client.read().error().getCode()).isEqualTo(ErrorCode.UNKNOWN_API.number());
    }
  }

  @Test
  void aHeaderThatIsNoMessageIsAnsweredAndTheConnectionLives() throws IOException {
    handle(
        ApiKind.METADATA,
        (request, responder) -> {
          request.header(MetadataRequest.parser());
          answerEmpty(request, responder);
        });
    start(config());
    try (RawClient client = connect()) {
      ByteBuffer frame = ByteBuffer.allocate(FrameFormat.PREFIX_BYTES + 4);
      frame.put(prefix(ApiKind.METADATA.code(), 8, 4)).put(new byte[] {3, -1, -1, -1});
      client.write(frame.array());
      RawClient.Answer answer = client.read();
      assertThat(answer.correlation()).isEqualTo(8);
      assertThat(answer.error().getCode()).isEqualTo(ErrorCode.MALFORMED_REQUEST.number());
      assertThat(answer.error().getText()).startsWith("header of METADATA request (3 bytes)");
      client.send(ApiKind.METADATA, 9, MetadataRequest.getDefaultInstance());
      assertThat(client.read().correlation()).isEqualTo(9);
    }
  }

  @Test
  void aResponseFrameToTheBrokerIsRefused() throws IOException {
    start(config());
    try (RawClient client = connect()) {
      byte[] frame =
          RawClient.frame(ApiKind.METADATA, 5, MetadataRequest.getDefaultInstance(), new byte[0]);
      frame[FrameFormat.FLAGS_OFFSET] = FrameFormat.FLAG_RESPONSE;
      client.write(frame);
      assertThat(client.read().error().getCode()).isEqualTo(ErrorCode.MALFORMED_REQUEST.number());
      assertThat(client.isClosed()).isTrue();
    }
    assertThat(counters.closedCount(CloseReason.MALFORMED_FRAME)).isEqualTo(1);
  }

  @Test
  void aRequestBetweenBrokersFromAClientIsRefused() throws IOException {
    AtomicInteger calls = new AtomicInteger();
    handle(ApiKind.RAFT, (request, responder) -> calls.incrementAndGet());
    start(config());
    try (RawClient fresh = new RawClient(address);
        RawClient client = connect()) {
      for (RawClient attacker : List.of(fresh, client)) {
        attacker.send(ApiKind.RAFT, 4, RaftHeader.getDefaultInstance(), (byte) 1);
        RawClient.Answer answer = attacker.read();
        assertThat(answer.error().getCode()).isEqualTo(ErrorCode.UNAUTHENTICATED.number());
        assertThat(answer.error().getText())
            .contains("RAFT is a request between brokers; 127.0.0.1:", "has not sent a PEER_HELLO");
        assertThat(attacker.isClosed()).isTrue();
      }
    }
    assertThat(calls).hasValue(0);
    assertThat(counters.closedCount(CloseReason.UNAUTHENTICATED)).isEqualTo(2);
  }

  @Test
  void aFaultOfAHandlerIsAnsweredCountedAndLoggedOnce() throws IOException {
    handle(
        ApiKind.METADATA,
        (request, responder) -> {
          throw new IllegalStateException("a bug");
        });
    start(config());
    try (RawClient client = connect()) {
      for (int i = 10; i < 15; i++) {
        client.send(ApiKind.METADATA, i, MetadataRequest.getDefaultInstance());
        RawClient.Answer answer = client.read();
        assertThat(answer.correlation()).isEqualTo(i);
        assertThat(answer.error().getCode()).isEqualTo(ErrorCode.SERVER_ERROR.number());
        assertThat(answer.error().getText())
            .isEqualTo("METADATA failed: java.lang.IllegalStateException: a bug");
      }
    }
    assertThat(counters.errorCount()).isEqualTo(5);
  }

  @Test
  void aSecondAnswerIsAFaultAndReleasesWhatItCarries() throws IOException {
    AtomicInteger references = new AtomicInteger(-1);
    handle(
        ApiKind.METADATA,
        (request, responder) -> {
          answerEmpty(request, responder);
          var payload = Unpooled.buffer(10).writeLong(1);
          try {
            responder.respond(MetadataResponse.getDefaultInstance(), payload);
          } finally {
            references.set(payload.refCnt());
          }
        });
    start(config());
    try (RawClient client = connect()) {
      client.send(ApiKind.METADATA, 2, MetadataRequest.getDefaultInstance());
      assertThat(client.read().error().getCode()).isZero();
      client.send(ApiKind.METADATA, 3, MetadataRequest.getDefaultInstance());
      assertThat(client.read().correlation()).isEqualTo(3);
    }
    assertThat(references).hasValue(0);
    assertThat(counters.errorCount()).isEqualTo(2);
  }

  // ---------------------------------------------------------------------------- order, pipelining

  @Test
  void pipelinedRequestsReachTheHandlerInOrderAndAnswersMayOvertake() throws IOException {
    List<Integer> seen = new CopyOnWriteArrayList<>();
    List<Runnable> parked = Collections.synchronizedList(new ArrayList<>());
    int count = 200;
    handle(
        ApiKind.PRODUCE,
        (request, responder) -> {
          seen.add(request.frame().correlation());
          parked.add(() -> responder.respond(ProduceResponse.getDefaultInstance()));
          if (parked.size() == count) {
            Collections.reverse(parked);
            new Thread(() -> parked.forEach(Runnable::run)).start();
          }
        });
    start(config());
    try (RawClient client = connect()) {
      List<Integer> sent = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        client.send(ApiKind.PRODUCE, 1_000 + i, ProduceRequest.getDefaultInstance());
        sent.add(1_000 + i);
      }
      List<Integer> answered = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        answered.add(client.read().correlation());
      }
      assertThat(seen).isEqualTo(sent);
      Collections.reverse(sent);
      assertThat(answered).isEqualTo(sent);
    }
    await().until(() -> server.unanswered() == 0);
  }

  @Test
  void aConnectionWithTooManyUnansweredRequestsIsNotRead() throws IOException {
    List<Responder> parked = new CopyOnWriteArrayList<>();
    handle(ApiKind.PRODUCE, (request, responder) -> parked.add(responder));
    start(config(10, 64 << 20, 64 << 20, 4 << 20, 16));
    try (RawClient client = connect();
        RawClient other = connect()) {
      for (int i = 0; i < 100; i++) {
        client.send(ApiKind.PRODUCE, i, ProduceRequest.getDefaultInstance());
      }
      await().until(() -> parked.size() == 16);
      other.send(ApiKind.PRODUCE, 5, ProduceRequest.getDefaultInstance());
      await().until(() -> parked.size() == 17);
      assertThat(server.unanswered()).isEqualTo(17);
      Set<Integer> answered = new HashSet<>();
      int next = 0;
      while (answered.size() < 100) {
        int from = next;
        await().until(() -> parked.size() > from);
        for (; next < parked.size(); next++) {
          parked.get(next).respond(ProduceResponse.getDefaultInstance());
        }
        while (answered.size() < next - 1) {
          answered.add(client.read().correlation());
        }
      }
      assertThat(answered).hasSize(100);
      assertThat(other.read().correlation()).isEqualTo(5);
    }
  }

  @Test
  void answersFromManyThreadsArriveWhole() throws Exception {
    int count = 500;
    handle(
        ApiKind.METADATA,
        (request, responder) -> {
          int correlation = request.frame().correlation();
          Thread thread =
              new Thread(
                  () ->
                      responder.respond(
                          MetadataResponse.getDefaultInstance(),
                          Unpooled.wrappedBuffer(new byte[correlation])));
          thread.start();
        });
    start(config());
    try (RawClient client = connect()) {
      for (int i = 1; i <= count; i++) {
        client.send(ApiKind.METADATA, i, MetadataRequest.getDefaultInstance());
      }
      Set<Integer> answered = new HashSet<>();
      for (int i = 1; i <= count; i++) {
        RawClient.Answer answer = client.read();
        assertThat(answer.payload()).hasSize(answer.correlation());
        answered.add(answer.correlation());
      }
      assertThat(answered).hasSize(count);
    }
  }

  // ------------------------------------------------------------------------------- back-pressure

  @Test
  void aReaderThatDoesNotReadStopsBeingServedAndCostsBoundedMemory() throws IOException {
    AtomicInteger calls = new AtomicInteger();
    int responseBytes = 256 << 10;
    int requests = 400;
    handle(
        ApiKind.FETCH,
        (request, responder) -> {
          calls.incrementAndGet();
          responder.respond(
              FetchResponse.getDefaultInstance(), Unpooled.directBuffer().writeZero(responseBytes));
        });
    handle(ApiKind.METADATA, NettyServerTest::answerEmpty);
    start(config(10, 64 << 20, 64 << 20, 1 << 20, 1_000));
    try (RawClient slow = new RawClient(address, 16 << 10);
        RawClient other = connect()) {
      slow.hello();
      for (int i = 0; i < requests; i++) {
        slow.send(ApiKind.FETCH, i, FetchRequest.getDefaultInstance());
      }
      await().until(() -> counters.pauseCount() > 0);
      int served = calls.get();
      // What one read of the socket brought is bounded by the flow control in front of the handler.
      other.send(ApiKind.METADATA, 1, MetadataRequest.getDefaultInstance());
      assertThat(other.read().correlation()).isEqualTo(1);
      assertThat(calls.get()).isEqualTo(served).isLessThan(40);
      assertThat(gauge("network.out.bytes")).isLessThan((1 << 20) + 16L * responseBytes);
      for (int i = 0; i < requests; i++) {
        RawClient.Answer answer = slow.read();
        assertThat(answer.correlation()).isEqualTo(i);
        assertThat(answer.payload()).hasSize(responseBytes);
      }
    }
    assertThat(calls).hasValue(requests);
    await().until(() -> gauge("network.out.bytes") == 0);
  }

  @Test
  void aLargeFrameWaitsUntilAnotherGaveItsMemoryBack() throws IOException {
    List<Integer> seen = new CopyOnWriteArrayList<>();
    handle(
        ApiKind.PRODUCE,
        (request, responder) -> {
          seen.add(request.frame().correlation());
          responder.respond(ProduceResponse.getDefaultInstance());
        });
    handle(ApiKind.METADATA, NettyServerTest::answerEmpty);
    start(config(10, FRAME_BYTES, 64 << 20, 4 << 20, 100));
    byte[] large =
        RawClient.frame(ApiKind.PRODUCE, 1, ProduceRequest.getDefaultInstance(), new byte[3 << 20]);
    byte[] second =
        RawClient.frame(ApiKind.PRODUCE, 2, ProduceRequest.getDefaultInstance(), new byte[3 << 20]);
    try (RawClient first = connect();
        RawClient waiting = connect();
        RawClient small = connect()) {
      first.write(java.util.Arrays.copyOf(large, large.length / 2));
      await().until(() -> gauge("network.in.bytes") == large.length);
      Thread writer =
          new Thread(
              () -> {
                try {
                  waiting.write(second);
                } catch (IOException failed) {
                  throw new java.io.UncheckedIOException(failed);
                }
              });
      writer.start();
      await().until(() -> counters.pauseCount() == 1);
      small.send(ApiKind.METADATA, 3, MetadataRequest.getDefaultInstance());
      assertThat(small.read().correlation()).isEqualTo(3);
      assertThat(seen).isEmpty();
      first.write(java.util.Arrays.copyOfRange(large, large.length / 2, large.length));
      assertThat(first.read().correlation()).isEqualTo(1);
      assertThat(waiting.read().correlation()).isEqualTo(2);
      assertThat(seen).containsExactly(1, 2);
    }
    await().until(() -> gauge("network.in.bytes") == 0);
  }

  @Test
  void aConnectionThatDiesGivesItsReservationBack() throws IOException {
    handle(
        ApiKind.PRODUCE,
        (request, responder) -> responder.respond(ProduceResponse.getDefaultInstance()));
    start(config(10, FRAME_BYTES, 64 << 20, 4 << 20, 100));
    byte[] large =
        RawClient.frame(ApiKind.PRODUCE, 1, ProduceRequest.getDefaultInstance(), new byte[3 << 20]);
    try (RawClient dying = connect()) {
      dying.write(java.util.Arrays.copyOf(large, 200_000));
      await().until(() -> gauge("network.in.bytes") == large.length);
    }
    await().until(() -> gauge("network.in.bytes") == 0);
    try (RawClient next = connect()) {
      next.write(large);
      assertThat(next.read().correlation()).isEqualTo(1);
    }
  }

  @Test
  void connectionsBeyondTheLimitAreToldAndBrokersStillGetIn() throws IOException {
    start(config(2, 64 << 20, 64 << 20, 4 << 20, 100));
    try (RawClient first = connect();
        RawClient second = connect();
        RawClient third = new RawClient(address);
        RawClient broker = new RawClient(address)) {
      assertThat(broker.peerHello("shop", 2, SECRET).error().getCode()).isZero();
      RawClient.Answer answer = third.hello();
      assertThat(answer.error().getCode()).isEqualTo(ErrorCode.REFUSED.number());
      assertThat(answer.error().getText()).contains("max.connections");
      assertThat(third.isClosed()).isTrue();
    }
    assertThat(counters.closedCount(CloseReason.TOO_MANY_CONNECTIONS)).isEqualTo(1);
    await().until(() -> server.connectionCount() == 0);
    connect().close();
  }

  @Test
  void connectionsThatStandStillAreClosed() throws IOException {
    handle(
        ApiKind.FETCH,
        (request, responder) ->
            responder.respond(
                FetchResponse.getDefaultInstance(), Unpooled.directBuffer().writeZero(8 << 20)));
    handle(ApiKind.METADATA, NettyServerTest::answerEmpty);
    start(new NetworkConfig(1, 1, FRAME_BYTES, 10, 64 << 20, 64 << 20, 4 << 20, 100, 200, 300));
    try (RawClient silent = new RawClient(address);
        RawClient half = connect();
        RawClient deaf = new RawClient(address, 16 << 10);
        RawClient idle = connect()) {
      deaf.hello();
      half.write(prefix(ApiKind.PRODUCE.code(), 1, 1_000_000));
      deaf.send(ApiKind.FETCH, 1, FetchRequest.getDefaultInstance());
      assertThat(silent.isClosed()).isTrue();
      assertThat(half.isClosed()).isTrue();
      await().until(() -> counters.closedCount(CloseReason.STALLED_RESPONSE) == 1);
      assertThat(counters.closedCount(CloseReason.HANDSHAKE_TIMEOUT)).isEqualTo(1);
      assertThat(counters.closedCount(CloseReason.STALLED_REQUEST)).isEqualTo(1);
      // A connection without work lives for ever.
      idle.send(ApiKind.METADATA, 2, MetadataRequest.getDefaultInstance());
      assertThat(idle.read().correlation()).isEqualTo(2);
    }
  }

  // ---------------------------------------------------------------------------------------- peers

  @Test
  void aBrokerMovesToTheEventLoopsOfThePeers() throws IOException {
    List<String> threads = new CopyOnWriteArrayList<>();
    List<Integer> senders = new CopyOnWriteArrayList<>();
    handle(
        ApiKind.RAFT,
        (request, responder) -> {
          threads.add(Thread.currentThread().getName());
          senders.add(request.connection().peerBrokerId());
          responder.respond(
              RaftResponseHeader.newBuilder().setType(request.frame().correlation()).build(),
              request.payload().copy());
        });
    handle(
        ApiKind.METADATA,
        (request, responder) -> {
          threads.add(Thread.currentThread().getName());
          answerEmpty(request, responder);
        });
    start(config());
    try (RawClient broker = new RawClient(address);
        RawClient client = connect()) {
      PeerHelloResponse hello =
          broker.peerHello("shop", 2, SECRET).header(PeerHelloResponse.parser());
      assertThat(hello.getBrokerId()).isEqualTo(1);
      assertThat(hello.getIncarnation()).isEqualTo(IDENTITY.incarnation().toString());
      assertThat(hello.getVersion()).isEqualTo(1);
      for (int i = 2; i < 50; i++) {
        byte[] payload = new byte[i * 5_000];
        new Random(i).nextBytes(payload);
        broker.send(ApiKind.RAFT, i, RaftHeader.getDefaultInstance(), payload);
        RawClient.Answer answer = broker.read();
        assertThat(answer.correlation()).isEqualTo(i);
        assertThat(answer.payload()).isEqualTo(payload);
      }
      client.send(ApiKind.METADATA, 2, MetadataRequest.getDefaultInstance());
      client.read();
    }
    assertThat(senders).hasSize(48).containsOnly(2);
    assertThat(threads.subList(0, 48)).allMatch(name -> name.startsWith("net-peer-test"));
    assertThat(threads.get(48)).startsWith("net-client-test");
  }

  @Test
  void framesBehindAProofWaitForTheMove() throws IOException {
    List<String> threads = new CopyOnWriteArrayList<>();
    handle(
        ApiKind.RAFT,
        (request, responder) -> {
          threads.add(Thread.currentThread().getName());
          responder.respond(RaftResponseHeader.getDefaultInstance());
        });
    start(config());
    for (int round = 0; round < 20; round++) {
      try (RawClient broker = new RawClient(address)) {
        PeerHelloRequest hello = RawClient.peerHelloOf("shop", 2);
        broker.send(ApiKind.PEER_HELLO, 0, hello);
        PeerHelloResponse challenge = broker.read().header(PeerHelloResponse.parser());
        byte[] proof =
            RawClient.frame(
                ApiKind.PEER_PROOF, 1, RawClient.proofOf(hello, challenge, SECRET), new byte[0]);
        byte[] raft =
            RawClient.frame(ApiKind.RAFT, 2, RaftHeader.getDefaultInstance(), new byte[9]);
        ByteBuffer together = ByteBuffer.allocate(proof.length + 3 * raft.length);
        broker.write(together.put(proof).put(raft).put(raft).put(raft).array());
        assertThat(broker.read().correlation()).isEqualTo(1);
        for (int i = 0; i < 3; i++) {
          assertThat(broker.read().correlation()).isEqualTo(2);
        }
      }
    }
    assertThat(threads).hasSize(60).allMatch(name -> name.startsWith("net-peer-test"));
  }

  @Test
  void anIsolatedBrokerIsNeitherHeardNorAnswered() throws IOException {
    List<Responder> parked = new CopyOnWriteArrayList<>();
    handle(
        ApiKind.RAFT,
        (request, responder) -> {
          if (request.frame().correlation() == 2) {
            parked.add(responder);
          } else {
            responder.respond(RaftResponseHeader.getDefaultInstance());
          }
        });
    start(config());
    try (RawClient broker = new RawClient(address)) {
      broker.peerHello("shop", 2, SECRET);
      broker.send(ApiKind.RAFT, 2, RaftHeader.getDefaultInstance());
      await().until(() -> parked.size() == 1);
      faults.isolateFrom(2);
      parked.get(0).respond(RaftResponseHeader.getDefaultInstance());
      broker.send(ApiKind.RAFT, 3, RaftHeader.getDefaultInstance());
      await().until(() -> gauge("net.bytes.in") > 0 && counters.requestCount(ApiKind.RAFT) == 1);
      // What a broker waits for does not hold up the end of this one.
      assertThat(server.drain(5_000)).isTrue();
      await().until(() -> gauge("net.unanswered") == 0);
      faults.heal();
      broker.send(ApiKind.RAFT, 4, RaftHeader.getDefaultInstance());
      assertThat(broker.read().correlation()).isIn(3, 4);
    }
  }

  @Test
  void theHandshakeOfAnIsolatedBrokerIsSwallowedAndItsConnectionStaysOpen() throws IOException {
    start(config());
    faults.isolateFrom(2);
    PeerHelloRequest hello = RawClient.peerHelloOf("shop", 2);
    try (RawClient cutOff = new RawClient(address);
        RawClient other = new RawClient(address)) {
      long before = gauge("net.bytes.in");
      cutOff.send(ApiKind.PEER_HELLO, 5, hello);
      await().until(() -> gauge("net.bytes.in") > before);
      assertThat(other.peerHello("shop", 3, SECRET).error().getCode()).isZero();
      faults.heal();
      cutOff.send(ApiKind.PEER_HELLO, 6, hello);
      assertThat(cutOff.read().correlation()).isEqualTo(6);
    }
    assertThat(counters.requestCount(ApiKind.PEER_HELLO)).isEqualTo(2);
  }

  @Test
  void oneWayABrokerIsHeardAndNotAnswered() throws IOException {
    handle(
        ApiKind.RAFT,
        (request, responder) -> responder.respond(RaftResponseHeader.getDefaultInstance()));
    start(config());
    try (RawClient broker = new RawClient(address)) {
      broker.peerHello("shop", 2, SECRET);
      faults.set(2, new NetworkFaults.Link(Flow.CUT, Flow.SOUND));
      broker.send(ApiKind.RAFT, 2, RaftHeader.getDefaultInstance());
      await().until(() -> counters.requestCount(ApiKind.RAFT) == 1);
      await().until(() -> gauge("net.unanswered") == 0);
      faults.heal();
      broker.send(ApiKind.RAFT, 3, RaftHeader.getDefaultInstance());
      assertThat(broker.read().correlation()).isEqualTo(3);
    }
  }

  /** The connection moves to another event loop while messages on it are late. */
  @Test
  void lateRequestsAndAnswersKeepTheirOrderFromTheHandshakeOn() throws IOException {
    Set<String> threads = ConcurrentHashMap.newKeySet();
    handle(
        ApiKind.RAFT,
        (request, responder) -> {
          threads.add(Thread.currentThread().getName());
          responder.respond(RaftResponseHeader.getDefaultInstance());
        });
    start(config());
    Flow late = new Flow(false, 20, 20, 0);
    faults.set(2, new NetworkFaults.Link(late, late));
    try (RawClient broker = new RawClient(address)) {
      long startNanos = System.nanoTime();
      broker.peerHello("shop", 2, SECRET);
      assertThat(System.nanoTime() - startNanos).isGreaterThanOrEqualTo(40_000_000L);
      for (int i = 0; i < 200; i++) {
        broker.send(ApiKind.RAFT, 10 + i, RaftHeader.getDefaultInstance(), new byte[100]);
      }
      for (int i = 0; i < 200; i++) {
        assertThat(broker.read().correlation()).isEqualTo(10 + i);
      }
      // Left late at the end: the buffers are looked at when the server has closed.
      broker.send(ApiKind.RAFT, 1, RaftHeader.getDefaultInstance(), new byte[100]);
    }
    assertThat(threads).allMatch(name -> name.startsWith("net-peer-test"));
  }

  @Test
  void brokersThatDoNotBelongHereAreRefused() throws IOException {
    start(config());
    try (RawClient otherCluster = new RawClient(address);
        RawClient sameId = new RawClient(address);
        RawClient otherIncarnation = new RawClient(address);
        RawClient client = connect()) {
      assertThat(otherCluster.peerHello("bank", 2, SECRET).error().getText())
          .isEqualTo(
              "broker 2 of cluster bank came to broker 1 of cluster shop; correct"
                  + " cluster.brokers");
      assertThat(otherCluster.isClosed()).isTrue();
      assertThat(sameId.peerHello("shop", 1, SECRET).error().getText())
          .startsWith("two brokers say that they are broker 1: incarnations incarnation-1 and ");
      assertThat(sameId.isClosed()).isTrue();
      RawClient.Answer mismatch = otherIncarnation.peerHello("shop", 9, SECRET);
      assertThat(mismatch.error().getCode()).isEqualTo(ErrorCode.INCARNATION_MISMATCH.number());
      assertThat(mismatch.error().getText()).isEqualTo("broker 9 has another incarnation");
      assertThat(otherIncarnation.isClosed()).isTrue();
      assertThat(client.peerHello("shop", 2, SECRET).error().getText())
          .isEqualTo("PEER_HELLO must be the first request of a connection");
      assertThat(client.isClosed()).isTrue();
    }
  }

  // --------------------------------------------------------------------------------- file regions

  @Test
  void slicesArriveAsTheBytesOfTheFileAndAreReleased() throws IOException {
    Path path = dir.resolve("segment");
    byte[] content = new byte[3 << 20];
    new Random(7).nextBytes(content);
    Files.write(path, content);
    TestSlices.OpenFile file = new TestSlices.OpenFile(new DirectDisk(), path);
    handle(
        ApiKind.FETCH,
        (request, responder) -> {
          int size = request.frame().correlation();
          try {
            respondWith(responder, file.slice(100, size, 1 << 20, size), file.slice(2 << 20, size));
          } catch (IOException failed) {
            throw new java.io.UncheckedIOException(failed);
          }
        });
    start(config());
    try (RawClient client = connect()) {
      // Small ones are copied, large ones are not; both must be the same bytes.
      for (int size : new int[] {1, 1_000, 5_461, 5_462, 100_000, 700_001}) {
        client.send(ApiKind.FETCH, size, FetchRequest.getDefaultInstance());
        ByteBuffer expected = ByteBuffer.allocate(3 * size);
        expected.put(content, 100, size).put(content, 1 << 20, size).put(content, 2 << 20, size);
        RawClient.Answer answer = client.read();
        assertThat(answer.correlation()).isEqualTo(size);
        assertThat(answer.payload()).isEqualTo(expected.array());
      }
      await().until(() -> file.openCount() == 0);
      assertThat(counters.fileBytesOut()).isEqualTo(3L * (5_462 + 100_000 + 700_001));
      client.send(ApiKind.FETCH, 3, FetchRequest.getDefaultInstance());
      assertThat(client.read().payload()).hasSize(9);
    }
  }

  @Test
  void slicesOfAConnectionThatDiesAreReleased() throws IOException {
    Path path = dir.resolve("segment");
    Files.write(path, new byte[1 << 20]);
    TestSlices.OpenFile file = new TestSlices.OpenFile(new DirectDisk(), path);
    List<Responder> parked = new CopyOnWriteArrayList<>();
    handle(ApiKind.FETCH, (request, responder) -> parked.add(responder));
    start(config(10, 64 << 20, 64 << 20, 64 << 20, 100));
    try (RawClient client = new RawClient(address, 16 << 10)) {
      client.hello();
      for (int i = 0; i < 30; i++) {
        client.send(ApiKind.FETCH, i, FetchRequest.getDefaultInstance());
      }
      await().until(() -> parked.size() == 30);
      for (Responder responder : parked.subList(0, 20)) {
        respondWith(responder, file.slice(0, 1 << 20));
      }
      assertThat(file.openCount()).isEqualTo(1);
    }
    await().until(() -> server.connectionCount() == 0);
    for (Responder responder : parked.subList(20, 30)) {
      respondWith(responder, file.slice(0, 1 << 20));
    }
    await().until(() -> file.openCount() == 0);
    await().until(() -> gauge("network.out.bytes") == 0);
  }

  @Test
  void aFileThatIsShorterThanItsSliceClosesTheConnection() throws IOException {
    Path path = dir.resolve("segment");
    Files.write(path, new byte[100_000]);
    TestSlices.OpenFile file = new TestSlices.OpenFile(new DirectDisk(), path);
    handle(
        ApiKind.FETCH,
        (request, responder) -> {
          try {
            respondWith(responder, file.slice(99_000, request.frame().correlation()));
          } catch (IOException failed) {
            throw new java.io.UncheckedIOException(failed);
          }
        });
    start(config());
    for (int size : new int[] {2_000, 50_000}) {
      try (RawClient client = connect()) {
        client.send(ApiKind.FETCH, size, FetchRequest.getDefaultInstance());
        assertThatThrownBy(client::read).isInstanceOf(IOException.class);
      }
    }
    await().until(() -> file.openCount() == 0);
    await().until(() -> gauge("network.out.bytes") == 0);
  }

  // ------------------------------------------------------------------------------ start and stop

  @Test
  void anAddressInUseIsOneClearLine() throws IOException {
    start(config());
    try (NettyServer second =
        new NettyServer(config(), new Handlers(List.of()), new NetworkCounters(), "second")) {
      assertThatThrownBy(() -> second.start(address))
          .isInstanceOf(IOException.class)
          .hasMessageStartingWith(
              "cannot listen on 127.0.0.1:" + address.getPort() + ": Address already in use")
          .hasMessageEndingWith("; stop what uses that address, or set another listen");
    }
  }

  @Test
  void drainRefusesNewWorkAndWaitsForWhatIsOpen() throws Exception {
    List<Responder> parked = new CopyOnWriteArrayList<>();
    handle(ApiKind.PRODUCE, (request, responder) -> parked.add(responder));
    handle(
        ApiKind.LIST_OFFSETS,
        (request, responder) -> responder.respond(ListOffsetsResponse.getDefaultInstance()));
    start(config());
    try (RawClient client = connect()) {
      client.send(ApiKind.PRODUCE, 1, ProduceRequest.getDefaultInstance());
      await().until(() -> parked.size() == 1);
      assertThat(server.drain(50)).isFalse();
      client.send(ApiKind.LIST_OFFSETS, 2, ListOffsetsRequest.getDefaultInstance());
      assertThat(client.read().error().getCode()).isEqualTo(ErrorCode.SHUTTING_DOWN.number());
      CountDownLatch drained = new CountDownLatch(1);
      Thread draining =
          new Thread(
              () -> {
                if (server.drain(10_000)) {
                  drained.countDown();
                }
              });
      draining.start();
      parked.get(0).respond(ProduceResponse.getDefaultInstance());
      assertThat(client.read().correlation()).isEqualTo(1);
      assertThat(drained.await(10, TimeUnit.SECONDS)).isTrue();
      server.close();
      assertThat(client.isClosed()).isTrue();
    }
    assertThat(counters.closedCount(CloseReason.SHUTDOWN)).isEqualTo(1);
    // An answer after the end is dropped.
    assertThat(server.connectionCount()).isZero();
  }

  @Test
  void anAnswerAfterTheEndIsDropped() throws IOException {
    List<Responder> parked = new CopyOnWriteArrayList<>();
    handle(ApiKind.PRODUCE, (request, responder) -> parked.add(responder));
    start(config());
    try (RawClient client = connect()) {
      client.send(ApiKind.PRODUCE, 1, ProduceRequest.getDefaultInstance());
      await().until(() -> parked.size() == 1);
      server.close();
    }
    parked.get(0).respond(ProduceResponse.getDefaultInstance());
    await().until(() -> gauge("network.out.bytes") == 0);
  }

  @Test
  void everyCounterHasItsNameFromTheStart() throws IOException {
    start(config());
    List<String> names = server.gauges().stream().map(Gauge::getName).toList();
    assertThat(names)
        .doesNotHaveDuplicates()
        .contains(
            "net.connections",
            "network.in.bytes",
            "network.out.bytes",
            "net.requests.PRODUCE",
            "net.closed.garbage",
            "net.errors");
    assertThat(server.gauges()).allMatch(gauge -> gauge.getUsed() == 0);
    assertThat(server.gauges().get(0).getLimit()).isEqualTo(100);
  }
}
