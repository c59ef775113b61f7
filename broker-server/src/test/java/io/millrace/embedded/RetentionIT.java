package io.millrace.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.broker.RetentionTimes;
import io.millrace.client.ClientConfig;
import io.millrace.client.MillraceClient;
import io.millrace.client.OffsetSpec;
import io.millrace.client.OnLost;
import io.millrace.client.Producer;
import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.Reader;
import io.millrace.client.ReaderConfig;
import io.millrace.client.Receipt;
import io.millrace.client.ReceivedRecord;
import io.millrace.client.TopicPartition;
import io.millrace.client.TopicSpec;
import io.millrace.client.error.RecordsLostException;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.message.ReplicaHealth;
import io.millrace.protocol.message.ReplicaRole;
import io.millrace.protocol.message.ReplicaStatus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Records go, on every replica and from the disks, and whoever is overtaken is told. */
@Timeout(240)
class RetentionIT {

  private static final String TOPIC = "events";
  private static final TopicPartition PARTITION = new TopicPartition(TOPIC, 0);
  private static final int CHECK_MILLIS = 100;
  private static final int DELETE_DELAY_MILLIS = 500;
  private static final long WAIT_MILLIS = 60_000;

  @TempDir Path directory;
  private EmbeddedCluster cluster;
  private MillraceClient client;

  @BeforeEach
  void start() throws Exception {
    cluster =
        EmbeddedCluster.start(
            EmbeddedCluster.Options.of(3)
                .withDirectory(directory)
                .withRetention(new RetentionTimes(CHECK_MILLIS, DELETE_DELAY_MILLIS)));
    connect();
  }

  @AfterEach
  void stop() throws Exception {
    client.close();
    cluster.close();
  }

  // ----------------------------------------------------------------------------------- by time

  @Test
  void anIdleTopicIsEmptiedWithinTheStatedBoundOnEveryReplicaAndDisk() throws Exception {
    int retentionMillis = 10_000;
    create(TopicSpec.of(TOPIC, 1, 3).withRetentionMillis(retentionMillis));
    long first = System.nanoTime();
    produce(50, 1000);
    long last = System.nanoTime();
    assertThat(earliest()).isZero();

    cluster.await("the records to go", WAIT_MILLIS, () -> earliestOrElse(0) == 50);
    long now = System.nanoTime();
    assertThat(millis(now - first)).as("not before their time").isGreaterThan(retentionMillis);
    // Retention, a tenth of it for a segment, a second for log time, a look; and a slow machine.
    assertThat(millis(now - last)).isLessThan(retentionMillis + 1000 + 1000 + CHECK_MILLIS + 2000);

    for (int id : cluster.ids()) {
      cluster.await(
          "files of broker " + id + " to go",
          DELETE_DELAY_MILLIS + 5000,
          () -> replica(id).getSegments() == 1 && logFiles(id).size() == 1);
      assertThat(replica(id).getLogStart()).isEqualTo(50);
      assertThat(replica(id).getLogEnd()).isEqualTo(50);
      assertThat(Files.size(logFiles(id).get(0))).isLessThan(5000);
    }
    assertThat(latest()).isEqualTo(50);

    restartAll();
    assertThat(earliest()).isEqualTo(50);
    assertThat(latest()).isEqualTo(50);
    assertThat(produce(1, 10).offset()).isEqualTo(50);
  }

  // ----------------------------------------------------------------------------------- by size

  @Test
  void aCappedTopicKeepsItsSizeUnderLoad() throws Exception {
    long cap = 64L << 20;
    long segment = cap / 20;
    create(TopicSpec.of(TOPIC, 1, 3).withRetentionBytes(cap));
    assertThat(client.admin().describeTopic(TOPIC).get(10, TimeUnit.SECONDS).segmentBytes())
        .isEqualTo(segment);
    byte[] value = new byte[64 << 10];
    long total = 160L << 20;
    long bytesPerSecond = 12L << 20;
    long largest = 0;
    List<CompletableFuture<Receipt>> receipts = new ArrayList<>();
    long begin = System.nanoTime();
    try (Producer producer = client.producer(new ProducerConfig())) {
      for (long sent = 0; sent < total; sent += value.length) {
        receipts.add(producer.sendBlocking(ProducerRecord.of(TOPIC, null, value), WAIT_MILLIS));
        long due = begin + TimeUnit.SECONDS.toNanos(1) * sent / bytesPerSecond;
        cluster.await("the next record's time", WAIT_MILLIS, () -> System.nanoTime() >= due);
        if (receipts.size() % 16 == 0) {
          for (int id : cluster.ids()) {
            largest = Math.max(largest, bytesOnDisk(id));
          }
        }
      }
      for (CompletableFuture<Receipt> receipt : receipts) {
        receipt.get(60, TimeUnit.SECONDS);
      }
    }
    assertThat(largest).isBetween(cap * 4 / 5, cap + segment);
    long kept = latest() - earliest();
    assertThat(kept * value.length).isGreaterThanOrEqualTo(cap * 4 / 5).isLessThan(cap);
    assertThat(latest()).isEqualTo(receipts.size());
    for (int id : cluster.ids()) {
      cluster.await(
          "files of broker " + id + " to go",
          10_000,
          () -> bytesOnDisk(id) <= cap * 81 / 100 + 2 * segment);
    }
  }

  // ------------------------------------------------------------------------------------ on command

  @Test
  void deletedRecordsStayDeletedWhenEverythingIsStartedAgain() throws Exception {
    create(TopicSpec.of(TOPIC, 1, 3).withSegmentBytes(64 << 10));
    produce(40, 10_000);
    assertThat(delete(25)).isEqualTo(25);
    assertThat(earliest()).isEqualTo(25);
    assertThat(delete(10)).as("gone already").isEqualTo(25);
    assertThatThrownBy(() -> delete(41))
        .isInstanceOf(MillraceException.class)
        .hasMessageContaining("committed end 40")
        .extracting(e -> ((MillraceException) e).code())
        .isEqualTo(ErrorCode.OFFSET_OUT_OF_RANGE);
    awaitFirstIndexAbove(10);

    restartAll();
    assertThat(earliest()).isEqualTo(25);
    assertThat(latest()).isEqualTo(40);
    assertThat(readFrom(25)).isEqualTo(15);

    assertThat(delete(40)).isEqualTo(40);
    cluster.ids().forEach(this::awaitEmpty);
    client.close();
    cluster.ids().forEach(cluster::kill);
    startAll();
    assertThat(earliest()).isEqualTo(40);
    assertThat(latest()).isEqualTo(40);
    assertThat(produce(1, 10).offset()).isEqualTo(40);
    assertThat(readFrom(40)).isEqualTo(1);
  }

  @Test
  void whoIsOvertakenIsToldExactlyHowManyRecordsAreGone() throws Exception {
    create(TopicSpec.of(TOPIC, 1, 3).withSegmentBytes(64 << 10));
    produce(40, 5_000);
    ReaderConfig config = new ReaderConfig().withPrefetchRecords(5);
    try (Reader told = client.reader(config);
        Reader skipping = client.reader(config.withOnLost(OnLost.SKIP))) {
      for (Reader reader : List.of(told, skipping)) {
        reader.assign(List.of(PARTITION));
        reader.seek(PARTITION, 0);
        assertThat(poll(reader)).isPositive();
      }
      delete(33);

      long[] position = new long[1];
      assertThatThrownBy(
              () -> {
                while (true) {
                  position[0] = told.position(PARTITION);
                  poll(told);
                }
              })
          .isInstanceOfSatisfying(
              RecordsLostException.class,
              lost -> {
                assertThat(position[0]).isBetween(1L, 32L);
                assertThat(lost.recordsLost()).isEqualTo(33 - position[0]);
                assertThat(lost.logStart()).isEqualTo(33);
              });

      long read = skipping.position(PARTITION);
      while (skipping.position(PARTITION) < 40) {
        read += poll(skipping);
      }
      assertThat(read + skipping.recordsLost()).isEqualTo(40);
      assertThat(skipping.recordsLost()).isPositive();
    }
  }

  // ------------------------------------------------------------------------------- what JRaft does

  /**
   * JRaft's own choice of a snapshot would take from its leader what the log still has; see {@code
   * PrefixRelease}.
   */
  @Test
  void aFollowerThatMissedOnlyWhatTheLogStillHasIsServedFromIt() throws Exception {
    create(TopicSpec.of(TOPIC, 1, 3).withSegmentBytes(64 << 10));
    produce(40, 10_000);
    int away = follower();
    cluster.stop(away);
    produce(40, 10_000);
    delete(30);
    awaitFirstIndexAbove(10);
    produce(40, 10_000);
    delete(35);
    long first = replica(leader()).getFirstIndex();
    assertThat(first).isLessThan(40);

    cluster.start(away);
    cluster.await(
        "broker " + away + " to catch up",
        WAIT_MILLIS,
        () -> replica(away).getCommittedEnd() == 120);
    assertThat(replica(away).getHealth()).isEqualTo(ReplicaHealth.HEALTH_OK);
    cluster.await("its files to go", WAIT_MILLIS, () -> replica(away).getFirstIndex() > 10);
    assertThat(replica(away).getLogStart()).isEqualTo(35);
  }

  /** A null snapshot, or an entry that is missing, would end the leader instead. */
  @Test
  void aFollowerThatIsTooFarBehindDoesNotHarmItsLeader() throws Exception {
    create(TopicSpec.of(TOPIC, 1, 3).withSegmentBytes(64 << 10));
    produce(20, 10_000);
    int away = follower();
    cluster.stop(away);
    produce(40, 10_000);
    int leader = leader();
    long term = replica(leader).getTerm();
    delete(60);
    awaitEmpty(leader);
    cluster.start(away);
    cluster.await(
        "its leader to reach it", WAIT_MILLIS, () -> cluster.broker(leader).knowsPeer(away));
    for (int i = 0; i < 30; i++) {
      assertThat(produce(1, 100).offset()).isEqualTo(60 + i);
    }
    assertThat(replica(leader).getRole()).isEqualTo(ReplicaRole.ROLE_LEADER);
    assertThat(replica(leader).getTerm()).isEqualTo(term);
    assertThat(replica(leader).getHealth()).isEqualTo(ReplicaHealth.HEALTH_OK);
    awaitInStep(away, 90);
    assertThat(replica(away).getLogStart()).isEqualTo(60);
  }

  @Test
  void aFollowerIsRefilledFromALogThatHoldsNothing() throws Exception {
    create(TopicSpec.of(TOPIC, 1, 3).withSegmentBytes(64 << 10));
    produce(20, 10_000);
    int away = follower();
    cluster.stop(away);
    produce(20, 10_000);
    delete(40);
    int leader = leader();
    awaitEmpty(leader);

    cluster.start(away);
    awaitInStep(away, 40);
    assertThat(replica(away).getLogStart()).isEqualTo(40);
    // It stands in for the one that goes now.
    cluster.kill(leader);
    assertThat(produce(1, 100).offset()).isEqualTo(40);
    assertThat(earliest()).isEqualTo(40);
    cluster.start(leader);
    awaitInStep(leader, 41);
  }

  @Test
  void aLogThatWasEmptiedElectsAndGoesOnAfterEachRestart() throws Exception {
    create(TopicSpec.of(TOPIC, 1, 3));
    long end = 0;
    for (int round = 0; round < 3; round++) {
      end = produce(5, 1000).offset() + 1;
      delete(end);
      cluster.ids().forEach(this::awaitEmpty);
      int leader = leader();
      cluster.kill(leader);
      assertThat(produce(1, 10).offset()).isEqualTo(end);
      cluster.start(leader);
      // Before the next ones go: what is gone it could only copy.
      long all = end + 1;
      cluster.await(
          "the killed one to follow", WAIT_MILLIS, () -> replica(leader).getCommittedEnd() == all);
      delete(all);
    }
    restartAll();
    assertThat(earliest()).isEqualTo(end + 1);
    assertThat(latest()).isEqualTo(end + 1);
  }

  // ----------------------------------------------------------------------------------------
  // helpers

  private void connect() {
    client =
        MillraceClient.connect(
            new ClientConfig(cluster.bootstrap()).withRequestTimeoutMillis(20_000));
  }

  private void create(TopicSpec spec) throws Exception {
    client.admin().createTopic(spec).get(30, TimeUnit.SECONDS);
  }

  /** One batch for each record. */
  private Receipt produce(int count, int bytes) throws Exception {
    Receipt last = null;
    try (Producer producer =
        client.producer(new ProducerConfig().withDeliveryTimeoutMillis(40_000))) {
      for (int i = 0; i < count; i++) {
        last =
            producer
                .send(ProducerRecord.of(TOPIC, null, new byte[bytes]))
                .get(60, TimeUnit.SECONDS);
      }
    }
    return last;
  }

  private long delete(long before) throws Exception {
    try {
      return client.admin().deleteRecords(PARTITION, before).get(30, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    }
  }

  private long offset(OffsetSpec spec) throws Exception {
    return client
        .admin()
        .listOffsets(List.of(PARTITION), spec)
        .get(30, TimeUnit.SECONDS)
        .get(PARTITION)
        .offset();
  }

  private long earliest() throws Exception {
    return offset(OffsetSpec.earliest());
  }

  private long earliestOrElse(long unknown) {
    try {
      return earliest();
    } catch (Exception e) {
      return unknown;
    }
  }

  private long latest() throws Exception {
    return offset(OffsetSpec.latest());
  }

  private static int poll(Reader reader) {
    List<ReceivedRecord> records = reader.poll(5000);
    return records.size();
  }

  /** Records that can be read from an offset to the end. */
  private int readFrom(long offset) {
    try (Reader reader = client.reader(new ReaderConfig())) {
      reader.assign(List.of(PARTITION));
      reader.seek(PARTITION, offset);
      long end = reader.endOffsets().get(PARTITION);
      int read = 0;
      while (reader.position(PARTITION) < end) {
        read += poll(reader);
      }
      return read;
    }
  }

  private int leader() {
    cluster.await("leader", WAIT_MILLIS, () -> cluster.leaderOf(TOPIC, 0) != 0);
    return cluster.leaderOf(TOPIC, 0);
  }

  private int follower() {
    int leader = leader();
    return cluster.ids().stream().filter(id -> id != leader).findFirst().orElseThrow();
  }

  /** Waits at all running brokers. */
  private void awaitFirstIndexAbove(long index) {
    for (int id : cluster.ids()) {
      if (cluster.isRunning(id)) {
        cluster.await(
            "files of broker " + id + " to go",
            WAIT_MILLIS,
            () -> replica(id).getFirstIndex() > index);
      }
    }
  }

  private void awaitInStep(int broker, long end) {
    cluster.await(
        "broker " + broker + " to be in step",
        WAIT_MILLIS,
        () ->
            replica(broker).getHealth() == ReplicaHealth.HEALTH_OK
                && replica(broker).getCommittedEnd() == end);
  }

  /** One file is left, without a record. */
  private void awaitEmpty(int broker) {
    cluster.await(
        "an empty log on broker " + broker,
        WAIT_MILLIS,
        () -> logFiles(broker).size() == 1 && bytesOnDisk(broker) < 3000);
  }

  private ReplicaStatus replica(int broker) {
    return cluster.broker(broker).replicaStatus().stream()
        .filter(replica -> replica.getTopic().equals(TOPIC))
        .findFirst()
        .orElse(ReplicaStatus.getDefaultInstance());
  }

  private List<Path> files(int broker) {
    Path topics = cluster.dataDirectory(broker).resolve("topics");
    try (Stream<Path> all = Files.walk(topics)) {
      return all.filter(file -> file.toString().matches(".*\\.(log|idx)")).toList();
    } catch (IOException | java.io.UncheckedIOException e) {
      return List.of(); // A file went while the directory was listed.
    }
  }

  private List<Path> logFiles(int broker) {
    return files(broker).stream().filter(file -> file.toString().endsWith(".log")).toList();
  }

  private long bytesOnDisk(int broker) {
    long bytes = 0;
    for (Path file : files(broker)) {
      try {
        bytes += Files.size(file);
      } catch (IOException e) {
        continue; // It went meanwhile.
      }
    }
    return bytes;
  }

  private void restartAll() throws Exception {
    client.close();
    for (int id : cluster.ids()) {
      cluster.stop(id);
    }
    startAll();
  }

  private void startAll() throws Exception {
    for (int id : cluster.ids()) {
      cluster.start(id);
    }
    connect();
    cluster.await("leader", WAIT_MILLIS, () -> cluster.leaderOf(TOPIC, 0) != 0);
  }

  private static long millis(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(nanos);
  }
}
