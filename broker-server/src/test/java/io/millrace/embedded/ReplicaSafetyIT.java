package io.millrace.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.DataDirectory;
import io.millrace.broker.log.DirectDisk;
import io.millrace.client.ClientConfig;
import io.millrace.client.MillraceClient;
import io.millrace.client.Producer;
import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.Receipt;
import io.millrace.client.TopicSpec;
import io.millrace.protocol.message.ReplicaHealth;
import io.millrace.protocol.message.ReplicaStatus;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Replicas whose files lie: an older copy, an empty directory, a new one under an old id. None may
 * vote or acknowledge before it has what it lost.
 */
@Timeout(180)
class ReplicaSafetyIT {

  private static final String TOPIC = "ledger";
  private static final long WAIT_MILLIS = 60_000;

  @TempDir Path directory;
  private EmbeddedCluster cluster;

  @BeforeEach
  void start() throws Exception {
    cluster =
        EmbeddedCluster.start(
            EmbeddedCluster.Options.of(3)
                .withDirectory(directory.resolve("brokers"))
                .withElectionTimeoutMillis(1000));
    try (MillraceClient client = connect()) {
      client.admin().createTopic(TopicSpec.of(TOPIC, 1, 3)).get(30, TimeUnit.SECONDS);
    }
  }

  @AfterEach
  void stop() throws IOException {
    cluster.close();
  }

  /**
   * Without AppendEntriesGuard, JRaft answers "stored" for the entries that broker 3 has otherwise.
   */
  @Test
  void aReplicaWithOtherCommittedEntriesStopsInsteadOfAcknowledging() throws Exception {
    produce("before", 5);
    stopAll(1, 2, 3);
    Path copy = directory.resolve("copy");
    for (int id : List.of(1, 2)) {
      copyTree(cluster.dataDirectory(id), copy.resolve("broker-" + id));
    }
    startAll(1, 2, 3);
    produce("committed on all", 20);
    stopAll(1, 2);
    // Every hand-over and every try of the last one alone raises the term.
    long termSeen = replicaOf(3).getTerm() + 1;
    cluster.stop(3);

    // Two brokers forget what they acknowledged: more than Raft can bear, so only detection is
    // left.
    for (int id : List.of(1, 2)) {
      deleteTree(cluster.dataDirectory(id));
      copyTree(copy.resolve("broker-" + id), cluster.dataDirectory(id));
    }
    // Terms are what tells histories apart: few entries until theirs is above all that broker 3
    // knows, then more than it has.
    int lives = 0;
    for (long term = 0; term <= termSeen; lives++) {
      startAll(1, 2);
      term = produce("raises the term", 1).term();
      stopAll(1, 2);
    }
    startAll(1, 2);
    produce("history of two", 30);
    stopAll(1, 2);
    startAll(1, 2);
    awaitLeader();
    cluster.start(3);

    // It is completed from the others, and what it had otherwise is kept beside its log.
    long end = produce("goes on", 3).offset();
    assertThat(end).isEqualTo(5 + lives + 30 + 3 - 1);
    ReplicaStatus refilled = awaitRefilled(3);
    assertThat(refilled.getRecovery())
        .contains("was refilled: divergence")
        .contains("is committed here in term");
    cluster.await("the others' records", WAIT_MILLIS, () -> replicaOf(3).getLogEnd() == end + 1);
    try (Stream<Path> files = Files.walk(partitionDirectory(3))) {
      assertThat(files.filter(file -> file.toString().contains("aside-")).toList()).isNotEmpty();
    }
  }

  /**
   * Broker 3 is away and has nothing new: with broker 2 it could elect a leader without records.
   */
  @Test
  void aReplicaWithoutItsDirectoryDoesNotVoteUntilItIsCompleted() throws Exception {
    withoutItsFiles(EmptyBy.DIRECTORY);
  }

  @Test
  void aReplicaWithoutItsSegmentsDoesNotVoteUntilItIsCompleted() throws Exception {
    withoutItsFiles(EmptyBy.SEGMENTS);
  }

  private enum EmptyBy {
    DIRECTORY,
    SEGMENTS
  }

  private void withoutItsFiles(EmptyBy how) throws Exception {
    produce("some", 5);
    cluster.stop(3);
    long end = produce("on two", 5).offset() + 1;
    stopAll(1, 2);
    try (Stream<Path> files = Files.list(partitionDirectory(2))) {
      for (Path file : files.filter(f -> !f.endsWith("replica.id")).toList()) {
        Files.delete(file);
      }
    }
    if (how == EmptyBy.DIRECTORY) {
      deleteTree(partitionDirectory(2));
    }
    startAll(2, 3);
    ReplicaStatus lost = awaitHealth(2, ReplicaHealth.HEALTH_NO_VOTE);
    assertThat(lost.getReason())
        .contains(
            how == EmptyBy.DIRECTORY ? "directory was missing or empty" : "no segment is left");
    cluster.await(
        "refill that waits for broker 1",
        WAIT_MILLIS,
        () -> replicaOf(2).getRefill().getStep().contains("broker 1"));
    assertThat(cluster.leaderOf(TOPIC, 0)).isZero();

    cluster.start(1);
    awaitRefilled(2);
    cluster.await("all records", WAIT_MILLIS, () -> replicaOf(2).getLogEnd() == end);
    produce("goes on", 5);
  }

  /** Broker 2 acknowledged; wiped, it must not help to elect a leader without those records. */
  @Test
  void aWipedBrokerUnderItsOldIdCanNeitherVoteNorJoin() throws Exception {
    produce("some", 5);
    cluster.stop(2);
    deleteTree(cluster.dataDirectory(2));
    DataDirectory.format(
        new DirectDisk(), cluster.dataDirectory(2), cluster.clusterId(), 2, cluster.ids());
    cluster.start(2);
    cluster.stop(1);

    // One good broker and one wiped: no majority, neither for the partition nor for the metadata.
    assertThat(cluster.broker(3).knowsPeer(2)).isFalse();
    cluster.await("step-down of broker 3", WAIT_MILLIS, () -> !cluster.broker(3).leadsMetadata());
    assertThat(cluster.broker(2).metadataLeader()).isZero();

    cluster.start(1);
    awaitLeader();
    produce("goes on with 1 and 3", 5);
    assertThat(cluster.broker(2).replicaStatus())
        .extracting(ReplicaStatus::getGroup)
        .containsExactly("meta");
  }

  // ----------------------------------------------------------------------------------------
  // helpers

  private MillraceClient connect() {
    return MillraceClient.connect(
        new ClientConfig(cluster.bootstrap()).withRequestTimeoutMillis(5000));
  }

  private Receipt produce(String text, int count) throws Exception {
    awaitLeader();
    Receipt last = null;
    try (MillraceClient client = connect();
        Producer producer =
            client.producer(new ProducerConfig().withDeliveryTimeoutMillis(20_000))) {
      for (int i = 0; i < count; i++) {
        byte[] value = (text + " " + i).getBytes(StandardCharsets.UTF_8);
        last = producer.send(ProducerRecord.of(TOPIC, null, value)).get(20, TimeUnit.SECONDS);
      }
    }
    return last;
  }

  private void awaitLeader() {
    cluster.await("leader", WAIT_MILLIS, () -> cluster.leaderOf(TOPIC, 0) != 0);
  }

  private ReplicaStatus replicaOf(int broker) {
    return cluster.broker(broker).replicaStatus().stream()
        .filter(ReplicaSafetyIT::isOfTopic)
        .findFirst()
        .orElseThrow();
  }

  private static boolean isOfTopic(ReplicaStatus replica) {
    return replica.getTopic().equals(TOPIC);
  }

  private ReplicaStatus awaitRefilled(int broker) {
    return awaitHealth(
        broker,
        ReplicaHealth.HEALTH_OK,
        replica -> isOfTopic(replica) && replica.getRecovery().contains("was refilled"));
  }

  private ReplicaStatus awaitHealth(int broker, ReplicaHealth health) {
    return awaitHealth(broker, health, ReplicaSafetyIT::isOfTopic);
  }

  private ReplicaStatus awaitHealth(int broker, ReplicaHealth health, Predicate<ReplicaStatus> of) {
    ReplicaStatus[] found = new ReplicaStatus[1];
    cluster.await(
        health + " on broker " + broker,
        WAIT_MILLIS,
        () -> {
          for (ReplicaStatus replica : cluster.broker(broker).replicaStatus()) {
            if (of.test(replica) && replica.getHealth() == health) {
              found[0] = replica;
              return true;
            }
          }
          return false;
        });
    return found[0];
  }

  private void stopAll(int... ids) {
    for (int id : ids) {
      cluster.stop(id);
    }
  }

  private void startAll(int... ids) throws IOException {
    for (int id : ids) {
      cluster.start(id);
    }
  }

  private Path partitionDirectory(int broker) throws IOException {
    try (Stream<Path> topics = Files.list(cluster.dataDirectory(broker).resolve("topics"))) {
      return topics.findFirst().orElseThrow();
    }
  }

  private static void copyTree(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      files.forEach(
          file -> {
            try {
              Path target = to.resolve(from.relativize(file).toString());
              if (Files.isDirectory(file)) {
                Files.createDirectories(target);
              } else {
                Files.copy(file, target);
              }
            } catch (IOException e) {
              throw new UncheckedIOException(e);
            }
          });
    }
  }

  private static void deleteTree(Path root) throws IOException {
    try (Stream<Path> files = Files.walk(root)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
