package io.millrace.broker.log;

import static io.millrace.broker.log.TestBatches.records;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class DirectDiskTest {

  private final DirectDisk disk = new DirectDisk();

  @TempDir Path directory;

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes());
  }

  private static String read(DiskFile file, int from, int length) throws IOException {
    ByteBuffer target = ByteBuffer.allocate(length);
    assertThat(file.readFully(target, from)).isTrue();
    return new String(target.array());
  }

  @Test
  void readsWhatWasWrittenAtPositions() throws IOException {
    Path path = directory.resolve("a");
    assertThatThrownBy(() -> disk.open(path, false)).isInstanceOf(NoSuchFileException.class);
    try (DiskFile file = disk.open(path, true)) {
      file.write(bytes("hello world"), 0);
      file.write(bytes("W"), 6);
      file.sync();
      assertThat(file.size()).isEqualTo(11);
      assertThat(read(file, 6, 5)).isEqualTo("World");
      assertThat(file.readFully(ByteBuffer.allocate(12), 0)).isFalse();
      assertThat(file.read(ByteBuffer.allocate(1), 11)).isEqualTo(-1);
      ByteArrayOutputStream sent = new ByteArrayOutputStream();
      assertThat(file.transferTo(6, 5, Channels.newChannel(sent))).isEqualTo(5);
      assertThat(sent.toString()).isEqualTo("World");
      file.truncate(5);
      assertThat(file.size()).isEqualTo(5);
      assertThat(file.channelOrNull()).isNotNull();
    }
    assertThat(Files.readString(path)).isEqualTo("hello");
  }

  @Test
  void keepsNamesAndDirectories() throws IOException {
    Path deep = directory.resolve("x/y/z");
    disk.createDirectory(deep);
    disk.createDirectory(deep);
    disk.open(deep.resolve("b"), true).close();
    disk.open(deep.resolve("a"), true).close();
    assertThat(disk.list(deep)).containsExactly(deep.resolve("a"), deep.resolve("b"));
    disk.rename(deep.resolve("a"), deep.resolve("b"));
    disk.syncDirectory(deep);
    assertThat(disk.list(deep)).containsExactly(deep.resolve("b"));
    disk.delete(deep.resolve("b"));
    assertThat(disk.exists(deep.resolve("b"))).isFalse();
    assertThat(disk.usableBytes(deep)).isPositive();
    assertThat(disk.bootId()).isNotBlank().isEqualTo(new DirectDisk().bootId());
  }

  @Test
  void anInterruptedThreadNeitherFailsNorClosesTheFileForOthers() throws IOException {
    Path path = directory.resolve("a");
    try (DiskFile file = disk.open(path, true)) {
      Thread.currentThread().interrupt();
      file.write(bytes("written"), 0);
      assertThat(read(file, 0, 7)).isEqualTo("written");
      file.sync();
      file.truncate(3);
      assertThat(file.size()).isEqualTo(3);
      assertThat(Thread.interrupted()).as("the interrupt is left to the caller").isTrue();
      assertThat(read(file, 0, 3)).isEqualTo("wri");
    }
  }

  @Test
  void aFileBehindAnotherNameIsNotReopenedAsTheNewOneOfThatName() throws IOException {
    Path path = directory.resolve("a");
    DiskFile file = disk.open(path, true);
    file.write(bytes("old"), 0);
    disk.rename(path, directory.resolve("aside"));
    Files.writeString(path, "new");
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> read(file, 0, 3)).isInstanceOf(IOException.class);
    assertThat(Thread.interrupted()).isTrue();
    file.close();
    assertThatThrownBy(() -> read(file, 0, 3)).isInstanceOf(IOException.class);
  }

  @Test
  void logOnTheRealDiskSurvivesReopening() throws IOException {
    LogConfig config = new LogConfig(FsyncPolicy.ALWAYS, 0, 100_000);
    Path log = directory.resolve("t/0");
    for (int round = 0; round < 3; round++) {
      try (PartitionLog open =
          PartitionLog.open(
              disk, log, LogScript.IDENTITY, config, RecoveryHint.NONE, LogListener.NONE)) {
        assertThat(open.lastIndex()).isEqualTo(round * 101L);
        for (int i = 0; i < 100; i++) {
          long index = open.lastIndex() + 1;
          open.append(List.of(new LogEntry(index, 1 + round, records(1, 3000, index, index))));
        }
        long large = open.lastIndex() + 1;
        open.append(List.of(new LogEntry(large, 1 + round, records(9, 700_000, large, large))));
        assertThat(open.read(large).remaining()).isEqualTo(700_000);
        FetchSlice slice = open.slice(0, open.logEnd(), Integer.MAX_VALUE);
        assertThat(slice.bytes()).isEqualTo((round + 1) * 1_000_000);
        slice.release();
      }
    }
    assertThat(disk.list(log)).hasSizeGreaterThan(20);
  }
}
