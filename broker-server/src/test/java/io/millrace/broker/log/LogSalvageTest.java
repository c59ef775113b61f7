package io.millrace.broker.log;

import static io.millrace.broker.log.TestBatches.records;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is kept of a damaged log, and that nothing of the rest is destroyed. */
@Timeout(60)
class LogSalvageTest {

  private static final Path DIRECTORY = LogScript.DIRECTORY;
  private static final int ENTRIES = 100;

  private SimulatedDisk disk = new SimulatedDisk(1);
  private final List<ByteBuffer> written = new ArrayList<>();

  @BeforeEach
  void write() throws IOException {
    try (PartitionLog log = open()) {
      for (long index = 1; index <= ENTRIES; index++) {
        log.append(List.of(new LogEntry(index, 1 + index / 40, records(2, 200, index, index))));
      }
      for (long index = 1; index <= ENTRIES; index++) {
        written.add(log.read(index));
      }
      assertThat(log.segmentCount()).isGreaterThan(4);
    }
  }

  private PartitionLog open() throws IOException {
    return PartitionLog.open(
        disk,
        DIRECTORY,
        LogScript.IDENTITY,
        new LogConfig(FsyncPolicy.OS, 0, 4096),
        RecoveryHint.NONE,
        LogListener.NONE);
  }

  private LogSalvage salvage() {
    return new LogSalvage(disk, DIRECTORY, LogScript.IDENTITY, bytes -> {});
  }

  private List<Path> segments() {
    return disk.allContent().keySet().stream()
        .filter(path -> path.getParent().equals(DIRECTORY) && SegmentName.parse(path) != null)
        .filter(SegmentName::isLog)
        .sorted()
        .toList();
  }

  private void assertKeeps(long last) throws IOException {
    try (PartitionLog log = open()) {
      assertThat(log.lastIndex()).isEqualTo(last);
      for (long index = 1; index <= last; index++) {
        assertThat(log.read(index)).isEqualTo(written.get((int) index - 1));
      }
      long next = last + 1;
      log.append(List.of(new LogEntry(next, 9, records(1, 100, 1, 1))));
      assertThat(log.lastIndex()).isEqualTo(next);
    }
  }

  @Test
  void aWholeLogKeepsEverything() throws IOException {
    assertThat(salvage().run().reason()).isNull();
    assertKeeps(ENTRIES);
  }

  @Test
  void fromTheFirstDamagedSegmentOnAllIsSetAside() throws IOException {
    List<Path> segments = segments();
    Path damaged = segments.get(2);
    long first = SegmentName.parse(damaged).firstIndex();
    disk.flip(damaged, 2000, 3);
    Map<Path, ByteBuffer> before = disk.allContent();

    LogSalvage.Result result = salvage().run();

    assertThat(result.reason()).contains(damaged.getFileName().toString()).contains("checksum");
    assertThat(result.setAside()).hasSize(segments.size() - 2);
    for (Path moved : result.setAside()) {
      assertThat(disk.allContent().get(moved))
          .isEqualTo(before.get(DIRECTORY.resolve(moved.getFileName())));
    }
    assertKeeps(first - 1);
  }

  @Test
  void aMissingSegmentEndsTheLog() throws IOException {
    Path missing = segments().get(1);
    disk.lose(missing);
    assertThat(salvage().run().reason()).contains("does not go on");
    assertKeeps(SegmentName.parse(missing).firstIndex() - 1);
  }

  @Test
  void aTornLastSegmentGoesAsAWhole() throws IOException {
    Path last = segments().get(segments().size() - 1);
    disk.flip(last, disk.content(last).length - 5, 1);
    assertThat(salvage().run().reason()).contains(last.getFileName().toString());
    assertKeeps(SegmentName.parse(last).firstIndex() - 1);
  }

  /** What it can read there may be in the page cache only, and no later fsync tells. */
  @Test
  void whatAFailedFsyncCoveredIsNotKept() throws IOException {
    long synced;
    try (PartitionLog log = open()) {
      synced = log.syncMark().index();
      for (int i = 1; i <= 20; i++) {
        log.append(List.of(new LogEntry(ENTRIES + i, 9, records(2, 200, i, i))));
      }
      disk.failSync(1);
      assertThatThrownBy(log::sync).isInstanceOf(LogFailedException.class);
    }
    assertThat(synced).isEqualTo(ENTRIES);
    long first = SegmentName.parse(segments().get(0)).firstIndex();
    for (Path segment : segments()) {
      long begin = SegmentName.parse(segment).firstIndex();
      first = begin <= synced ? begin : first;
    }

    assertThat(salvage().run().reason()).contains("whose fsync failed");
    assertKeeps(first - 1);
  }

  @Test
  void entriesThatNobodyElseHasAreSetAsideFromTheirSegmentOn() throws IOException {
    List<Path> segments = segments();
    long first = SegmentName.parse(segments.get(3)).firstIndex();
    assertThat(salvage().setAsideFrom(first + 1)).hasSize(segments.size() - 3);
    assertKeeps(first - 1);
  }

  @Test
  void anotherLogIsRefusedAndLeftAlone() {
    Map<Path, ByteBuffer> before = disk.allContent();
    LogIdentity other =
        new LogIdentity("other", LogScript.IDENTITY.topicId(), LogScript.IDENTITY.partition());
    assertThatThrownBy(() -> new LogSalvage(disk, DIRECTORY, other, bytes -> {}).run())
        .isInstanceOf(LogFormatException.class);
    assertThat(disk.allContent()).isEqualTo(before);
  }

  /** Killed before every single operation, it can be used again and comes to the same end. */
  @Test
  void aCrashOnTheWayCostsNothing() throws IOException {
    Path damaged = segments().get(2);
    long first = SegmentName.parse(damaged).firstIndex();
    for (int operations = 1; ; operations++) {
      disk = new SimulatedDisk(operations);
      written.clear();
      write();
      disk.flip(damaged, 2000, 3);
      disk.killAfter(operations);
      try {
        salvage().run();
        assertThat(operations).as("operations of a salvage").isGreaterThan(10);
        return;
      } catch (IOException killed) {
        assertThat(disk.isDead()).isTrue();
        disk.restart();
        salvage().run();
        assertKeeps(first - 1);
      }
    }
  }
}
