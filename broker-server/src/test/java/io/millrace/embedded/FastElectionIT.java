package io.millrace.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.client.ClientConfig;
import io.millrace.client.MillraceClient;
import io.millrace.client.OffsetSpec;
import io.millrace.client.Producer;
import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.Receipt;
import io.millrace.client.TopicPartition;
import io.millrace.client.TopicSpec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Elections that need not wait for the election timeout, which is half a minute here. */
@Timeout(180)
class FastElectionIT {

  private static final String TOPIC = "ledger";
  private static final int ELECTION_TIMEOUT_MILLIS = 30_000;

  /** Far below the election timeout, far above what a slow machine needs. */
  private static final long WAIT_MILLIS = 20_000;

  @TempDir Path directory;

  private EmbeddedCluster cluster;

  @BeforeEach
  void start() throws Exception {
    cluster =
        EmbeddedCluster.start(
            EmbeddedCluster.Options.of(3)
                .withDirectory(directory)
                .withElectionTimeoutMillis(ELECTION_TIMEOUT_MILLIS));
    cluster.awaitMetadataLeader(WAIT_MILLIS);
    try (MillraceClient client = connect()) {
      client.admin().createTopic(TopicSpec.of(TOPIC, 1, 3)).get(20, TimeUnit.SECONDS);
    }
  }

  @AfterEach
  void stop() throws IOException {
    cluster.close();
  }

  @Test
  void aLeaderThatDiesIsReplaced() throws Exception {
    Receipt before = produce("before");
    int leader = cluster.leaderOf(TOPIC, 0);
    cluster.kill(leader);
    awaitLeaderOtherThan(leader);
    Receipt after = produce("after");
    assertThat(after.offset()).isEqualTo(before.offset() + 1);
    assertThat(after.term()).isGreaterThan(before.term());
  }

  @Test
  void aLeaderThatFallsSilentIsReplaced() throws Exception {
    Receipt before = produce("before");
    int leader = cluster.leaderOf(TOPIC, 0);
    cluster.isolate(leader);
    cluster.await(
        "another leader",
        WAIT_MILLIS,
        () ->
            cluster.ids().stream()
                .filter(id -> id != leader)
                .anyMatch(id -> leads(id, before.term())));
    cluster.heal();
    assertThat(produce("after").offset()).isEqualTo(before.offset() + 1);
  }

  /** Its lease would last for many seconds more, so the lease alone must not be trusted. */
  @Test
  void aReplacedLeaderThatClientsStillReachSaysNoLatest() throws Exception {
    Receipt before = produce("before");
    int old = cluster.leaderOf(TOPIC, 0);
    List<TopicPartition> asked = List.of(new TopicPartition(TOPIC, 0));
    try (MillraceClient ofOld = MillraceClient.connect(cluster.addressOf(old))) {
      assertThat(latest(ofOld, asked)).isEqualTo(before.offset() + 1);
      cluster.isolate(old);
      cluster.await(
          "another leader",
          WAIT_MILLIS,
          () ->
              cluster.ids().stream()
                  .filter(id -> id != old)
                  .anyMatch(id -> leads(id, before.term())));
      int other = cluster.ids().stream().filter(id -> leads(id, before.term())).findFirst().get();
      Receipt after;
      try (MillraceClient ofNew = MillraceClient.connect(cluster.addressOf(other));
          Producer producer = ofNew.producer(new ProducerConfig())) {
        after =
            producer.send(ProducerRecord.of(TOPIC, null, new byte[1])).get(20, TimeUnit.SECONDS);
      }
      assertThat(after.term()).isGreaterThan(before.term());
      assertThat(latest(ofOld, asked)).isEqualTo(after.offset() + 1);
    }
    cluster.heal();
  }

  private static long latest(MillraceClient client, List<TopicPartition> asked) throws Exception {
    return client
        .admin()
        .listOffsets(asked, OffsetSpec.latest())
        .get(20, TimeUnit.SECONDS)
        .get(asked.get(0))
        .offset();
  }

  @Test
  void afterAStopOfAllAMajorityElectsAtOnce() throws Exception {
    Receipt before = produce("before");
    for (int id : cluster.ids()) {
      cluster.kill(id);
    }
    cluster.start(1);
    cluster.start(3);
    awaitLeaderOtherThan(2);
    assertThat(produce("after").offset()).isEqualTo(before.offset() + 1);
  }

  private boolean leads(int broker, long aboveTerm) {
    return cluster.broker(broker).replicaStatus().stream()
        .anyMatch(
            replica ->
                replica.getTopic().equals(TOPIC)
                    && replica.getLeader() == broker
                    && replica.getTerm() > aboveTerm);
  }

  private void awaitLeaderOtherThan(int broker) {
    cluster.await(
        "another leader",
        WAIT_MILLIS,
        () -> {
          int leader = cluster.leaderOf(TOPIC, 0);
          return leader != 0 && leader != broker;
        });
  }

  private MillraceClient connect() {
    return MillraceClient.connect(new ClientConfig(cluster.bootstrap()));
  }

  private Receipt produce(String text) throws Exception {
    try (MillraceClient client = connect();
        Producer producer = client.producer(new ProducerConfig())) {
      byte[] value = text.getBytes(StandardCharsets.UTF_8);
      return producer.send(ProducerRecord.of(TOPIC, null, value)).get(20, TimeUnit.SECONDS);
    }
  }
}
