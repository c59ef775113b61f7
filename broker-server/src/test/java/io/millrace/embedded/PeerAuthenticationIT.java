package io.millrace.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.millrace.broker.ClusterSecretFile;
import io.millrace.broker.TestCertificates;
import io.millrace.broker.net.RawClient;
import io.millrace.broker.raft.transport.ClusterSecret;
import io.millrace.broker.raft.transport.PeerTlsFiles;
import io.millrace.client.ClientConfig;
import io.millrace.client.MillraceClient;
import io.millrace.client.Producer;
import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.Receipt;
import io.millrace.client.TopicSpec;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.protocol.message.Gauge;
import io.millrace.protocol.message.RaftHeader;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Whole brokers: who is let in as one of them, with the secret alone and over TLS. */
@Timeout(180)
class PeerAuthenticationIT {

  private static final long WAIT_MILLIS = 30_000;

  @TempDir Path dir;
  private EmbeddedCluster cluster;
  private MillraceClient client;

  @AfterEach
  void stop() throws Exception {
    if (client != null) {
      client.close();
    }
    if (cluster != null) {
      cluster.close();
    }
  }

  private void start(EmbeddedCluster.Options options) throws Exception {
    cluster = EmbeddedCluster.start(options);
    client = MillraceClient.connect(new ClientConfig(cluster.bootstrap()));
  }

  private RawClient connect(int broker) throws IOException {
    InetSocketAddress address = cluster.broker(broker).address();
    return new RawClient(new InetSocketAddress(address.getHostString(), address.getPort()));
  }

  private ClusterSecret secret() {
    return ClusterSecretFile.read(cluster.secretFile());
  }

  private long gauge(int broker, String name) throws Exception {
    return status(broker).getGaugesList().stream()
        .filter(gauge -> gauge.getName().equals(name))
        .mapToLong(Gauge::getUsed)
        .findFirst()
        .orElseThrow();
  }

  /** By a client of its own: a broker that was started again listens at another port. */
  private BrokerStatusResponse status(int broker) throws Exception {
    try (MillraceClient own = MillraceClient.connect(cluster.addressOf(broker))) {
      return own.admin().brokerStatus(broker).get(20, TimeUnit.SECONDS);
    }
  }

  private void produce(String topic, int count) throws Exception {
    List<CompletableFuture<Receipt>> receipts = new ArrayList<>();
    try (Producer producer = client.producer(new ProducerConfig())) {
      for (int i = 0; i < count; i++) {
        byte[] value = ("v" + i).getBytes(StandardCharsets.UTF_8);
        receipts.add(producer.sendBlocking(ProducerRecord.of(topic, null, value), WAIT_MILLIS));
      }
      for (CompletableFuture<Receipt> receipt : receipts) {
        receipt.get(60, TimeUnit.SECONDS);
      }
    }
  }

  private void awaitConnected(int broker, int other) {
    cluster.await(
        broker + " knows " + other,
        WAIT_MILLIS,
        () -> cluster.broker(broker).knowsPeer(other) && cluster.broker(other).knowsPeer(broker));
  }

  /** A broker that is its whole cluster has no peer, so each message would be a stranger's. */
  @Test
  void noRaftMessageOfAStrangerIsParsed() throws Exception {
    start(EmbeddedCluster.Options.of(1));
    long term = status(1).getReplicas(0).getTerm();
    String group = status(1).getReplicas(0).getGroup() + "-" + cluster.clusterId();
    RaftHeader vote = RaftHeader.newBuilder().setType(1).setGroup(group).build();
    try (RawClient stranger = connect(1)) {
      stranger.send(ApiKind.RAFT, 1, vote, new byte[50]);
      assertThat(stranger.read().error().getCode()).isEqualTo(ErrorCode.UNAUTHENTICATED.number());
      assertThat(stranger.isClosed()).isTrue();
    }
    try (RawClient stranger = connect(1)) {
      RawClient.Answer answer = stranger.peerHello(cluster.clusterId(), 2, ClusterSecret.random());
      assertThat(answer.error().getCode()).isEqualTo(ErrorCode.UNAUTHENTICATED.number());
      assertThat(stranger.isClosed()).isTrue();
    }
    try (RawClient stranger = connect(1)) {
      stranger.write(new byte[] {22, 3, 1, 2, 0});
      assertThat(stranger.isClosed()).isTrue();
    }
    assertThat(gauge(1, "raft.messages.in")).isZero();
    assertThat(gauge(1, "net.closed.unauthenticated")).isEqualTo(2);
    assertThat(gauge(1, "net.closed.garbage")).isEqualTo(1);
    assertThat(status(1).getReplicas(0).getTerm()).isEqualTo(term);

    try (RawClient broker = connect(1)) {
      assertThat(broker.peerHello(cluster.clusterId(), 2, secret()).error().getCode()).isZero();
      broker.send(ApiKind.RAFT, 3, vote, new byte[50]);
      broker.read();
    }
    assertThat(gauge(1, "raft.messages.in")).isEqualTo(1);
    assertThat(status(1).getReplicas(0).getTerm()).isEqualTo(term);
  }

  @Test
  void aBrokerWithAnotherSecretStaysOutUntilItHasTheRightOne() throws Exception {
    start(EmbeddedCluster.Options.of(3).withDirectory(dir));
    client.admin().createTopic(TopicSpec.of("orders", 2, 3)).get(30, TimeUnit.SECONDS);
    produce("orders", 50);
    cluster.stop(3);
    String right = Files.readString(cluster.secretFile());
    Files.writeString(cluster.secretFile(), ClusterSecret.random().print());
    cluster.start(3);

    await()
        .atMost(WAIT_MILLIS, TimeUnit.MILLISECONDS)
        .until(() -> gauge(1, "net.closed.unauthenticated") > 3);
    assertThat(cluster.broker(1).knowsPeer(3)).isFalse();
    assertThat(cluster.broker(2).knowsPeer(3)).isFalse();
    assertThat(cluster.broker(3).knowsPeer(1)).isFalse();
    assertThat(cluster.broker(3).knowsPeer(2)).isFalse();
    assertThat(cluster.broker(3).metadataLeader()).isZero();
    produce("orders", 50);

    cluster.stop(3);
    Files.writeString(cluster.secretFile(), right);
    cluster.start(3);
    awaitConnected(1, 3);
    awaitConnected(2, 3);
    produce("orders", 50);
    assertThat(cluster.fatalErrors()).isEmpty();
  }

  @Test
  void brokersTalkOverTlsAndToNobodyWithoutIt() throws Exception {
    TestCertificates own = new TestCertificates(dir.resolve("own"));
    Map<Integer, PeerTlsFiles> files = new ConcurrentHashMap<>();
    files.put(1, own.withDnsName("broker-1"));
    files.put(2, own.withDnsName("broker-2"));
    files.put(3, own.withCommonName("broker-3"));
    start(EmbeddedCluster.Options.of(3).withPeerTls(files::get));
    client.admin().createTopic(TopicSpec.of("orders", 3, 3)).get(30, TimeUnit.SECONDS);
    produce("orders", 3_000);

    // The secret alone is not enough.
    try (RawClient plain = connect(1)) {
      RawClient.Answer refused = plain.peerHello(cluster.clusterId(), 2, secret());
      assertThat(refused.error().getCode()).isEqualTo(ErrorCode.UNAUTHENTICATED.number());
      assertThat(refused.error().getText()).startsWith("broker 2 came without TLS");
      assertThat(plain.isClosed()).isTrue();
    }

    int leader = cluster.leaderOf("orders", 0);
    cluster.kill(leader);
    produce("orders", 100);
    cluster.start(leader);
    for (int id : cluster.ids()) {
      if (id != leader) {
        awaitConnected(leader, id);
      }
    }
    produce("orders", 100);

    // Somebody else's authority: nobody lets it in.
    cluster.stop(3);
    files.put(3, new TestCertificates(dir.resolve("foreign")).withDnsName("broker-3"));
    cluster.start(3);
    await()
        .atMost(WAIT_MILLIS, TimeUnit.MILLISECONDS)
        .ignoreExceptions() // Its new address becomes known by and by.
        .until(() -> gauge(1, "net.closed.tls") > 3);
    assertThat(cluster.broker(1).knowsPeer(3)).isFalse();
    assertThat(cluster.broker(3).knowsPeer(1)).isFalse();
    produce("orders", 100);
  }
}
