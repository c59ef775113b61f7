package io.millrace.broker.log;

import static io.millrace.broker.log.TestBatches.bytesOf;
import static io.millrace.broker.log.TestBatches.control;
import static io.millrace.broker.log.TestBatches.records;
import static io.millrace.broker.log.TestBatches.stored;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class PartitionLogTest {

  private static final LogIdentity IDENTITY = new LogIdentity("c1", new UUID(1, 2), 3);
  private static final LogConfig SMALL = new LogConfig(FsyncPolicy.ALWAYS, 0, 4096);

  private final Disk disk = new DirectDisk();

  @TempDir Path directory;

  private PartitionLog open() throws IOException {
    return PartitionLog.open(disk, directory, IDENTITY, SMALL, RecoveryHint.NONE, LogListener.NONE);
  }

  @Test
  void writesReadsAndReopens() throws IOException {
    List<LogEntry> entries = new ArrayList<>();
    long index = 0;
    for (int i = 0; i < 100; i++) {
      entries.add(
          new LogEntry(
              ++index, 1 + i / 30, i % 3 == 0 ? control(40, i) : records(3, 200 + i, i, i)));
    }
    for (int round = 0; round < 2; round++) {
      try (PartitionLog log = open()) {
        if (round == 0) {
          assertThat(log.lastIndex()).isZero();
          log.append(entries.subList(0, 1));
          log.append(entries.subList(1, 50));
          log.append(entries.subList(50, 100));
        }
        assertThat(log.lastIndex()).isEqualTo(100);
        assertThat(log.segmentCount()).isGreaterThan(3);
        long offset = 0;
        for (LogEntry entry : entries) {
          assertThat(log.read(entry.index()))
              .isEqualTo(stored(entry.batch(), offset, entry.term()));
          assertThat(log.termAt(entry.index())).isEqualTo(entry.term());
          boolean isControl = (entry.index() - 1) % 3 == 0;
          if (!isControl) {
            FetchSlice slice = log.slice(offset + 1, log.logEnd(), 1);
            assertThat(slice.baseOffset()).isEqualTo(offset);
            assertThat(slice.nextOffset()).isEqualTo(offset + 3);
            assertThat(slice.lastTerm()).isEqualTo((int) entry.term());
            assertThat(bytesOf(slice)).isEqualTo(stored(entry.batch(), offset, entry.term()));
            slice.release();
            offset += 3;
          }
          assertThat(log.endOffsetAt(entry.index())).isEqualTo(offset);
        }
        assertThat(log.logEnd()).isEqualTo(offset);
        List<Long> controls = new ArrayList<>();
        log.forEachControl(1, (i, term, batch) -> controls.add(i));
        assertThat(controls).hasSize(34).startsWith(1L, 4L).endsWith(100L);
      }
    }
    try (PartitionLog log = open()) {
      log.truncateSuffix(40);
      assertThat(log.lastIndex()).isEqualTo(40);
      assertThat(log.read(41)).isNull();
      assertThat(log.read(40)).isNotNull();
      log.append(List.of(new LogEntry(41, 9, records(1, 100, 5, 5))));
      assertThat(log.termAt(41)).isEqualTo(9);
    }
    try (PartitionLog log = open()) {
      assertThat(log.lastIndex()).isEqualTo(41);
      assertThat(log.termAt(41)).isEqualTo(9);
      assertThat(log.termAt(40)).isEqualTo(2);
    }
  }
}
