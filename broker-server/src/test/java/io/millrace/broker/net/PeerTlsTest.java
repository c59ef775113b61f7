package io.millrace.broker.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.millrace.broker.TestCertificates;
import io.millrace.broker.api.DistinctErrors;
import io.millrace.broker.api.Handlers;
import io.millrace.broker.api.HelloHandler;
import io.millrace.broker.api.PeerHelloHandler;
import io.millrace.broker.api.PeerProofHandler;
import io.millrace.broker.cluster.LocalBroker;
import io.millrace.broker.log.DirectDisk;
import io.millrace.broker.log.TestSlices;
import io.millrace.broker.raft.transport.ClusterSecret;
import io.millrace.broker.raft.transport.NetworkFaults;
import io.millrace.broker.raft.transport.PeerCredentials;
import io.millrace.broker.raft.transport.PeerTls;
import io.millrace.broker.raft.transport.PeerTlsFiles;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.FetchRequest;
import io.millrace.protocol.message.FetchResponse;
import io.millrace.protocol.message.HelloResponse;
import io.millrace.protocol.message.PeerHelloResponse;
import io.millrace.protocol.message.RaftHeader;
import io.millrace.protocol.message.RaftResponseHeader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Which connections a broker takes when TLS is configured for the brokers. */
@Timeout(60)
class PeerTlsTest {

  private static final LocalBroker SELF = new LocalBroker("shop", 1, new UUID(1, 2));
  private static final ClusterSecret SECRET = ClusterSecret.random();

  @TempDir static Path directory;
  private static TestCertificates certificates;
  private static TestCertificates foreign;
  private static PeerTlsFiles own;

  @TempDir Path dir;
  private final NetworkCounters counters = new NetworkCounters();
  private final CountingAllocator allocator = new CountingAllocator();
  private final List<String> raftThreads = new CopyOnWriteArrayList<>();
  private NettyServer server;
  private InetSocketAddress address;

  @BeforeAll
  static void certificates() throws Exception {
    certificates = new TestCertificates(directory.resolve("own"));
    own = certificates.withDnsName("broker-1");
    certificates.withCommonName("broker-2");
    foreign = new TestCertificates(directory.resolve("foreign"));
    foreign.withDnsName("broker-2");
  }

  @BeforeEach
  void start() throws Exception {
    PeerTls tls = PeerTls.load(own, 1);
    PeerCredentials credentials = new PeerCredentials(SECRET, tls);
    NetworkConfig config = NetworkConfig.defaults(256 << 20);
    DistinctErrors errors = new DistinctErrors(LoggerFactory.getLogger(PeerTlsTest.class));
    Path file = Files.write(dir.resolve("segment"), new byte[1 << 20]);
    TestSlices.OpenFile segment = new TestSlices.OpenFile(new DirectDisk(), file);
    Handlers handlers =
        new Handlers(
            List.of(
                new HelloHandler(SELF, config.maxFrameBytes(), 1, "test"),
                new PeerHelloHandler(SELF, credentials),
                new PeerProofHandler(credentials, (hello, remote) -> {}, errors),
                new TestHandler(
                    ApiKind.RAFT,
                    (request, responder) -> {
                      raftThreads.add(Thread.currentThread().getName());
                      responder.respond(
                          RaftResponseHeader.getDefaultInstance(), request.payload().copy());
                    }),
                new TestHandler(
                    ApiKind.FETCH,
                    (request, responder) -> {
                      try {
                        var slice = segment.slice(0, 1 << 20);
                        responder.respond(
                            FetchResponse.getDefaultInstance(), List.of(slice), slice::release);
                      } catch (IOException failed) {
                        throw new java.io.UncheckedIOException(failed);
                      }
                    })));
    server =
        new NettyServer(config, handlers, counters, "tls", new NetworkFaults(), tls, allocator);
    address = server.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  @AfterEach
  void stop() {
    server.close();
    await().untilAsserted(() -> assertThat(allocator.used()).isZero());
  }

  /** Trusts everybody: the tests are about what the broker accepts. */
  private RawClient tlsClient(KeyManager[] keys) throws Exception {
    TrustManager anybody =
        new X509TrustManager() {
          @Override
          public void checkClientTrusted(X509Certificate[] chain, String kind) {}

          @Override
          public void checkServerTrusted(X509Certificate[] chain, String kind) {}

          @Override
          public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
          }
        };
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys, new TrustManager[] {anybody}, new SecureRandom());
    SSLSocket socket =
        (SSLSocket)
            context.getSocketFactory().createSocket(address.getAddress(), address.getPort());
    socket.setSoTimeout(10_000);
    try {
      socket.startHandshake();
    } catch (IOException refused) {
      socket.close();
      throw refused;
    }
    return new RawClient(socket);
  }

  @Test
  void aBrokerWithItsCertificateAndTheSecretIsServedOnThePeersThreads() throws Exception {
    byte[] payload = new byte[3 << 20];
    new Random(5).nextBytes(payload);
    try (RawClient broker = tlsClient(certificates.keyManagers("broker-2"))) {
      PeerHelloResponse hello =
          broker.peerHello("shop", 2, SECRET).header(PeerHelloResponse.parser());
      assertThat(hello.getBrokerId()).isEqualTo(1);
      for (int i = 3; i < 8; i++) {
        broker.send(ApiKind.RAFT, i, RaftHeader.getDefaultInstance(), payload);
        RawClient.Answer answer = broker.read();
        assertThat(answer.correlation()).isEqualTo(i);
        assertThat(answer.payload()).isEqualTo(payload);
      }
      // File regions cannot be encrypted on their way, so they are copied.
      broker.send(ApiKind.FETCH, 9, FetchRequest.getDefaultInstance());
      assertThat(broker.read().payload()).isEqualTo(new byte[1 << 20]);
    }
    assertThat(raftThreads).hasSize(5).allMatch(name -> name.startsWith("net-peer-tls"));
    assertThat(counters.fileBytesOut()).isZero();
    assertThat(counters.closedCount(CloseReason.TLS)).isZero();
  }

  @Test
  void theSecretIsAskedForInsideTlsToo() throws Exception {
    try (RawClient broker = tlsClient(certificates.keyManagers("broker-2"))) {
      assertThat(broker.peerHello("shop", 2, ClusterSecret.random()).error().getText())
          .startsWith("who came as broker 2 does not know the secret of this cluster");
      assertThat(broker.isClosed()).isTrue();
    }
    assertThat(counters.closedCount(CloseReason.UNAUTHENTICATED)).isEqualTo(1);
  }

  @Test
  void theCertificateMustNameTheBroker() throws Exception {
    try (RawClient broker = tlsClient(certificates.keyManagers("broker-2"))) {
      RawClient.Answer refused = broker.peerHello("shop", 3, SECRET);
      assertThat(refused.error().getCode()).isEqualTo(ErrorCode.UNAUTHENTICATED.number());
      assertThat(refused.error().getText())
          .isEqualTo(
              "broker 3: the certificate names [broker-2], not broker-3; make one that does");
      assertThat(broker.isClosed()).isTrue();
    }
    assertThat(counters.closedCount(CloseReason.UNAUTHENTICATED)).isEqualTo(1);
  }

  @Test
  void aBrokerInPlainTextIsRefusedAndAClientIsServed() throws Exception {
    try (RawClient broker = new RawClient(address);
        RawClient client = new RawClient(address)) {
      assertThat(broker.peerHello("shop", 2, SECRET).error().getText())
          .isEqualTo(
              "broker 2 came without TLS, which broker 1 asks of brokers; set peer.tls.* there"
                  + " too");
      assertThat(broker.isClosed()).isTrue();
      assertThat(client.hello().header(HelloResponse.parser()).getBrokerId()).isEqualTo(1);
      client.send(ApiKind.FETCH, 9, FetchRequest.getDefaultInstance());
      assertThat(client.read().payload()).hasSize(1 << 20);
    }
    assertThat(counters.closedCount(CloseReason.UNAUTHENTICATED)).isEqualTo(1);
    assertThat(counters.fileBytesOut()).isEqualTo(1 << 20);
  }

  @Test
  void withoutACertificateOrWithAForeignOneTheHandshakeFails() throws Exception {
    for (KeyManager[] keys : List.of(new KeyManager[0], foreign.keyManagers("broker-2"))) {
      // With TLS 1.3 the refusal reaches the client behind its own part of the handshake.
      assertThatThrownBy(
              () -> {
                try (RawClient stranger = tlsClient(keys)) {
                  stranger.peerHello("shop", 2, SECRET);
                }
              })
          .isInstanceOf(IOException.class);
    }
    await().until(() -> counters.closedCount(CloseReason.TLS) == 2);
    assertThat(counters.errorCount()).isEqualTo(2);
    assertThat(raftThreads).isEmpty();
  }

  @Test
  void whatOnlyBeginsLikeTlsIsClosedAndCheap() throws Exception {
    byte[] garbage = new byte[1_000];
    new Random(6).nextBytes(garbage);
    garbage[0] = PeerTls.FIRST_BYTE;
    try (RawClient stranger = new RawClient(address)) {
      stranger.write(garbage);
      while (!stranger.isClosed()) {
        // An alert, perhaps.
      }
    }
    await().until(() -> counters.closedCount(CloseReason.TLS) == 1);
    assertThat(allocator.allocated()).isLessThan(64 << 10);
    try (RawClient stranger = new RawClient(address)) {
      stranger.write(new byte[] {1, 2, 3});
      assertThat(stranger.isClosed()).isTrue();
    }
    assertThat(counters.closedCount(CloseReason.GARBAGE)).isEqualTo(1);
  }

  @Test
  void filesThatAreNoUseAreNamedInOneLine() throws Exception {
    assertThatThrownBy(() -> PeerTls.load(own, 7))
        .isInstanceOf(IOException.class)
        .hasMessage(
            own.certificate()
                + ": the certificate names [broker-1], not broker-7; make one that does");
    Path text = Files.writeString(dir.resolve("text.pem"), "no certificate");
    assertThatThrownBy(() -> PeerTls.load(new PeerTlsFiles(text, own.key(), own.trust()), 1))
        .isInstanceOf(IOException.class)
        .hasMessageStartingWith(text.toString());
    assertThatThrownBy(() -> PeerTls.load(new PeerTlsFiles(own.certificate(), text, text), 1))
        .hasMessageStartingWith(text.toString());
    assertThatThrownBy(
            () -> PeerTls.load(new PeerTlsFiles(own.certificate(), text, own.trust()), 1))
        .hasMessageStartingWith(text + " is no private key for " + own.certificate());
  }
}
