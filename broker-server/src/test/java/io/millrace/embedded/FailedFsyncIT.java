package io.millrace.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.log.SimulatedDisk;
import io.millrace.client.ClientConfig;
import io.millrace.client.FsyncPolicy;
import io.millrace.client.MillraceClient;
import io.millrace.client.Producer;
import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.TopicSpec;
import io.millrace.protocol.message.ReplicaHealth;
import io.millrace.protocol.message.ReplicaStatus;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** One fsync of a partition's log fails on one broker of three. */
@Timeout(180)
class FailedFsyncIT {

  private static final int VICTIM = 2;
  private static final String TOPIC = "ledger";
  private static final long WAIT_MILLIS = 60_000;

  @TempDir Path directory;

  private final Map<Integer, SimulatedDisk> disks = new HashMap<>();
  private final AtomicBoolean armed = new AtomicBoolean();
  private final AtomicBoolean failed = new AtomicBoolean();

  @Test
  void withAlwaysTheReplicaCutsBackAndCatchesUp() throws Exception {
    try (EmbeddedCluster cluster = failOneFsync(FsyncPolicy.ALWAYS)) {
      await(
          cluster,
          "with everything",
          r -> r.getHealth() == ReplicaHealth.HEALTH_OK && r.getLogEnd() == 40);
    }
  }

  @Test
  void withIntervalTheReplicaIsRefilledBeforeItVotesAgain() throws Exception {
    try (EmbeddedCluster cluster = failOneFsync(FsyncPolicy.INTERVAL)) {
      ReplicaStatus replica =
          await(
              cluster,
              "with everything",
              r -> r.getHealth() == ReplicaHealth.HEALTH_OK && r.getLogEnd() == 40);
      assertThat(replica.getRecovery()).contains("was refilled").containsIgnoringCase("fsync");
    }
  }

  @Test
  void theLastOneOfAStopLeavesNoMarkOfACleanStop() throws Exception {
    try (EmbeddedCluster cluster = produceTwenty(FsyncPolicy.OS)) {
      armed.set(true);
      cluster.stop(VICTIM);
      assertThat(failed).isTrue();
      Path lastRun = cluster.dataDirectory(VICTIM).resolve("last-run");
      assertThat(new String(disks.get(VICTIM).content(lastRun), StandardCharsets.UTF_8))
          .contains("clean=false");

      cluster.start(VICTIM);
      ReplicaStatus replica =
          await(
              cluster,
              "that was refilled",
              r -> r.getHealth() == ReplicaHealth.HEALTH_OK && r.getLogEnd() == 20);
      assertThat(replica.getRecovery()).contains("was refilled").containsIgnoringCase("fsync");
    }
  }

  private EmbeddedCluster failOneFsync(FsyncPolicy policy) throws Exception {
    EmbeddedCluster cluster = produceTwenty(policy);
    try {
      armed.set(true);
      produceTwenty(cluster);
      cluster.await("failed fsync", WAIT_MILLIS, failed::get);
      return cluster;
    } catch (Exception | Error e) {
      cluster.close();
      throw e;
    }
  }

  private EmbeddedCluster produceTwenty(FsyncPolicy policy) throws Exception {
    for (int id = 1; id <= 3; id++) {
      disks.put(id, new SimulatedDisk(id));
    }
    SimulatedDisk victim = disks.get(VICTIM);
    victim.beforeSync(
        path -> {
          if (path.toString().contains("topics")
              && path.toString().endsWith(".log")
              && armed.compareAndSet(true, false)) {
            victim.failSync(1);
            failed.set(true);
          }
        });
    EmbeddedCluster cluster =
        EmbeddedCluster.start(
            EmbeddedCluster.Options.of(3)
                .withDirectory(directory)
                .withElectionTimeoutMillis(1000)
                .withDisks(disks::get));
    try (MillraceClient client = MillraceClient.connect(new ClientConfig(cluster.bootstrap()))) {
      client.admin().createTopic(spec(policy)).get(30, TimeUnit.SECONDS);
      produceTwenty(cluster);
      return cluster;
    } catch (Exception | Error e) {
      cluster.close();
      throw e;
    }
  }

  private static TopicSpec spec(FsyncPolicy policy) {
    TopicSpec spec = TopicSpec.of(TOPIC, 1, 3).withFsync(policy);
    return policy == FsyncPolicy.INTERVAL ? spec.withFsyncIntervalMillis(50) : spec;
  }

  private static void produceTwenty(EmbeddedCluster cluster) throws Exception {
    try (MillraceClient client = MillraceClient.connect(new ClientConfig(cluster.bootstrap()));
        Producer producer = client.producer(new ProducerConfig())) {
      for (int i = 0; i < 20; i++) {
        byte[] value = ("value " + i).getBytes(StandardCharsets.UTF_8);
        producer.send(ProducerRecord.of(TOPIC, null, value)).get(60, TimeUnit.SECONDS);
      }
    }
  }

  private static ReplicaStatus await(
      EmbeddedCluster cluster, String what, Predicate<ReplicaStatus> condition) {
    AtomicReference<ReplicaStatus> found = new AtomicReference<>();
    cluster.await(
        "replica " + what,
        WAIT_MILLIS,
        () -> {
          cluster.broker(VICTIM).replicaStatus().stream()
              .filter(replica -> replica.getTopic().equals(TOPIC))
              .filter(condition)
              .forEach(found::set);
          return found.get() != null;
        });
    return found.get();
  }
}
