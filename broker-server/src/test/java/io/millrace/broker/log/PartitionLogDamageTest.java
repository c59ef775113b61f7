package io.millrace.broker.log;

import static io.millrace.broker.log.TestBatches.records;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a start makes of files that are not as they were written. */
@Timeout(60)
class PartitionLogDamageTest {

  private static final Path DIRECTORY = LogScript.DIRECTORY;
  private static final boolean POWER_CUT = true;
  private static final boolean KILLED = false;

  private final SimulatedDisk disk = new SimulatedDisk(1);

  private PartitionLog open(FsyncPolicy fsync, RecoveryHint hint) throws IOException {
    return open(LogScript.IDENTITY, fsync, hint);
  }

  private PartitionLog open(LogIdentity identity, FsyncPolicy fsync, RecoveryHint hint)
      throws IOException {
    LogConfig config = new LogConfig(fsync, 100, 4096);
    return PartitionLog.open(disk, DIRECTORY, identity, config, hint, LogListener.NONE);
  }

  private static RecoveryHint hint(long checkpoint, boolean bootChanged) {
    return new RecoveryHint(checkpoint, null, bootChanged);
  }

  private static void append(PartitionLog log, int count) throws IOException {
    for (int i = 0; i < count; i++) {
      long index = log.lastIndex() + 1;
      log.append(List.of(new LogEntry(index, 1 + index / 8, records(2, 200, index, index))));
    }
  }

  private Path lastFile(String suffix) {
    return disk.allContent().keySet().stream()
        .filter(path -> path.toString().endsWith(suffix))
        .reduce((a, b) -> b)
        .orElseThrow();
  }

  private void resize(Path path, int size) {
    byte[] content = disk.content(path);
    disk.lose(path);
    disk.put(path, Arrays.copyOf(content, size));
  }

  private void assertDamaged(RecoveryHint hint, long firstIndex) {
    Map<Path, ByteBuffer> before = disk.allContent();
    assertThatThrownBy(() -> open(FsyncPolicy.ALWAYS, hint))
        .isInstanceOfSatisfying(
            LogDamagedException.class, e -> assertThat(e.firstIndex()).isEqualTo(firstIndex));
    assertThat(disk.allContent()).as("nothing is modified").isEqualTo(before);
  }

  /** Five entries of 200 bytes are synced, five more are not. */
  private int halfSynced() throws IOException {
    PartitionLog log = open(FsyncPolicy.OS, RecoveryHint.NONE);
    append(log, 5);
    log.sync();
    assertThat(log.syncMark().index()).isEqualTo(5);
    int synced = (int) log.syncMark().position();
    append(log, 5);
    disk.kill();
    disk.restart();
    return synced;
  }

  @Test
  void badBatchBelowTheMarkIsDamage() throws IOException {
    int synced = halfSynced();
    disk.flip(lastFile(".log"), synced - 250, 3);
    assertDamaged(hint(0, KILLED), 4);
    assertDamaged(hint(0, POWER_CUT), 4);
  }

  @Test
  void badBatchBelowTheCheckpointOrDurableMarkIsDamage() throws IOException {
    int synced = halfSynced();
    disk.flip(lastFile(".log"), synced + 250, 3);
    assertDamaged(new RecoveryHint(0, new SyncMark(8, 1, synced + 600), POWER_CUT), 7);
    disk.lose(lastFile(".idx"));
    assertDamaged(new RecoveryHint(0, new SyncMark(8, 1, synced + 600), POWER_CUT), 7);
    assertDamaged(hint(8, POWER_CUT), 7);
  }

  @Test
  void aDamagedRangeThatEndsIsKnown() throws IOException {
    PartitionLog log = open(FsyncPolicy.OS, RecoveryHint.NONE);
    log.append(List.of(new LogEntry(1, 1, records(1, 3000, 1, 1))));
    log.append(List.of(new LogEntry(2, 1, records(1, 3000, 1, 1))));
    log.append(List.of(new LogEntry(3, 1, records(1, 3000, 1, 1))));
    log.close();
    Path first = disk.allContent().keySet().stream().filter(SegmentName::isLog).findFirst().get();
    disk.flip(first, 300, 0);
    PartitionLog again = open(FsyncPolicy.OS, RecoveryHint.NONE);
    assertThatThrownBy(() -> again.read(1))
        .isInstanceOf(LogDamagedException.class)
        .hasMessageContaining("entries 1 to 1")
        .hasMessageContaining("checksum");
    assertThat(again.read(2)).isNotNull();
  }

  @Test
  void badBatchAboveTheMarkIsCutAfterAPowerCut() throws IOException {
    int synced = halfSynced();
    disk.flip(lastFile(".log"), synced + 250, 3);
    try (PartitionLog log = open(FsyncPolicy.ALWAYS, hint(0, POWER_CUT))) {
      assertThat(log.lastIndex()).isEqualTo(6);
      assertThat(log.recovery().bytesCut()).isEqualTo(800);
      assertThat(log.recovery().firstIndexCut()).isEqualTo(7);
      assertThat(log.recovery().oneLine()).contains("cut 800 bytes from index 7 on");
      append(log, 1);
    }
    try (PartitionLog log = open(FsyncPolicy.ALWAYS, hint(0, POWER_CUT))) {
      assertThat(log.lastIndex()).isEqualTo(7);
      assertThat(log.recovery().bytesCut()).isZero();
    }
  }

  @Test
  void badBatchOfFullLengthIsDamageAfterAKill() throws IOException {
    int synced = halfSynced();
    disk.flip(lastFile(".log"), synced + 250, 3);
    assertDamaged(hint(0, KILLED), 7);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 60, 61, 199})
  void batchCutShortAboveTheMarkIsCut(int rest) throws IOException {
    int synced = halfSynced();
    resize(lastFile(".log"), synced + 200 + rest);
    try (PartitionLog log = open(FsyncPolicy.ALWAYS, hint(0, KILLED))) {
      assertThat(log.lastIndex()).isEqualTo(6);
      assertThat(log.recovery().bytesCut()).isEqualTo(rest);
    }
  }

  @Test
  void fileThatEndsBelowTheMarkIsDamage() throws IOException {
    int synced = halfSynced();
    resize(lastFile(".log"), synced - 100);
    assertDamaged(hint(0, KILLED), 5);
    assertDamaged(hint(0, POWER_CUT), 5);
    resize(lastFile(".log"), synced - 200);
    assertDamaged(hint(0, KILLED), 5);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 7, 60, 61, 100})
  void newestSegmentCutIntoItsHeadOpensIfNothingWasSyncedInIt(int size) throws IOException {
    PartitionLog log = open(FsyncPolicy.OS, RecoveryHint.NONE);
    append(log, 19);
    assertThat(log.segmentCount()).isEqualTo(1);
    append(log, 1);
    assertThat(log.segmentCount()).isEqualTo(2);
    disk.kill();
    disk.restart();
    resize(lastFile(".log"), size);
    for (boolean bootChanged : new boolean[] {KILLED, POWER_CUT}) {
      try (PartitionLog again = open(FsyncPolicy.ALWAYS, hint(0, bootChanged))) {
        assertThat(again.lastIndex()).isEqualTo(19);
        assertThat(again.logEnd()).isEqualTo(38);
      }
      resize(lastFile(".log"), size);
      disk.lose(lastFile(".idx"));
    }
    RecoveryHint synced = new RecoveryHint(0, new SyncMark(20, 20, 332), KILLED);
    assertDamaged(synced, 20);
  }

  @Test
  void checkpointBeyondTheLogIsDamage() throws IOException {
    halfSynced();
    assertDamaged(hint(11, KILLED), 11);
    disk.lose(lastFile(".log"));
    assertDamaged(hint(1, KILLED), 1);
  }

  @Test
  void missingSegmentIsDamageIfItWasSyncedElseTheRestIsSetAside() throws IOException {
    PartitionLog log = open(FsyncPolicy.OS, RecoveryHint.NONE);
    append(log, 60);
    disk.kill();
    disk.restart();
    List<Path> logs = disk.allContent().keySet().stream().filter(SegmentName::isLog).toList();
    assertThat(logs).hasSizeGreaterThan(3);
    disk.lose(logs.get(1));
    long lost = SegmentName.parse(logs.get(1)).firstIndex();
    assertDamaged(hint(lost, KILLED), lost);
    try (PartitionLog again = open(FsyncPolicy.OS, hint(0, KILLED))) {
      assertThat(again.lastIndex()).isEqualTo(lost - 1);
      assertThat(again.recovery().setAside()).hasSize(logs.size() - 2);
      assertThat(again.recovery().setAside().get(0).toString()).contains("aside-1");
      append(again, 3);
    }
  }

  @Test
  void foreignAndNewerFilesAreRefusedUntouched() throws IOException {
    PartitionLog log = open(FsyncPolicy.ALWAYS, RecoveryHint.NONE);
    append(log, 3);
    log.close();
    Map<Path, ByteBuffer> before = disk.allContent();
    for (LogIdentity other :
        List.of(
            new LogIdentity("cluster-2", new UUID(7, 8), 2),
            new LogIdentity("cluster-1", new UUID(7, 9), 2),
            new LogIdentity("cluster-1", new UUID(7, 8), 3))) {
      assertThatThrownBy(() -> open(other, FsyncPolicy.ALWAYS, hint(0, POWER_CUT)))
          .isInstanceOf(LogFormatException.class)
          .hasMessageContaining("belongs to cluster cluster-1, topic")
          .hasMessageContaining("expected " + other);
    }
    assertThat(disk.allContent()).isEqualTo(before);

    Path file = lastFile(".log");
    byte[] content = disk.content(file);
    ByteBuffer head = newerHead(content);
    ByteBuffer replaced = ByteBuffer.wrap(content);
    replaced.put(0, head, 0, head.remaining());
    disk.put(file, content);
    before = disk.allContent();
    assertThatThrownBy(() -> open(FsyncPolicy.ALWAYS, hint(0, POWER_CUT)))
        .isInstanceOf(LogFormatException.class)
        .hasMessageContaining("segment format version 2, this broker knows up to 1");
    assertThat(disk.allContent()).isEqualTo(before);
  }

  private static ByteBuffer newerHead(byte[] file) {
    int headBytes = (int) BatchHeader.sizeInBytes(ByteBuffer.wrap(file), 0);
    try {
      ByteBuffer batch = ByteBuffer.wrap(file, 0, headBytes).slice();
      byte[] value = ControlBatch.decode(batch).value().toByteArray();
      value[1] = 2;
      return ControlBatch.encode(ControlType.SEGMENT_HEAD.code(), value);
    } catch (io.millrace.protocol.batch.InvalidBatchException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void renamedSegmentIsRefused() throws IOException {
    PartitionLog log = open(FsyncPolicy.ALWAYS, RecoveryHint.NONE);
    append(log, 3);
    log.close();
    byte[] content = disk.content(lastFile(".log"));
    disk.lose(lastFile(".log"));
    disk.put(new SegmentName(0, 2).log(DIRECTORY), content);
    assertThatThrownBy(() -> open(FsyncPolicy.ALWAYS, RecoveryHint.NONE))
        .isInstanceOf(LogFormatException.class)
        .hasMessageContaining("was written as");
  }

  /** Whatever single bit rots, nobody is ever given anything but what was written. */
  @Test
  void noFlippedBitIsEverServed() throws IOException {
    LogScript script = new LogScript(11, FsyncPolicy.ALWAYS, 1024);
    script.open();
    script.append(12);
    script.append(4);
    script.close();
    Map<Path, ByteBuffer> whole = script.disk.allContent();
    assertThat(whole.keySet().stream().filter(SegmentName::isLog)).hasSizeGreaterThan(2);
    int refused = 0;
    int found = 0;
    int harmless = 0;
    for (Map.Entry<Path, ByteBuffer> file : whole.entrySet()) {
      for (int at = 0; at < file.getValue().remaining(); at++) {
        whole.forEach((path, content) -> script.disk.put(path, content.array()));
        script.disk.flip(file.getKey(), at, at % 8);
        Throwable thrown = catchThrowable(script::open);
        if (thrown != null) {
          assertThat(thrown)
              .as("bit %d of byte %d of %s", at % 8, at, file.getKey())
              .isInstanceOfAny(LogDamagedException.class, LogFormatException.class);
          refused++;
          continue;
        }
        boolean damaged = false;
        for (ModelLog.Item item : script.model.items) {
          try {
            assertThat(script.log.read(item.index()))
                .as("bit %d of byte %d of %s", at % 8, at, file.getKey())
                .isEqualTo(item.stored());
          } catch (LogDamagedException e) {
            damaged = true;
          }
        }
        if (damaged) {
          found++;
        } else {
          harmless++;
        }
        script.log.close();
      }
    }
    assertThat(refused).as("refused at the start").isPositive();
    assertThat(found).as("found by reading").isPositive();
    assertThat(harmless).as("in what is derived").isPositive();
  }

  @Test
  void indexIsMadeAgainWhenMissingOrDamaged() throws IOException {
    LogScript script = new LogScript(5, FsyncPolicy.ALWAYS, 1024);
    script.open();
    for (int i = 0; i < 10; i++) {
      script.append(6);
    }
    script.close();
    Map<Path, ByteBuffer> whole = script.disk.allContent();
    List<Path> indexes =
        whole.keySet().stream().filter(path -> path.toString().endsWith(".idx")).toList();
    for (int kind = 0; kind < 5; kind++) {
      for (Path index : indexes) {
        byte[] content = whole.get(index).array().clone();
        switch (kind) {
          case 0 -> script.disk.lose(index);
          case 1 -> script.disk.put(index, new byte[0]);
          case 2 -> script.disk.put(index, Arrays.copyOf(content, content.length - 64));
          case 3 -> script.disk.put(index, new byte[content.length]);
          default -> {
            Arrays.fill(content, 256, 256 + 10, (byte) 9);
            script.disk.put(index, content);
          }
        }
      }
      script.open();
      script.model.check(script.log, script.random);
      script.close();
      script.open();
      assertThat(script.lastReport.bytesCut()).isZero();
      script.model.check(script.log, script.random);
      script.close();
    }
  }

  @Test
  void damagedFooterIsWrittenAgain() throws IOException {
    PartitionLog log = open(FsyncPolicy.ALWAYS, RecoveryHint.NONE);
    append(log, 40);
    log.close();
    Path first = disk.allContent().keySet().stream().filter(SegmentName::isLog).findFirst().get();
    byte[] content = disk.content(first);
    disk.flip(first, content.length - 30, 2);
    try (PartitionLog again = open(FsyncPolicy.ALWAYS, RecoveryHint.NONE)) {
      assertThat(again.recovery().oneLine()).contains("footer").contains("written again");
      assertThat(again.lastIndex()).isEqualTo(40);
      assertThat(disk.content(first)).isEqualTo(content);
    }
  }

  @Test
  void startReadsOnlyBehindTheCheckpoint() throws IOException {
    LogConfig large = new LogConfig(FsyncPolicy.ALWAYS, 0, 1 << 20);
    PartitionLog log =
        PartitionLog.open(
            disk, DIRECTORY, LogScript.IDENTITY, large, RecoveryHint.NONE, LogListener.NONE);
    append(log, 2000);
    SyncMark mark = log.syncMark();
    log.close();
    PartitionLog again =
        PartitionLog.open(
            disk,
            DIRECTORY,
            LogScript.IDENTITY,
            large,
            new RecoveryHint(1990, mark, KILLED),
            LogListener.NONE);
    assertThat(again.lastIndex()).isEqualTo(2000);
    assertThat(again.recovery().batchesChecked()).isLessThan(40);
    assertThat(again.termAt(1)).isEqualTo(1);
    assertThat(again.termAt(1000)).isEqualTo(126);
    assertThat(again.read(3)).isNotNull();
  }
}
