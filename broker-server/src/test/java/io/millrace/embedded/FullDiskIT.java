package io.millrace.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.broker.log.DiskSpace;
import io.millrace.broker.log.SimulatedDisk;
import io.millrace.client.ClientConfig;
import io.millrace.client.FsyncPolicy;
import io.millrace.client.MillraceClient;
import io.millrace.client.OffsetSpec;
import io.millrace.client.Producer;
import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.Reader;
import io.millrace.client.ReaderConfig;
import io.millrace.client.Receipt;
import io.millrace.client.ReceivedRecord;
import io.millrace.client.TopicSpec;
import io.millrace.protocol.message.ReplicaHealth;
import io.millrace.protocol.message.ReplicaStatus;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Disks that are full, by records or by somebody else's file: a state, not an accident. */
@Timeout(240)
class FullDiskIT {

  private static final long WAIT_MILLIS = 60_000;
  private static final int DISK_BYTES = 24 << 20;
  private static final String TOPIC = "ledger";

  @TempDir Path directory;

  private final Random random = new Random(1);
  private final Map<Integer, SimulatedDisk> disks = new HashMap<>();
  private EmbeddedCluster cluster;

  /** Acknowledged while waiting for a refusal. */
  private int extra;

  @BeforeEach
  void start() throws Exception {
    for (int id = 1; id <= 3; id++) {
      disks.put(id, new SimulatedDisk(id));
      disks.get(id).capacity(DISK_BYTES);
    }
    cluster =
        EmbeddedCluster.start(
            EmbeddedCluster.Options.of(3).withDirectory(directory).withDisks(disks::get));
    create(TOPIC);
  }

  @AfterEach
  void stop() throws IOException {
    cluster.close();
  }

  @Test
  void recordsStopBeforeTheDiskIsFullAndDeletingATopicMakesRoom() throws Exception {
    int acknowledged = produceUntilRefused(TOPIC);
    assertThat(acknowledged).isGreaterThan(100);
    for (SimulatedDisk disk : disks.values()) {
      assertThat(disk.usableBytes(directory)).as("room that is left").isPositive();
    }
    // More topics would need more room; reading and deleting do not.
    assertThatThrownBy(() -> create("another")).hasMessageContaining("DISK_FULL");
    assertThat(read(TOPIC)).isGreaterThanOrEqualTo(acknowledged);
    try (MillraceClient client = connect()) {
      client.admin().deleteTopic(TOPIC).get(30, TimeUnit.SECONDS);
    }
    cluster.await("room", WAIT_MILLIS, () -> tryCreate("after"));
    assertThat(produce("after", 20)).isEqualTo(20);
  }

  /** To the last byte, by somebody else: everything waits, nothing is lost, nobody restarts it. */
  @Test
  void afterAForeignFileIsGoneItGoesOnByItself() throws Exception {
    produce(TOPIC, 50);
    disks.values().forEach(FullDiskIT::fill);
    cluster.await("notice", WAIT_MILLIS, () -> refusedWithDiskFull());
    assertThat(read(TOPIC)).isEqualTo(50 + extra);

    // A broker starts, and a leader is elected, on a disk without a free byte.
    cluster.stop(cluster.leaderOf(TOPIC, 0) == 2 ? 2 : 1);
    int stopped = cluster.isRunning(1) ? 2 : 1;
    cluster.start(stopped);
    cluster.await("leader", WAIT_MILLIS, () -> cluster.leaderOf(TOPIC, 0) != 0);
    assertThat(read(TOPIC)).isEqualTo(50 + extra);

    disks.values().forEach(disk -> disk.lose(FOREIGN));
    assertThat(produce(TOPIC, 50)).isEqualTo(50);
    assertThat(read(TOPIC)).isEqualTo(100 + extra);
    for (int id : cluster.ids()) {
      cluster.await(
          "sound replica on broker " + id,
          WAIT_MILLIS,
          () ->
              replicas(id).stream()
                  .anyMatch(
                      r ->
                          r.getHealth() == ReplicaHealth.HEALTH_OK
                              && r.getLogEnd() == 100 + extra));
      cluster.await(
          "reserve of broker " + id,
          WAIT_MILLIS,
          () -> disks.get(id).exists(cluster.dataDirectory(id).resolve(DiskSpace.RESERVE_FILE)));
    }
  }

  /**
   * No fsync failed, so what was written before, and acknowledged, is not to be cut off. One
   * replica, so that no other one can make up for it.
   */
  @Test
  void underOsAFailedWriteCostsNothingAcknowledged() throws Exception {
    String topic = "loose";
    try (MillraceClient client = connect()) {
      client
          .admin()
          .createTopic(TopicSpec.of(topic, 1, 1).withFsync(FsyncPolicy.OS))
          .get(30, TimeUnit.SECONDS);
    }
    int acknowledged = produce(topic, 50);
    try (MillraceClient client = connect();
        Producer producer = producer(client, 3000)) {
      // On their way before anybody has looked at the disk: a write itself fails.
      List<CompletableFuture<Receipt>> receipts = new ArrayList<>();
      for (int i = 0; i < 300; i++) {
        receipts.add(producer.send(record(topic)));
      }
      receipts.get(0).get(30, TimeUnit.SECONDS);
      disks.values().forEach(FullDiskIT::fill);
      for (CompletableFuture<Receipt> each : receipts) {
        acknowledged += each.handle((r, failure) -> failure == null ? 1 : 0).get();
      }
    }
    disks.values().forEach(disk -> disk.lose(FOREIGN));
    acknowledged += produce(topic, 20);
    assertThat(read(topic)).isGreaterThanOrEqualTo(acknowledged);
  }

  /** One follower's disk is full: the others go on, and it catches up when there is room. */
  @Test
  void aFullFollowerHoldsNobodyUp() throws Exception {
    produce(TOPIC, 20);
    int follower = cluster.leaderOf(TOPIC, 0) == 3 ? 2 : 3;
    fill(disks.get(follower));
    cluster.await(
        "notice",
        WAIT_MILLIS,
        () ->
            !disks
                .get(follower)
                .exists(cluster.dataDirectory(follower).resolve(DiskSpace.RESERVE_FILE)));
    // What the reserve gave back is taken too.
    disks.get(follower).lose(FOREIGN);
    fill(disks.get(follower));
    assertThat(produce(TOPIC, 200)).isEqualTo(200);
    disks.get(follower).lose(FOREIGN);
    cluster.await(
        "catching up",
        WAIT_MILLIS,
        () -> replicas(follower).stream().anyMatch(r -> r.getLogEnd() == 220));
  }

  // ----------------------------------------------------------------------------------------
  // helpers

  private static final Path FOREIGN = Path.of("/foreign");

  private static void fill(SimulatedDisk disk) {
    disk.put(FOREIGN, new byte[(int) disk.usableBytes(FOREIGN)]);
  }

  private MillraceClient connect() {
    return MillraceClient.connect(
        new ClientConfig(cluster.bootstrap()).withRequestTimeoutMillis(5000));
  }

  private void create(String topic) throws Exception {
    try (MillraceClient client = connect()) {
      client
          .admin()
          .createTopic(TopicSpec.of(topic, 1, 3).withSegmentBytes(1 << 20))
          .get(30, TimeUnit.SECONDS);
    }
  }

  private boolean tryCreate(String topic) {
    try {
      create(topic);
      return true;
    } catch (ExecutionException refused) {
      assertThat(refused).hasMessageContaining("DISK_FULL");
      return false;
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private Producer producer(MillraceClient client, int deliveryMillis) {
    return client.producer(
        new ProducerConfig()
            .withBatchBytes(64 * 1024)
            .withDeliveryTimeoutMillis(deliveryMillis)
            .withRequestTimeoutMillis(Math.min(deliveryMillis, 5000)));
  }

  private ProducerRecord record(String topic) {
    byte[] value = new byte[8 * 1024];
    random.nextBytes(value);
    return ProducerRecord.of(topic, null, value);
  }

  private int produce(String topic, int count) throws Exception {
    try (MillraceClient client = connect();
        Producer producer = producer(client, 60_000)) {
      List<CompletableFuture<Receipt>> receipts = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        receipts.add(producer.send(record(topic)));
      }
      for (CompletableFuture<Receipt> each : receipts) {
        each.get(90, TimeUnit.SECONDS);
      }
      return receipts.size();
    }
  }

  private int produceUntilRefused(String topic) throws Exception {
    try (MillraceClient client = connect();
        Producer producer = producer(client, 3000)) {
      for (int acknowledged = 0; ; acknowledged++) {
        try {
          producer.send(record(topic)).get(30, TimeUnit.SECONDS);
        } catch (ExecutionException refused) {
          assertThat(refused).hasMessageContaining("nearly full");
          return acknowledged;
        }
        assertThat(acknowledged * 8192L).isLessThan(DISK_BYTES);
      }
    }
  }

  private boolean refusedWithDiskFull() {
    try (MillraceClient client = connect();
        Producer producer = producer(client, 1500)) {
      producer.send(record(TOPIC)).get(30, TimeUnit.SECONDS);
      extra++;
      return false;
    } catch (ExecutionException refused) {
      return String.valueOf(refused.getMessage()).contains("nearly full");
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private int read(String topic) {
    try (MillraceClient client = connect();
        Reader reader = client.reader(new ReaderConfig().withStart(OffsetSpec.earliest()))) {
      reader.assignAll(topic);
      int seen = 0;
      long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(WAIT_MILLIS);
      while (seen == 0 || reader.endOffsets().values().stream().anyMatch(end -> end > 0)) {
        assertThat(System.nanoTime()).as("reading ends in time").isLessThan(deadline);
        List<ReceivedRecord> records = reader.poll(500);
        seen += records.size();
        long end = reader.endOffsets().values().stream().mapToLong(Long::longValue).sum();
        if (seen > 0 && seen >= end) {
          return seen;
        }
      }
      return seen;
    }
  }

  private List<ReplicaStatus> replicas(int broker) {
    return cluster.broker(broker).replicaStatus().stream()
        .filter(replica -> replica.getTopic().equals(TOPIC))
        .toList();
  }
}
