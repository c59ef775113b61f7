package io.millrace.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.log.SimulatedDisk;
import io.millrace.client.ClientConfig;
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
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * All machines of a cluster lose power at once, again and again: every page that was not fsynced is
 * kept, lost or torn, in any combination. With {@code fsync=always} nothing acknowledged may be
 * missing, and every partition must be led again.
 *
 * <p>{@code -Dmillrace.powerLossRounds=N} sets the number of losses, {@code
 * -Dmillrace.powerLossSeed=N} repeats a run's choices.
 */
class PowerLossIT {

  private static final int ROUNDS = Integer.getInteger("millrace.powerLossRounds", 8);
  private static final long SEED = Long.getLong("millrace.powerLossSeed", System.nanoTime());
  private static final int PARTITIONS = 3;
  private static final String TOPIC = "ledger";

  @TempDir Path directory;
  private final Random random = new Random(SEED);
  private final Map<Integer, SimulatedDisk> disks = new HashMap<>();

  /** What was acknowledged: value by partition and offset. */
  private final List<Map<Long, String>> acknowledged = new ArrayList<>();

  private int sent;

  @Test
  @Timeout(1800)
  void nothingAcknowledgedIsMissingAfterPowerLossOfAll() throws Exception {
    System.out.println("power loss seed " + SEED);
    for (int id = 1; id <= 3; id++) {
      disks.put(id, new SimulatedDisk(SEED + id));
    }
    for (int p = 0; p < PARTITIONS; p++) {
      acknowledged.add(new HashMap<>());
    }
    EmbeddedCluster.Options options =
        EmbeddedCluster.Options.of(3)
            .withDirectory(directory)
            .withElectionTimeoutMillis(600)
            .withDisks(disks::get);
    try (EmbeddedCluster cluster = EmbeddedCluster.start(options)) {
      try (MillraceClient client = connect(cluster)) {
        client
            .admin()
            .createTopic(TopicSpec.of(TOPIC, PARTITIONS, 3).withSegmentBytes(64 * 1024))
            .get(30, TimeUnit.SECONDS);
      }
      for (int round = 1; round <= ROUNDS; round++) {
        try {
          runUntilPowerLoss(cluster);
          verify(cluster);
          System.out.println("power loss " + round + " of " + ROUNDS + ": whole");
        } catch (Exception | AssertionError e) {
          throw new AssertionError("seed " + SEED + ", round " + round, e);
        }
      }
    }
    assertThat(acknowledged).allSatisfy(partition -> assertThat(partition).isNotEmpty());
  }

  private static MillraceClient connect(EmbeddedCluster cluster) {
    return MillraceClient.connect(
        new ClientConfig(cluster.bootstrap()).withRequestTimeoutMillis(3000));
  }

  private void runUntilPowerLoss(EmbeddedCluster cluster) throws Exception {
    List<CompletableFuture<Receipt>> receipts = new ArrayList<>();
    List<String> values = new ArrayList<>();
    ProducerConfig config =
        new ProducerConfig()
            .withLingerMillis(1)
            .withBatchBytes(2048)
            .withRequestTimeoutMillis(2000)
            .withDeliveryTimeoutMillis(4000);
    try (MillraceClient client = connect(cluster);
        Producer producer = client.producer(config)) {
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(50 + random.nextInt(400));
      while (System.nanoTime() < end) {
        String value = "value " + sent++ + " " + "x".repeat(random.nextInt(300));
        values.add(value);
        receipts.add(
            producer.sendBlocking(
                new ProducerRecord(
                    TOPIC, random.nextInt(PARTITIONS), null, bytes(value), List.of(), null),
                5000));
      }
      disks.values().forEach(SimulatedDisk::kill);
      for (int id : cluster.ids()) {
        cluster.kill(id);
      }
      producer.close(0);
    }
    for (int i = 0; i < receipts.size(); i++) {
      CompletableFuture<Receipt> receipt = receipts.get(i);
      if (receipt.isDone() && !receipt.isCompletedExceptionally()) {
        Receipt r = receipt.join();
        String before = acknowledged.get(r.partition()).put(r.offset(), values.get(i));
        assertThat(before).as("offset %d was acknowledged twice", r.offset()).isNull();
      }
    }
    disks.values().forEach(SimulatedDisk::powerLoss);
    disks.values().forEach(SimulatedDisk::restart);
  }

  private void verify(EmbeddedCluster cluster) throws IOException {
    for (int id : cluster.ids()) {
      cluster.start(id);
    }
    for (int p = 0; p < PARTITIONS; p++) {
      int partition = p;
      cluster.await(
          "leader of partition " + p, 30_000, () -> cluster.leaderOf(TOPIC, partition) != 0);
    }
    try (MillraceClient client = connect(cluster);
        Reader reader = client.reader(new ReaderConfig().withStart(OffsetSpec.earliest()))) {
      reader.assignAll(TOPIC);
      Map<String, Integer> seen = new HashMap<>();
      long[] next = new long[PARTITIONS];
      long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      while (!complete(next, reader)) {
        assertThat(System.nanoTime()).as("reading ends in time").isLessThan(deadline);
        for (ReceivedRecord record : reader.poll(500)) {
          String value = new String(record.value(), StandardCharsets.UTF_8);
          assertThat(record.offset()).as("dense offsets").isEqualTo(next[record.partition()]++);
          assertThat(seen.merge(value, 1, Integer::sum)).as("copies of " + value).isEqualTo(1);
          String expected = acknowledged.get(record.partition()).get(record.offset());
          if (expected != null) {
            assertThat(value).as("record at %d", record.offset()).isEqualTo(expected);
          }
        }
      }
      for (int p = 0; p < PARTITIONS; p++) {
        long end = next[p];
        assertThat(acknowledged.get(p).keySet())
            .as("acknowledged offsets of partition %d, which ends at %d", p, end)
            .allMatch(offset -> offset < end);
      }
    }
  }

  private boolean complete(long[] next, Reader reader) {
    return reader.endOffsets().entrySet().stream()
        .allMatch(end -> next[end.getKey().partition()] >= end.getValue());
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
