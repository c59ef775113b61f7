package io.millrace.broker.log;

import static io.millrace.broker.log.TestBatches.control;
import static io.millrace.broker.log.TestBatches.records;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.protocol.batch.BatchHeader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Failing disks, refused entries, and what readers see meanwhile. */
@Timeout(30)
class PartitionLogFailureTest {

  private final SimulatedDisk disk = new SimulatedDisk(3);
  private final List<String> failures = new ArrayList<>();

  private final LogListener listener =
      new LogListener() {
        @Override
        public void failed(String reason, Throwable cause) {
          failures.add(reason);
        }

        @Override
        public void lowerDurableMark(SyncMark mark) {}
      };

  private PartitionLog open(FsyncPolicy fsync, boolean bootChanged) throws IOException {
    return PartitionLog.open(
        disk,
        LogScript.DIRECTORY,
        LogScript.IDENTITY,
        new LogConfig(fsync, 100, 1 << 20),
        new RecoveryHint(0, null, bootChanged),
        listener);
  }

  private static LogEntry entry(long index) {
    return new LogEntry(index, 1, records(1, 300, index, index));
  }

  private static List<LogEntry> entries(long from, int count) {
    List<LogEntry> entries = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      entries.add(entry(from + i));
    }
    return entries;
  }

  @Test
  void failedFsyncEndsWritingForGoodAndIsNotRepeated() throws IOException {
    PartitionLog log = open(FsyncPolicy.ALWAYS, false);
    log.append(entries(1, 3));
    SyncMark mark = log.syncMark();
    disk.failSync(1);
    assertThatThrownBy(() -> log.append(entries(4, 2)))
        .isInstanceOf(LogFailedException.class)
        .hasMessageContaining("fsync failed")
        .hasMessageContaining("simulated fsync failure");
    long syncs = disk.syncs();
    long writes = disk.writes();
    assertThatThrownBy(() -> log.append(entries(6, 1))).isInstanceOf(LogFailedException.class);
    assertThatThrownBy(log::sync).isInstanceOf(LogFailedException.class);
    assertThatThrownBy(() -> log.truncateSuffix(1)).isInstanceOf(LogFailedException.class);
    log.close();
    assertThat(disk.syncs()).as("no fsync after the failed one").isEqualTo(syncs);
    assertThat(disk.writes()).as("no write after the failed fsync").isEqualTo(writes);
    assertThat(failures).hasSize(1);
    assertThat(log.syncMark()).isEqualTo(mark);
    assertThat(log.failed()).isTrue();
    assertThat(log.writtenInDoubt()).isTrue();

    disk.powerLoss();
    try (PartitionLog again = open(FsyncPolicy.ALWAYS, true)) {
      assertThat(again.lastIndex()).isEqualTo(3);
      again.append(entries(4, 2));
    }
  }

  @Test
  void readsGoOnAfterAFailure() throws IOException {
    PartitionLog log = open(FsyncPolicy.ALWAYS, false);
    log.append(entries(1, 3));
    disk.failWrite(1);
    assertThatThrownBy(() -> log.append(entries(4, 1))).isInstanceOf(LogFailedException.class);
    assertThat(log.lastIndex()).isEqualTo(3);
    assertThat(log.read(3)).isNotNull();
    assertThat(log.read(4)).isNull();
    FetchSlice slice = log.slice(0, 3, 1 << 20);
    assertThat(slice.nextOffset()).isEqualTo(3);
    slice.release();
  }

  @Test
  void fullDiskLeavesATailThatTheNextOpenCuts() throws IOException {
    PartitionLog log = open(FsyncPolicy.ALWAYS, false);
    log.append(entries(1, 10));
    disk.capacity(disk.usedBytes() + 1000);
    assertThatThrownBy(() -> log.append(entries(11, 5)))
        .isInstanceOf(LogFailedException.class)
        .hasMessageContaining("No space left");
    assertThat(log.lastIndex()).isEqualTo(10);
    assertThat(log.failed()).isTrue();
    assertThat(log.writtenInDoubt()).as("what was written before").isFalse();
    log.close();

    disk.capacity(Long.MAX_VALUE);
    try (PartitionLog again = open(FsyncPolicy.ALWAYS, false)) {
      assertThat(again.lastIndex()).isEqualTo(13);
      assertThat(again.recovery().bytesCut()).isEqualTo(100);
      assertThat(again.recovery().firstIndexCut()).isEqualTo(14);
      again.append(entries(14, 1));
    }
  }

  @Test
  void refusesWhatMustNotBeAppendedAndWritesNothing() throws IOException {
    PartitionLog log = open(FsyncPolicy.ALWAYS, false);
    log.append(List.of(new LogEntry(1, 5, records(1, 100, 0, 0))));
    long writes = disk.writes();
    ByteBuffer good = records(1, 100, 0, 0);
    assertThatThrownBy(() -> log.append(List.of(new LogEntry(3, 5, good))))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("entry 3 where entry 2 is next");
    assertThatThrownBy(
            () -> log.append(List.of(new LogEntry(2, 5, good), new LogEntry(2, 5, good))))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("entry 2 where entry 3 is next");
    for (long term : new long[] {4, 0, -1, 1L << 31}) {
      assertThatThrownBy(() -> log.append(List.of(new LogEntry(2, term, good))))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("has term " + term + ", must be from 5 to 2147483647");
    }
    ByteBuffer shortened = good.duplicate().limit(99);
    ByteBuffer oldMagic = records(1, 100, 0, 0).put(BatchHeader.MAGIC_OFFSET, (byte) 1);
    ByteBuffer noRecords = records(1, 100, 0, 0).putInt(BatchHeader.RECORD_COUNT_OFFSET, 0);
    ByteBuffer head = new SegmentHead(LogScript.IDENTITY, new SegmentName(0, 1), 0).encode();
    for (ByteBuffer bad : List.of(shortened, oldMagic, noRecords, head, ByteBuffer.allocate(3))) {
      assertThatThrownBy(() -> log.append(List.of(new LogEntry(2, 5, bad))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("entry 2 is no batch");
    }
    assertThatThrownBy(() -> log.truncateSuffix(-1)).isInstanceOf(IllegalArgumentException.class);
    assertThat(disk.writes()).isEqualTo(writes);
    assertThat(log.failed()).isFalse();
    log.append(List.of(new LogEntry(2, Integer.MAX_VALUE, good)));
    assertThat(log.termAt(2)).isEqualTo(Integer.MAX_VALUE);
  }

  @Test
  void batchGivenToAppendIsNeverChanged() throws IOException {
    PartitionLog log = open(FsyncPolicy.OS, false);
    byte[] frame = new byte[500];
    ByteBuffer batch = records(2, 300, 1, 1);
    System.arraycopy(batch.array(), 0, frame, 100, 300);
    ByteBuffer inside = ByteBuffer.wrap(frame.clone(), 100, 300).asReadOnlyBuffer();
    log.append(List.of(new LogEntry(1, 1, records(1, 100, 1, 1)), new LogEntry(2, 7, inside)));
    assertThat(inside.position()).isEqualTo(100);
    assertThat(inside.limit()).isEqualTo(400);
    assertThat(inside).isEqualTo(batch);
    assertThat(BatchHeader.baseOffset(log.read(2), 0)).isEqualTo(1);
    assertThat(BatchHeader.partitionLeaderEpoch(log.read(2), 0)).isEqualTo(7);
  }

  @Test
  void oneAppendIsOneFsyncAndFewWrites() throws IOException {
    PartitionLog log = open(FsyncPolicy.ALWAYS, false);
    long syncs = disk.syncs();
    long writes = disk.writes();
    List<LogEntry> small = new ArrayList<>();
    for (int i = 1; i <= 70; i++) {
      small.add(new LogEntry(i, 1, records(1, 100, i, i)));
    }
    log.append(small);
    assertThat(disk.syncs() - syncs).isEqualTo(1);
    // 7,000 bytes through the 700 bytes of this disk's buffers, and the sync mark.
    assertThat(disk.writes() - writes).isLessThanOrEqualTo(12);
  }

  @Test
  void policiesOtherThanAlwaysDoNotSync() throws Exception {
    for (FsyncPolicy policy : List.of(FsyncPolicy.INTERVAL, FsyncPolicy.OS)) {
      PartitionLog log = open(policy, false);
      long syncs = disk.syncs();
      long from = log.lastIndex() + 1;
      log.append(entries(from, 10));
      assertThat(disk.syncs()).isEqualTo(syncs);
      assertThat(log.dirty()).isTrue();
      assertThat(log.syncMark().index()).isEqualTo(from - 1);
      CompletableFuture.runAsync(() -> syncUnchecked(log)).get(10, TimeUnit.SECONDS);
      assertThat(log.dirty()).isFalse();
      assertThat(log.syncMark().index()).isEqualTo(from + 9);
      assertThat(disk.syncs()).isEqualTo(syncs + 1);
      log.sync();
      assertThat(disk.syncs()).as("nothing to do").isEqualTo(syncs + 1);
      log.close();
    }
  }

  @Test
  void truncationIsSyncedUnderEveryPolicyAlsoBackToTheMark() throws IOException {
    PartitionLog log = open(FsyncPolicy.OS, false);
    log.append(entries(1, 5));
    log.sync();
    log.append(entries(6, 5));
    long syncs = disk.syncs();
    log.truncateSuffix(5);
    assertThat(disk.syncs()).isGreaterThan(syncs);
    assertThat(log.dirty()).isFalse();
    assertThat(log.syncMark().index()).isEqualTo(5);
    assertThat(log.syncMark().position()).isPositive();
    disk.kill();
    disk.powerLoss();
    try (PartitionLog again = open(FsyncPolicy.OS, true)) {
      assertThat(again.lastIndex()).isEqualTo(5);
    }
  }

  private static void syncUnchecked(PartitionLog log) {
    try {
      log.sync();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @Test
  void readersSeeWhatIsWrittenWhileTheFsyncHangs() throws Exception {
    PartitionLog log = open(FsyncPolicy.ALWAYS, false);
    log.append(entries(1, 5));
    CountDownLatch inSync = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    AtomicInteger waits = new AtomicInteger();
    disk.beforeSync(
        path -> {
          inSync.countDown();
          waits.incrementAndGet();
          await(goOn);
        });
    CompletableFuture<Void> append =
        CompletableFuture.runAsync(
            () -> {
              try {
                log.append(entries(6, 5));
              } catch (IOException e) {
                throw new java.io.UncheckedIOException(e);
              }
            });
    await(inSync);
    assertThat(log.lastIndex()).isEqualTo(10);
    assertThat(log.logEnd()).isEqualTo(10);
    assertThat(log.syncMark().index()).isEqualTo(5);
    assertThat(log.read(10)).isNotNull();
    assertThat(log.termAt(10)).isEqualTo(1);
    FetchSlice slice = log.slice(0, 10, 1 << 20);
    assertThat(slice.nextOffset()).isEqualTo(10);
    slice.release();
    assertThat(log.endOffsetAt(7)).isEqualTo(7);
    assertThat(append.isDone()).isFalse();
    goOn.countDown();
    append.get(10, TimeUnit.SECONDS);
    assertThat(log.syncMark().index()).isEqualTo(10);
    assertThat(waits.get()).isEqualTo(1);
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(10, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void resetSetsTheFilesAsideAndGoesOn() throws IOException {
    PartitionLog log = open(FsyncPolicy.ALWAYS, false);
    log.append(entries(1, 5));
    FetchSlice lent = log.slice(0, 5, 1 << 20);
    log.reset(100, 50);
    assertThat(log.firstIndex()).isEqualTo(100);
    assertThat(log.lastIndex()).isEqualTo(99);
    assertThat(log.logStart()).isEqualTo(50);
    assertThat(log.logEnd()).isEqualTo(50);
    assertThat(log.termAt(99)).isZero();
    assertThat(log.read(5)).isNull();
    assertThat(TestBatches.bytesOf(lent).remaining()).isEqualTo(1500);
    lent.release();
    assertThatThrownBy(lent::release).isInstanceOf(IllegalStateException.class);
    log.append(List.of(new LogEntry(100, 3, control(5, 5)), entry3(101)));
    log.reset(1);
    assertThat(log.logEnd()).isZero();
    log.append(entries(1, 1));
    log.close();
    Path aside1 = LogScript.DIRECTORY.resolve("aside-1");
    Path aside2 = LogScript.DIRECTORY.resolve("aside-2");
    assertThat(disk.content(new SegmentName(0, 1).log(aside1)).length).isGreaterThan(1500);
    assertThat(disk.content(new SegmentName(50, 100).log(aside2)).length).isGreaterThan(300);
    try (PartitionLog again = open(FsyncPolicy.ALWAYS, false)) {
      assertThat(again.lastIndex()).isEqualTo(1);
    }
  }

  private static LogEntry entry3(long index) {
    return new LogEntry(index, 3, records(1, 300, index, index));
  }

  @Test
  void closedLogAnswersLateReadersWithNothing() throws IOException {
    PartitionLog log = open(FsyncPolicy.ALWAYS, false);
    log.append(entries(1, 5));
    FetchSlice lent = log.slice(0, 5, 1 << 20);
    log.close();
    log.close();
    assertThat(log.read(1)).isNull();
    assertThat(log.slice(0, 5, 100).isEmpty()).isTrue();
    log.sync();
    assertThatThrownBy(() -> log.append(entries(6, 1)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("is closed");
    assertThat(TestBatches.bytesOf(lent).remaining()).isEqualTo(1500);
    lent.release();
  }
}
