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

  @Test
  void withAlwaysTheReplicaCutsBackAndCatchesUp() throws Exception {
    try (EmbeddedCluster cluster = failOneFsync(FsyncPolicy.ALWAYS)) {
      cluster.await(
          "replica with everything",
          WAIT_MILLIS,
          () -> {
            ReplicaStatus replica = replica(cluster);
            return replica.getHealth() == ReplicaHealth.HEALTH_OK && replica.getLogEnd() == 40;
          });
    }
  }

  @Test
  void withIntervalTheReplicaDoesNotVoteAnyMore() throws Exception {
    try (EmbeddedCluster cluster = failOneFsync(FsyncPolicy.INTERVAL)) {
      cluster.await(
          "replica that does not vote",
          WAIT_MILLIS,
          () -> replica(cluster).getHealth() == ReplicaHealth.HEALTH_NO_VOTE);
      assertThat(replica(cluster).getReason()).containsIgnoringCase("fsync");
    }
  }

  private EmbeddedCluster failOneFsync(FsyncPolicy policy) throws Exception {
    Map<Integer, SimulatedDisk> disks = new HashMap<>();
    for (int id = 1; id <= 3; id++) {
      disks.put(id, new SimulatedDisk(id));
    }
    AtomicBoolean armed = new AtomicBoolean();
    AtomicBoolean failed = new AtomicBoolean();
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
    try (MillraceClient client = MillraceClient.connect(new ClientConfig(cluster.bootstrap()));
        Producer producer = client.producer(new ProducerConfig())) {
      client.admin().createTopic(spec(policy)).get(30, TimeUnit.SECONDS);
      produce(producer, 20);
      armed.set(true);
      produce(producer, 20);
      cluster.await("failed fsync", WAIT_MILLIS, failed::get);
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

  private static void produce(Producer producer, int count) throws Exception {
    for (int i = 0; i < count; i++) {
      byte[] value = ("value " + i).getBytes(StandardCharsets.UTF_8);
      producer.send(ProducerRecord.of(TOPIC, null, value)).get(60, TimeUnit.SECONDS);
    }
  }

  private static ReplicaStatus replica(EmbeddedCluster cluster) {
    return cluster.broker(VICTIM).replicaStatus().stream()
        .filter(replica -> replica.getTopic().equals(TOPIC))
        .findFirst()
        .orElseThrow();
  }
}
