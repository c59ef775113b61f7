package io.millrace.broker.log;

import static java.util.concurrent.TimeUnit.HOURS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.broker.log.LogPrefix.SegmentStats;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How segments leave a log, and when they begin. */
@Timeout(30)
class LogPrefixTest {

  private static final int SEGMENT_BYTES = 1100;
  private static final int BATCH_BYTES = 300;
  private static final long LONG = HOURS.toNanos(1);

  private final SimulatedDisk disk = new SimulatedDisk(1);
  private long term = 1;
  private int rolls;

  private final LogListener listener =
      new LogListener() {
        @Override
        public void failed(String reason, Throwable cause) {}

        @Override
        public void lowerDurableMark(SyncMark mark) {}

        @Override
        public void rolled() {
          rolls++;
        }

        @Override
        public long logTimeOf(ByteBuffer timeBatch) {
          return TestBatches.timeOf(timeBatch);
        }
      };

  private PartitionLog open(long segmentMillis) throws IOException {
    return PartitionLog.open(
        disk,
        LogScript.DIRECTORY,
        LogScript.IDENTITY,
        new LogConfig(FsyncPolicy.ALWAYS, 0, SEGMENT_BYTES, segmentMillis),
        new RecoveryHint(0, null, false),
        listener);
  }

  private void append(PartitionLog log, ByteBuffer batch) throws IOException {
    log.append(List.of(new LogEntry(log.lastIndex() + 1, term, batch)));
  }

  /** Batches of one record, three to a segment. */
  private void records(PartitionLog log, int count) throws IOException {
    for (int i = 0; i < count; i++) {
      append(log, TestBatches.records(1, BATCH_BYTES, 1000, log.lastIndex()));
    }
  }

  private List<Path> files() throws IOException {
    return disk.list(LogScript.DIRECTORY);
  }

  @Test
  void wholeClosedSegmentsLeaveAndTheFilesFollow() throws IOException {
    try (PartitionLog log = open(0)) {
      records(log, 10);
      long second = log.prefix().segments().get(1).baseOffset() + 1;
      int filesBefore = files().size();
      long bytesBefore = log.sizeBytes();

      assertThat(log.prefix().firstIndexAbove(second - 2, 10)).isEqualTo(1);
      assertThat(log.prefix().firstIndexAbove(second - 1, 10)).isEqualTo(second);
      assertThat(log.prefix().firstIndexAbove(second, 10)).isEqualTo(second);
      assertThat(log.prefix().firstIndexAbove(second, second - 2)).isEqualTo(1);

      ByteBuffer first = log.read(1);
      log.prefix().drop(second);
      assertThat(log.firstIndex()).isEqualTo(second);
      assertThat(log.logStart()).isEqualTo(second - 1);
      assertThat(log.logEnd()).isEqualTo(10);
      assertThat(log.read(1)).isNull();
      assertThat(log.termAt(1)).isZero();
      assertThat(log.slice(0, 10, 1 << 20).isEmpty()).isTrue();
      assertThat(log.endOffsetAt(second - 1)).isEqualTo(second - 1);
      assertThat(log.sizeBytes()).as("they still take space").isEqualTo(bytesBefore);

      assertThat(log.prefix().readDropped(1)).isEqualTo(first);
      assertThat(log.prefix().termOfDropped(1)).isEqualTo(term);
      assertThat(log.prefix().readDropped(second)).isNull();
      assertThat(log.prefix().firstReadableIndex()).isEqualTo(1);
      assertThat(log.prefix().deleteDropped(LONG, Long.MAX_VALUE, 0)).isPositive();
      assertThat(files()).hasSize(filesBefore);

      assertThat(log.prefix().deleteDropped(0, Long.MAX_VALUE, 0)).isEqualTo(Long.MAX_VALUE);
      assertThat(files()).hasSize(filesBefore - 2);
      assertThat(log.prefix().readDropped(1)).isNull();
      assertThat(log.prefix().termOfDropped(1)).isZero();
      assertThat(log.prefix().firstReadableIndex()).isEqualTo(second);
      assertThat(log.sizeBytes()).isLessThan(bytesBefore);
      records(log, 3);
      assertThat(log.lastIndex()).isEqualTo(13);
    }
  }

  @Test
  void theOldestGoEarlierWhenTooMuchWaits() throws IOException {
    try (PartitionLog log = open(0)) {
      records(log, 13);
      long first = log.prefix().firstIndexAbove(9, 13);
      log.prefix().drop(first);
      long waiting = log.prefix().droppedBytes();
      long oneSegment = waiting / 3;
      assertThat(waiting).isGreaterThan(3 * 3 * BATCH_BYTES);
      assertThat(log.prefix().deleteDropped(LONG, 2 * oneSegment, 0)).isGreaterThan(LONG / 2);
      assertThat(log.prefix().droppedBytes()).isLessThanOrEqualTo(2 * oneSegment);
      assertThat(log.prefix().droppedBytes()).isPositive();
    }
  }

  @Test
  void aLentSliceKeepsItsFile() throws IOException {
    try (PartitionLog log = open(0)) {
      records(log, 7);
      FetchSlice slice = log.slice(0, 3, 1 << 20);
      ByteBuffer before = TestBatches.bytesOf(slice);
      int filesBefore = files().size();
      log.prefix().drop(log.prefix().firstIndexAbove(6, 7));
      assertThat(log.prefix().deleteDropped(0, 0, 7)).as("asked again soon").isEqualTo(7);
      assertThat(files()).hasSize(filesBefore);
      assertThat(TestBatches.bytesOf(slice)).isEqualTo(before);
      assertThat(log.prefix().readDropped(1)).as("hidden already").isNull();
      // More leaves meanwhile; the order stays.
      records(log, 4);
      log.prefix().drop(log.prefix().firstIndexAbove(9, 11));
      assertThat(log.prefix().readDropped(7)).isNotNull();
      assertThat(log.prefix().deleteDropped(0, 0, 7)).isEqualTo(7);

      slice.release();
      assertThat(log.prefix().deleteDropped(0, 0, 7)).isEqualTo(Long.MAX_VALUE);
      assertThat(log.prefix().droppedBytes()).isZero();
      assertThat(log.openFiles()).isLessThanOrEqualTo(6);
    }
  }

  @Test
  void theActiveSegmentIsClosedOnlyWhenAllItsRecordsMayGo() throws IOException {
    try (PartitionLog log = open(0)) {
      assertThat(log.prefix().closeActiveBelow(0)).as("holds nothing").isFalse();
      append(log, TestBatches.control(10, 1));
      assertThat(log.prefix().closeActiveBelow(0)).as("holds no record").isFalse();
      records(log, 1);
      assertThat(log.prefix().closeActiveBelow(0)).isFalse();
      assertThat(log.prefix().closeActiveBelow(1)).isTrue();
      assertThat(log.prefix().closeActiveBelow(1)).isFalse();
      assertThat(rolls).isEqualTo(1);
      assertThat(log.prefix().firstIndexAbove(1, 2)).isEqualTo(3);
      log.prefix().drop(3);
      assertThat(log.firstIndex()).isEqualTo(3);
      assertThat(log.lastIndex()).isEqualTo(2);
      assertThat(log.logStart()).isEqualTo(1);
      assertThat(log.logEnd()).isEqualTo(1);
      assertThat(log.epochs().size()).isZero();
      log.prefix().deleteDropped(0, 0, 0);
    }
    try (PartitionLog log = open(0)) {
      assertThat(log.firstIndex()).isEqualTo(3);
      assertThat(log.lastIndex()).isEqualTo(2);
      assertThat(log.logStart()).isEqualTo(1);
      assertThat(log.logEnd()).isEqualTo(1);
      records(log, 1);
      assertThat(log.termAt(3)).isEqualTo(term);
      assertThat(log.logEnd()).isEqualTo(2);
    }
  }

  @Test
  void anEmptiedLogStillRefusesATermThatGoesBack() throws IOException {
    try (PartitionLog log = open(0)) {
      term = 5;
      records(log, 1);
      log.prefix().closeActiveBelow(1);
      log.prefix().drop(2);
      term = 4;
      assertThatThrownBy(() -> records(log, 1))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("term 4");
      term = 6;
      records(log, 1);
      assertThat(log.epochs().size()).isEqualTo(1);
      assertThat(log.endOffsetOfTerm(5)).isEqualTo(1);
      assertThat(log.termAt(2)).isEqualTo(6);
    }
  }

  @Test
  void onlyTheBeginOfASegmentCanBeTheBeginOfTheLog() throws IOException {
    try (PartitionLog log = open(0)) {
      records(log, 7);
      assertThatThrownBy(() -> log.prefix().drop(2)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> log.prefix().drop(8)).isInstanceOf(IllegalArgumentException.class);
      log.prefix().drop(1);
      assertThat(log.firstIndex()).isEqualTo(1);
    }
  }

  @Test
  void aSegmentIsClosedInFrontOfTheTimeThatMakesItTooOld() throws IOException {
    try (PartitionLog log = open(5000)) {
      append(log, TestBatches.time(100_000));
      records(log, 1);
      append(log, TestBatches.time(104_999));
      records(log, 1);
      assertThat(rolls).isZero();
      append(log, TestBatches.time(105_000));
      assertThat(rolls).isEqualTo(1);
      // Nobody wrote for long: without a record nothing is closed, with one it is.
      append(log, TestBatches.time(900_000));
      assertThat(rolls).isEqualTo(1);
      records(log, 1);
      append(log, TestBatches.time(990_000));
      assertThat(rolls).isEqualTo(2);

      List<SegmentStats> segments = log.prefix().segments();
      assertThat(segments)
          .extracting(SegmentStats::lastLogTime)
          .containsExactly(104_999L, 900_000L, -1L);
      assertThat(segments).extracting(SegmentStats::endOffset).containsExactly(2L, 3L, 3L);
      assertThat(segments).extracting(SegmentStats::active).containsExactly(false, false, true);
      assertThat(segments.get(0).bytes()).isEqualTo(2 * BATCH_BYTES);
    }
  }

  @Test
  void replicasOfTheSameEntriesCloseTheSameSegments() throws IOException {
    List<LogEntry> entries = new ArrayList<>();
    for (int i = 1; i <= 60; i++) {
      entries.add(
          new LogEntry(
              i,
              1,
              i % 5 == 0 ? TestBatches.time(1000L * i) : TestBatches.records(1, 100 + i, 1000, i)));
    }
    List<List<SegmentStats>> all = new ArrayList<>();
    for (int step : new int[] {1, 7, 60}) {
      SimulatedDisk own = new SimulatedDisk(step);
      try (PartitionLog log =
          PartitionLog.open(
              own,
              LogScript.DIRECTORY,
              LogScript.IDENTITY,
              new LogConfig(FsyncPolicy.OS, 0, 4096, 11_000),
              new RecoveryHint(0, null, false),
              listener)) {
        for (int from = 0; from < entries.size(); from += step) {
          log.append(entries.subList(from, Math.min(from + step, entries.size())));
        }
        all.add(log.prefix().segments());
      }
    }
    assertThat(all.get(0)).hasSizeGreaterThan(3);
    assertThat(all.get(1)).isEqualTo(all.get(0));
    assertThat(all.get(2)).isEqualTo(all.get(0));
  }

  @Test
  void aFileThatIsGoneAlreadyIsNoObstacle() throws IOException {
    try (PartitionLog log = open(0)) {
      records(log, 7);
      log.prefix().drop(log.prefix().firstIndexAbove(6, 7));
      log.prefix().deleteDropped(0, 0, 0);
      records(log, 3);
      long first = log.prefix().firstIndexAbove(9, 10);
      Path index =
          files().stream()
              .filter(file -> file.toString().endsWith(".idx"))
              .findFirst()
              .orElseThrow();
      log.prefix().drop(first);
      disk.lose(index);
      assertThat(log.prefix().deleteDropped(0, 0, 0)).isEqualTo(Long.MAX_VALUE);
      assertThat(log.prefix().droppedBytes()).isZero();
    }
  }
}
