package io.millrace.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.log.FsyncPolicy;
import io.millrace.broker.log.LogConfig;
import io.millrace.broker.log.LogIdentity;
import io.millrace.broker.log.LogListener;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.log.RecoveryHint;
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
import io.millrace.protocol.message.ReplicaHealth;
import io.millrace.protocol.message.ReplicaStatus;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Replicas that lost a part of what they acknowledged get it back from the others, by themselves,
 * and do not vote before.
 */
@Timeout(240)
class RefillIT {

  private static final String TOPIC = "ledger";
  private static final long WAIT_MILLIS = 60_000;
  private static final int SEGMENT_BYTES = 64 * 1024;
  private static final long SEED = Long.getLong("millrace.refillSeed", System.nanoTime());

  @TempDir Path directory;

  private final Random random = new Random(SEED);
  private final Map<Integer, SimulatedDisk> disks = new HashMap<>();
  private final TreeMap<Long, String> acknowledged = new TreeMap<>();
  private EmbeddedCluster cluster;
  private int sent;

  private void start(io.millrace.client.FsyncPolicy fsync) throws Exception {
    start(fsync, 3_600_000);
  }

  private void start(io.millrace.client.FsyncPolicy fsync, long scrubMillis) throws Exception {
    System.out.println("refill seed " + SEED);
    for (int id = 1; id <= 3; id++) {
      disks.put(id, new SimulatedDisk(SEED + id));
    }
    cluster =
        EmbeddedCluster.start(
            EmbeddedCluster.Options.of(3)
                .withDirectory(directory)
                .withDisks(disks::get)
                .withScrubIntervalMillis(scrubMillis));
    try (MillraceClient client = connect()) {
      TopicSpec topic = TopicSpec.of(TOPIC, 1, 3).withSegmentBytes(SEGMENT_BYTES).withFsync(fsync);
      client.admin().createTopic(topic).get(30, TimeUnit.SECONDS);
    }
  }

  @AfterEach
  void stop() throws IOException {
    if (cluster != null) {
      cluster.close();
    }
  }

  // ---------------------------------------------------------------------------------- damaged
  // files

  @Test
  void aFlippedBitBelowTheSyncMark() throws Exception {
    start(io.millrace.client.FsyncPolicy.ALWAYS);
    produce(300);
    cluster.stop(3);
    // A start reads only what stands behind the newest checkpoint.
    Path last = segments(3).get(segments(3).size() - 1);
    disks.get(3).flip(last, disks.get(3).content(last).length - 1, 2);
    cluster.start(3);

    ReplicaStatus repaired = awaitRefilled(3);
    assertThat(repaired.getRecovery()).contains("was refilled: damaged log");
    assertThat(asideFiles(3)).as("the damaged segment is kept").isNotEmpty();
    produce(50);
    assertWhole();
  }

  /** In a closed segment of a running broker, which nobody reads: the scrub finds it. */
  @Test
  void aFlippedBitThatNobodyReads() throws Exception {
    start(io.millrace.client.FsyncPolicy.ALWAYS, 200);
    produce(300);
    int leader = leader();
    Path closed = segments(leader).get(0);
    byte[] before = disks.get(leader).content(closed);
    disks.get(leader).flip(closed, 30_000, 5);

    ReplicaStatus repaired = awaitRefilled(leader);
    assertThat(repaired.getRecovery()).contains("was refilled: damaged log");
    assertThat(disks.get(leader).content(segments(leader).get(0))).isEqualTo(before);
    produce(50);
    assertWhole();
  }

  /** The leader sends what is on its disk; whoever reads it tells it so, and reads on elsewhere. */
  @Test
  void aFlippedBitThatAReaderMeets() throws Exception {
    start(io.millrace.client.FsyncPolicy.ALWAYS);
    produce(300);
    int leader = leader();
    disks.get(leader).flip(segments(leader).get(0), 30_000, 5);
    readAll();
    assertThat(awaitRefilled(leader).getRecovery()).contains("was refilled: damaged log");
    assertWhole();
  }

  @Test
  void lostSegments() throws Exception {
    start(io.millrace.client.FsyncPolicy.ALWAYS);
    produce(300);
    cluster.stop(3);
    segments(3).forEach(disks.get(3)::lose);
    cluster.start(3);
    assertThat(awaitRefilled(3).getRecovery()).contains("no segment is left");
    assertWhole();
  }

  @Test
  void aLostDirectory() throws Exception {
    start(io.millrace.client.FsyncPolicy.ALWAYS);
    produce(300);
    cluster.stop(3);
    Path lost = replicaDirectory(3);
    for (Path path : List.copyOf(disks.get(3).allContent().keySet())) {
      if (path.startsWith(lost)) {
        disks.get(3).lose(path);
      }
    }
    cluster.start(3);
    assertThat(awaitRefilled(3).getRecovery()).contains("directory was missing or empty");
    assertWhole();
  }

  @Test
  void aDirectoryLostWhileTheBrokerRuns() throws Exception {
    start(io.millrace.client.FsyncPolicy.ALWAYS);
    produce(100);
    Path lost = replicaDirectory(3);
    for (Path path : List.copyOf(disks.get(3).allContent().keySet())) {
      if (path.startsWith(lost)) {
        disks.get(3).lose(path);
      }
    }
    disks.get(3).delete(lost);
    produce(200); // More than a segment, and the next one has no place.

    assertThat(awaitRefilled(3).getRecovery()).contains("no segment is left");
    cluster.stop(3);
    cluster.start(3);
    awaitAllOk();
    assertWhole();
  }

  /** With the other acknowledging replica away: unavailable, not lost, and back when it returns. */
  @Test
  void damageWhileAnotherReplicaIsAway() throws Exception {
    start(io.millrace.client.FsyncPolicy.ALWAYS);
    produce(300);
    cluster.stop(2);
    cluster.kill(3);
    Path first = segments(3).get(1);
    disks.get(3).flip(first, 5000, 4);
    Path last = segments(3).get(segments(3).size() - 1);
    disks.get(3).flip(last, disks.get(3).content(last).length - 1, 2);
    cluster.await("step-down of the last one", WAIT_MILLIS, () -> !leads(1));
    cluster.start(3);

    cluster.await(
        "refill that says what it waits for",
        WAIT_MILLIS,
        () ->
            replicas(3).stream()
                .anyMatch(
                    r ->
                        r.getHealth() == ReplicaHealth.HEALTH_NO_VOTE
                            && r.getRefill().getStep().contains("broker 2")));
    assertThat(cluster.leaderOf(TOPIC, 0)).isIn(0, 1);

    cluster.start(2);
    awaitRefilled(3);
    produce(20);
    assertWhole();
  }

  /** Killed at any moment of its refill, again and again, a replica comes back by itself. */
  @Test
  void killedWhileItIsRefilled() throws Exception {
    start(io.millrace.client.FsyncPolicy.ALWAYS);
    produce(400);
    cluster.kill(3);
    disks.get(3).flip(segments(3).get(0), 3000, 1);
    Path last = segments(3).get(segments(3).size() - 1);
    disks.get(3).flip(last, disks.get(3).content(last).length - 1, 2);
    for (int round = 0; round < 12; round++) {
      // A start alone takes some hundred operations, a refill some hundred more.
      disks.get(3).killAfter(20 + random.nextInt(400));
      try {
        cluster.start(3);
        cluster.await(
            "death of the disk, or the end of the refill",
            WAIT_MILLIS,
            () ->
                disks.get(3).isDead()
                    || replicas(3).stream()
                        .anyMatch(
                            r -> r.getHealth() == ReplicaHealth.HEALTH_OK && r.getLeader() != 0));
      } catch (IOException died) {
        assertThat(disks.get(3).isDead()).as("died of something else: " + died).isTrue();
      }
      if (cluster.isRunning(3)) {
        cluster.kill(3);
      }
      disks.get(3).restart();
    }
    if (!cluster.isRunning(3)) {
      cluster.start(3);
    }
    awaitAllOk();
    assertWhole();
  }

  // ------------------------------------------------------------------------- power loss under "os"

  /**
   * An entry is on A and B, C is behind. A is away, B loses power and with it the entry: B and C
   * must not elect a leader without it (design review A1).
   */
  @Test
  void whoLostItsTailDoesNotHelpToForgetIt() throws Exception {
    start(io.millrace.client.FsyncPolicy.OS);
    produce(20);
    int c = cluster.leaderOf(TOPIC, 0) == 3 ? 2 : 3;
    cluster.isolate(c);
    cluster.await("a leader that is not " + c, WAIT_MILLIS, () -> leader() != 0 && leader() != c);
    produce(40);
    int a = leader();
    int b = 6 - a - c;
    disks.get(b).kill();
    cluster.kill(b);
    cluster.kill(a);
    disks.get(b).powerLoss();
    cluster.heal();
    cluster.start(b);

    cluster.await(
        "suspicion",
        WAIT_MILLIS,
        () ->
            replicas(b).stream()
                .anyMatch(
                    r ->
                        r.getHealth() == ReplicaHealth.HEALTH_NO_VOTE
                            && r.getRefill().getStep().contains("broker " + a)));
    assertThat(replicas(c)).noneMatch(r -> r.getLeader() != 0 && r.getTerm() > 0 && leads(c));

    cluster.start(a);
    awaitAllOk();
    produce(20);
    assertWhole();
  }

  /** No replica may vote, so none can lead: what is left of all logs together decides. */
  @Test
  void whenAllLostPowerTheNewestLogDecides() throws Exception {
    start(io.millrace.client.FsyncPolicy.OS);
    produce(60);
    disks.values().forEach(SimulatedDisk::kill);
    for (int id : cluster.ids()) {
      cluster.kill(id);
    }
    disks.values().forEach(SimulatedDisk::powerLoss);
    for (int id : cluster.ids()) {
      cluster.start(id);
    }
    awaitAllOk();
    for (int id : cluster.ids()) {
      assertThat(replicas(id)).allMatch(r -> r.getRecovery().contains("the machine went down"));
    }
    // More than a majority lost power: the end may be missing, but nothing before it.
    long end = replicas(1).get(0).getLogEnd();
    acknowledged.tailMap(end, true).clear();
    produce(20);
    assertWhole();
  }

  // ----------------------------------------------------------------------------------------
  // helpers

  private MillraceClient connect() {
    return MillraceClient.connect(
        new ClientConfig(cluster.bootstrap()).withRequestTimeoutMillis(5000));
  }

  private void produce(int count) throws Exception {
    List<String> values = new ArrayList<>();
    List<CompletableFuture<Receipt>> receipts = new ArrayList<>();
    try (MillraceClient client = connect();
        Producer producer =
            client.producer(
                new ProducerConfig().withBatchBytes(4096).withDeliveryTimeoutMillis(40_000))) {
      for (int i = 0; i < count; i++) {
        String value = "record " + sent++ + " " + "x".repeat(random.nextInt(2000));
        values.add(value);
        receipts.add(
            producer.send(ProducerRecord.of(TOPIC, null, value.getBytes(StandardCharsets.UTF_8))));
      }
      for (int i = 0; i < count; i++) {
        Receipt receipt = receipts.get(i).get(60, TimeUnit.SECONDS);
        acknowledged.put(receipt.offset(), values.get(i));
      }
    }
  }

  private int leader() {
    return cluster.leaderOf(TOPIC, 0);
  }

  private boolean leads(int broker) {
    return replicas(broker).stream()
        .anyMatch(r -> r.getRole() == io.millrace.protocol.message.ReplicaRole.ROLE_LEADER);
  }

  private List<ReplicaStatus> replicas(int broker) {
    return cluster.broker(broker).replicaStatus().stream()
        .filter(replica -> replica.getTopic().equals(TOPIC))
        .toList();
  }

  private ReplicaStatus await(int broker, String what, Predicate<ReplicaStatus> condition) {
    cluster.await(
        what + " on broker " + broker,
        WAIT_MILLIS,
        () -> replicas(broker).stream().anyMatch(condition));
    return replicas(broker).get(0);
  }

  private ReplicaStatus awaitRefilled(int broker) {
    return await(
        broker,
        "refilled replica",
        r -> r.getHealth() == ReplicaHealth.HEALTH_OK && r.getRecovery().contains("was refilled"));
  }

  private void awaitAllOk() {
    for (int id : cluster.ids()) {
      await(
          id, "sound replica", r -> r.getHealth() == ReplicaHealth.HEALTH_OK && r.getLeader() != 0);
    }
  }

  private Path replicaDirectory(int broker) {
    Path topics = cluster.dataDirectory(broker).resolve("topics");
    return disks.get(broker).allContent().keySet().stream()
        .filter(path -> path.startsWith(topics) && path.endsWith("replica.id"))
        .map(Path::getParent)
        .findFirst()
        .orElseThrow();
  }

  private List<Path> segments(int broker) {
    Path replica = replicaDirectory(broker);
    return disks.get(broker).allContent().keySet().stream()
        .filter(path -> path.getParent().equals(replica) && path.toString().endsWith(".log"))
        .sorted()
        .toList();
  }

  private List<Path> asideFiles(int broker) {
    Path replica = replicaDirectory(broker);
    return disks.get(broker).allContent().keySet().stream()
        .filter(path -> path.startsWith(replica) && path.toString().contains("aside-"))
        .toList();
  }

  /** Every acknowledged record can be read, and the three logs are equal, entry by entry. */
  private void assertWhole() throws Exception {
    cluster.await(
        "equal ends",
        WAIT_MILLIS,
        () ->
            cluster.ids().stream()
                    .map(id -> replicas(id).get(0))
                    .map(r -> r.getLastIndex() + " " + r.getAppliedIndex() + " " + r.getLogEnd())
                    .distinct()
                    .count()
                == 1);
    readAll();
    assertSameEntries();
  }

  private void readAll() {
    try (MillraceClient client = connect();
        Reader reader = client.reader(new ReaderConfig().withStart(OffsetSpec.earliest()))) {
      reader.assignAll(TOPIC);
      long next = 0;
      long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(WAIT_MILLIS);
      while (next <= acknowledged.lastKey()) {
        assertThat(System.nanoTime()).as("reading ends in time").isLessThan(deadline);
        for (ReceivedRecord record : reader.poll(500)) {
          assertThat(record.offset()).isEqualTo(next++);
          String expected = acknowledged.get(record.offset());
          if (expected != null) {
            assertThat(new String(record.value(), StandardCharsets.UTF_8)).isEqualTo(expected);
          }
        }
      }
    }
  }

  private void assertSameEntries() throws IOException {
    Map<Integer, Path> directories = new HashMap<>();
    for (int id : cluster.ids()) {
      directories.put(id, replicaDirectory(id));
    }
    for (int id : cluster.ids()) {
      cluster.stop(id);
    }
    try (PartitionLog first = open(1, directories.get(1));
        PartitionLog second = open(2, directories.get(2));
        PartitionLog third = open(3, directories.get(3))) {
      long last = Math.min(first.lastIndex(), Math.min(second.lastIndex(), third.lastIndex()));
      assertThat(last).isPositive();
      for (long index = 1; index <= last; index++) {
        assertThat(second.read(index)).as("entry %d", index).isEqualTo(first.read(index));
        assertThat(third.read(index)).as("entry %d", index).isEqualTo(first.read(index));
      }
    }
  }

  private PartitionLog open(int broker, Path replica) throws IOException {
    String name = replica.getFileName().toString();
    int dash = name.lastIndexOf('-');
    LogIdentity identity =
        new LogIdentity(
            cluster.clusterId(),
            UUID.fromString(name.substring(0, dash)),
            Integer.parseInt(name.substring(dash + 1)));
    return PartitionLog.open(
        disks.get(broker),
        replica,
        identity,
        new LogConfig(FsyncPolicy.OS, 0, SEGMENT_BYTES),
        RecoveryHint.NONE,
        LogListener.NONE);
  }
}
