package io.millrace.broker.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReadOnlyDiskTest {

  @TempDir Path directory;
  private final Disk disk = new ReadOnlyDisk();

  private static void isRefused(ThrowingCallable change) {
    assertThatThrownBy(change)
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageStartingWith("read-only: refused to");
  }

  @Test
  void readsAndChangesNothing() throws IOException {
    Path path = directory.resolve("a");
    Files.writeString(path, "content");
    try (DiskFile file = disk.open(path, false)) {
      ByteBuffer bytes = ByteBuffer.allocate(3);
      assertThat(file.readFully(bytes, 4)).isTrue();
      assertThat(new String(bytes.array())).isEqualTo("ent");
      assertThat(file.size()).isEqualTo(7);
      isRefused(() -> file.write(ByteBuffer.allocate(1), 0));
      isRefused(() -> file.truncate(0));
      isRefused(file::sync);
    }
    isRefused(() -> disk.open(path, true));
    isRefused(() -> disk.delete(path));
    isRefused(() -> disk.rename(path, directory.resolve("b")));
    isRefused(() -> disk.createDirectory(directory.resolve("c")));
    isRefused(() -> disk.syncDirectory(directory));
    isRefused(disk::writeBuffers);
    assertThatThrownBy(() -> disk.open(directory.resolve("missing"), false))
        .isInstanceOf(NoSuchFileException.class);
    assertThat(disk.list(directory)).containsExactly(path);
    assertThat(Files.readString(path)).isEqualTo("content");
  }
}
