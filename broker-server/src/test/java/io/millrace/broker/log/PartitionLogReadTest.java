package io.millrace.broker.log;

import static io.millrace.broker.log.TestBatches.control;
import static io.millrace.broker.log.TestBatches.records;
import static io.millrace.broker.log.TestBatches.time;
import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.BatchWriter;
import io.millrace.protocol.batch.Compression;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Lookups whose cost or exactness matters. */
@Timeout(60)
class PartitionLogReadTest {

  private static final int RUN = 20_000;

  private final SimulatedDisk disk = new SimulatedDisk(2);

  private PartitionLog open(long segmentBytes, LogListener listener) throws IOException {
    return PartitionLog.open(
        disk,
        LogScript.DIRECTORY,
        LogScript.IDENTITY,
        new LogConfig(FsyncPolicy.OS, 0, segmentBytes),
        RecoveryHint.NONE,
        listener);
  }

  @Test
  void sliceStepsOverTwentyThousandControlBatches() throws IOException {
    for (long segmentBytes : new long[] {1 << 28, 100_000}) {
      SimulatedDisk mine = new SimulatedDisk(9);
      PartitionLog log =
          PartitionLog.open(
              mine,
              LogScript.DIRECTORY,
              LogScript.IDENTITY,
              new LogConfig(FsyncPolicy.OS, 0, segmentBytes),
              RecoveryHint.NONE,
              LogListener.NONE);
      log.append(List.of(new LogEntry(1, 1, records(1, 500, 1, 1))));
      List<LogEntry> commits = new ArrayList<>();
      for (int i = 0; i < RUN; i++) {
        commits.add(new LogEntry(2 + i, 1, control(50, i)));
      }
      log.append(commits);
      assertThat(log.slice(1, log.logEnd(), 1 << 20).isEmpty()).as("no record yet").isTrue();
      log.append(List.of(new LogEntry(2 + RUN, 1, records(2, 700, 1, 1))));

      long reads = mine.reads();
      FetchSlice slice = log.slice(0, 3, 1 << 20);
      assertThat(slice.regions()).hasSize(2);
      assertThat(slice.bytes()).isEqualTo(1200);
      assertThat(slice.nextOffset()).isEqualTo(3);
      ByteBuffer bytes = TestBatches.bytesOf(slice);
      assertThat(BatchHeader.isControl(bytes, 0)).isFalse();
      assertThat(BatchHeader.isControl(bytes, 500)).isFalse();
      assertThat(BatchHeader.baseOffset(bytes, 500)).isEqualTo(1);
      slice.release();
      assertThat(mine.reads() - reads)
          .as("reads of %d segments", log.segmentCount())
          .isLessThan(60);

      FetchSlice second = log.slice(1, 3, 1);
      assertThat(second.baseOffset()).isEqualTo(1);
      assertThat(second.bytes()).isEqualTo(700);
      second.release();
      int[] seen = {0};
      log.forEachControl(1, (index, term, batch) -> seen[0]++);
      assertThat(seen[0]).isEqualTo(RUN);
    }
  }

  @Test
  void fetchLoopOverAlternatingBatchesGetsEveryRecordOnceAndNoControlBatch() throws IOException {
    PartitionLog log = open(50_000, LogListener.NONE);
    List<LogEntry> entries = new ArrayList<>();
    for (int i = 1; i <= 3000; i++) {
      entries.add(new LogEntry(i, 1, i % 2 == 0 ? control(30, i) : records(1, 100, i, i)));
    }
    log.append(entries);
    long position = 0;
    int fetches = 0;
    while (position < log.logEnd()) {
      FetchSlice slice = log.slice(position, log.logEnd(), 1 << 20);
      assertThat(slice.regions().size()).isLessThanOrEqualTo(64);
      ByteBuffer bytes = TestBatches.bytesOf(slice);
      for (int at = 0; at < bytes.limit(); at += 100) {
        assertThat(BatchHeader.isControl(bytes, at)).isFalse();
        assertThat(BatchHeader.baseOffset(bytes, at)).isEqualTo(position++);
      }
      assertThat(slice.nextOffset()).isEqualTo(position);
      slice.release();
      fetches++;
    }
    assertThat(position).isEqualTo(1500);
    assertThat(fetches).isLessThan(30);
  }

  @Test
  void findsTheExactRecordByTime() throws IOException {
    PartitionLog log = open(1 << 20, LogListener.NONE);
    long index = 0;
    for (int batch = 0; batch < 50; batch++) {
      BatchWriter writer =
          new BatchWriter(batch % 2 == 0 ? Compression.NONE : Compression.GZIP, 10_000);
      for (int i = 0; i < 10; i++) {
        long timestamp = 1000 + batch * 100 + i * 10;
        writer.tryAppend(timestamp, null, ("value " + i).getBytes(), List.of());
      }
      log.append(List.of(new LogEntry(++index, 1, writer.build(-1, (short) -1, -1))));
      log.append(List.of(new LogEntry(++index, 1, control(20, batch))));
    }
    for (int batch = 0; batch < 50; batch++) {
      for (int i = 0; i < 10; i++) {
        long timestamp = 1000 + batch * 100 + i * 10;
        OffsetAndTimestamp expected = new OffsetAndTimestamp(batch * 10L + i, timestamp);
        assertThat(log.offsetForTimestamp(timestamp, 0, log.logEnd())).isEqualTo(expected);
        assertThat(log.offsetForTimestamp(timestamp - 9, 0, log.logEnd())).isEqualTo(expected);
      }
    }
    assertThat(log.offsetForTimestamp(0, 0, log.logEnd()))
        .isEqualTo(new OffsetAndTimestamp(0, 1000));
    assertThat(log.offsetForTimestamp(5991, 0, log.logEnd())).isNull();
    assertThat(log.offsetForTimestamp(1500, 0, 50)).isNull();
    assertThat(log.offsetForTimestamp(1500, 0, 60)).isEqualTo(new OffsetAndTimestamp(50, 1500));
  }

  @Test
  void footerSumsUpItsSegment() throws IOException {
    LogListener times =
        new LogListener() {
          @Override
          public void failed(String reason, Throwable cause) {}

          @Override
          public void lowerDurableMark(SyncMark mark) {}

          @Override
          public long logTimeOf(ByteBuffer timeBatch) {
            return TestBatches.timeOf(timeBatch);
          }
        };
    PartitionLog log = open(2000, times);
    log.append(
        List.of(
            new LogEntry(1, 3, time(1000)),
            new LogEntry(2, 3, records(4, 600, 77, 1)),
            new LogEntry(3, 5, time(2000)),
            new LogEntry(4, 5, records(2, 500, 33, 1)),
            new LogEntry(5, 6, control(1, 1)),
            new LogEntry(6, 6, records(1, 900, 50, 1)),
            new LogEntry(7, 6, time(2500))));
    assertThat(log.segmentCount()).isEqualTo(2);
    log.close();
    try (DiskFile file = disk.open(new SegmentName(0, 1).log(LogScript.DIRECTORY), false)) {
      SegmentFoot foot = SegmentFoot.find(file, file.size()).foot();
      assertThat(foot.lastIndex()).isEqualTo(5);
      assertThat(foot.nextOffset()).isEqualTo(6);
      assertThat(foot.maxTimestamp()).isEqualTo(77);
      assertThat(foot.firstLogTime()).isEqualTo(1000);
      assertThat(foot.lastLogTime()).isEqualTo(2000);
      assertThat(foot.recordBytes()).isEqualTo(1100);
      assertThat(foot.epochs().toString())
          .isEqualTo(
              "[term 3 from index 1 offset 0, term 5 from index 3 offset 4, "
                  + "term 6 from index 5 offset 6]");
    }
    FoundSegment second =
        FoundSegment.inspect(disk, LogScript.DIRECTORY, new SegmentName(6, 6), LogScript.IDENTITY);
    assertThat(second.head().logTime()).isEqualTo(2000);
  }

  @Test
  void openFilesStayFewWhateverIsRead() throws IOException {
    LogScript script = new LogScript(8, FsyncPolicy.ALWAYS, 1024);
    script.open();
    while (script.log.segmentCount() < 60) {
      script.append(5);
    }
    script.model.check(script.log, script.random);
    assertThat(script.log.openFiles()).isLessThanOrEqualTo(2 + 4);
    script.close();
  }

  @Test
  void aDeletedIndexOfAnOpenLogIsMadeAgain() throws IOException {
    LogScript script = new LogScript(8, FsyncPolicy.ALWAYS, 1024);
    script.open();
    while (script.log.segmentCount() < 12) {
      script.append(5);
    }
    for (var path : script.disk.allContent().keySet()) {
      if (path.toString().endsWith(".idx")) {
        byte[] content = script.disk.content(path);
        for (int at = 256; at < content.length; at += 64) {
          script.disk.flip(path, at + 5, 1);
        }
      }
    }
    script.model.check(script.log, script.random);
    script.append(5);
    script.truncate(script.model.lastIndex() - 20);
    script.append(5);
    script.model.check(script.log, script.random);
    script.close();
  }

  @Test
  void endOfTermTellsATruncatedReader() throws IOException {
    PartitionLog log = open(1 << 20, LogListener.NONE);
    log.append(
        List.of(
            new LogEntry(1, 2, records(5, 100, 0, 0)),
            new LogEntry(2, 4, control(1, 1)),
            new LogEntry(3, 4, records(3, 100, 0, 0)),
            new LogEntry(4, 7, records(1, 100, 0, 0))));
    assertThat(log.endOffsetOfTerm(1)).isEqualTo(0);
    assertThat(log.endOffsetOfTerm(2)).isEqualTo(5);
    assertThat(log.endOffsetOfTerm(3)).isEqualTo(5);
    assertThat(log.endOffsetOfTerm(4)).isEqualTo(8);
    assertThat(log.endOffsetOfTerm(7)).isEqualTo(9);
    assertThat(log.endOffsetOfTerm(9)).isEqualTo(9);
    assertThat(log.epochs().size()).isEqualTo(3);
  }
}
