package io.millrace.broker.raft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.millrace.broker.log.DirectDisk;
import io.millrace.broker.log.Disk;
import io.millrace.broker.raft.message.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CheckpointStoreTest {

  @TempDir Path directory;
  private final Disk disk = new DirectDisk();

  @Test
  void theTwoNewestStayAndTheNewestComesFirst() throws IOException {
    CheckpointStore store = CheckpointStore.open(disk, directory);
    assertThat(store.checkpoints()).isEmpty();
    for (long index = 10; index <= 50; index += 10) {
      store.write(checkpoint(index));
    }
    assertThat(CheckpointStore.open(disk, directory).checkpoints())
        .containsExactly(checkpoint(50), checkpoint(40));
    // A store that was opened again overwrites the older one first.
    CheckpointStore.open(disk, directory).write(checkpoint(60));
    assertThat(CheckpointStore.open(disk, directory).checkpoints())
        .containsExactly(checkpoint(60), checkpoint(50));
  }

  @Test
  void everyFlippedByteIsFoundAndTheOlderOneServes() throws IOException {
    CheckpointStore store = CheckpointStore.open(disk, directory);
    store.write(checkpoint(10));
    store.write(checkpoint(20));
    Path newest = directory.resolve("checkpoint.1");
    byte[] whole = Files.readAllBytes(newest);
    for (int at = 0; at < whole.length; at++) {
      byte[] damaged = whole.clone();
      damaged[at] ^= 0x04;
      Files.write(newest, damaged);
      if (at == 4 || at == 5) {
        assertThatThrownBy(() -> CheckpointStore.open(disk, directory))
            .hasMessageContaining("format version");
      } else if (at != 6 && at != 7) {
        CheckpointStore opened = CheckpointStore.open(disk, directory);
        assertThat(opened.checkpoints()).as("byte %d", at).containsExactly(checkpoint(10));
        assertThat(opened.damaged()).hasSize(1);
      }
    }
  }

  @Test
  void everyShorterFileIsFound() throws IOException {
    CheckpointStore store = CheckpointStore.open(disk, directory);
    store.write(checkpoint(10));
    Path file = directory.resolve("checkpoint.0");
    byte[] whole = Files.readAllBytes(file);
    for (int length = 0; length < whole.length; length++) {
      Files.write(file, java.util.Arrays.copyOf(whole, length));
      CheckpointStore opened = CheckpointStore.open(disk, directory);
      assertThat(opened.checkpoints()).as("%d bytes", length).isEmpty();
      assertThat(opened.damaged()).hasSize(1);
    }
  }

  @Test
  void aCopyOfTheNewestTakesThePlaceOfTheOlder() throws IOException {
    CheckpointStore store = CheckpointStore.open(disk, directory);
    assertThat(store.newestIndex()).isZero();
    store.write(checkpoint(10));
    assertThat(store.oldestIndex()).isZero();
    store.write(checkpoint(20));
    assertThat(store.newestIndex()).isEqualTo(20);
    assertThat(store.oldestIndex()).isEqualTo(10);
    store.copyNewest();
    assertThat(store.oldestIndex()).isEqualTo(20);
    assertThat(CheckpointStore.open(disk, directory).checkpoints())
        .containsExactly(checkpoint(20), checkpoint(20));

    // Either of the two may be damaged now; and what cannot be read back is not copied.
    CheckpointStore again = CheckpointStore.open(disk, directory);
    assertThat(again.oldestIndex()).isEqualTo(20);
    again.write(checkpoint(30));
    Path newest = directory.resolve("checkpoint.1");
    byte[] damaged = Files.readAllBytes(newest);
    damaged[damaged.length - 1] ^= 1;
    Files.write(newest, damaged);
    assertThatThrownBy(again::copyNewest)
        .isInstanceOf(IOException.class)
        .hasMessageContaining("checkpoint.1")
        .hasMessageContaining("CRC");
    assertThat(again.oldestIndex()).isEqualTo(20);
    assertThat(CheckpointStore.open(disk, directory).checkpoints()).containsExactly(checkpoint(20));
  }

  private static Checkpoint checkpoint(long index) {
    return Checkpoint.newBuilder()
        .setIndex(index)
        .setTerm(3)
        .setState(ByteString.copyFromUtf8("state at " + index))
        .build();
  }
}
