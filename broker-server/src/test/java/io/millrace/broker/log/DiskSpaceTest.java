package io.millrace.broker.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.broker.log.DiskSpace.Level;
import io.millrace.broker.log.DiskSpace.Limits;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DiskSpaceTest {

  private static final long MIB = 1L << 20;
  private static final Path DIRECTORY = Path.of("/data");
  private static final Path RESERVE = DIRECTORY.resolve(DiskSpace.RESERVE_FILE);
  private static final Path FOREIGN = DIRECTORY.resolve("foreign");

  private final SimulatedDisk disk = new SimulatedDisk(1);
  private final DiskSpace space =
      new DiskSpace(disk, DIRECTORY, new Limits(40 * MIB, 10 * MIB, 4 * MIB));

  @BeforeEach
  void start() throws IOException {
    disk.createDirectory(DIRECTORY);
    disk.capacity(200 * MIB);
    space.check();
  }

  /** Leaves so much free, whatever else is there. */
  private void leave(long bytes) {
    if (disk.exists(FOREIGN)) {
      disk.lose(FOREIGN);
    }
    disk.put(FOREIGN, new byte[(int) (disk.usableBytes(DIRECTORY) - bytes)]);
    space.check();
  }

  @Test
  void takesTheReserveWhileThereIsRoom() throws IOException {
    assertThat(space.level()).isEqualTo(Level.ROOMY);
    assertThat(disk.content(RESERVE)).hasSize((int) (4 * MIB));
    long operations = disk.operations();
    space.check();
    assertThat(disk.operations()).as("once").isEqualTo(operations);
  }

  @Test
  void getsWorseAtTheLimitsAndBetterOnlyWellAboveThem() {
    leave(41 * MIB);
    assertThat(space.level()).isEqualTo(Level.ROOMY);
    leave(39 * MIB);
    assertThat(space.level()).isEqualTo(Level.LOW);
    leave(45 * MIB);
    assertThat(space.level()).as("not far enough").isEqualTo(Level.LOW);
    leave(51 * MIB);
    assertThat(space.level()).isEqualTo(Level.ROOMY);
  }

  @Test
  void givesTheReserveBackWhenItIsNeededAndTakesItAgain() {
    leave(9 * MIB);
    assertThat(space.level()).isEqualTo(Level.CRITICAL);
    assertThat(disk.exists(RESERVE)).isFalse();
    assertThat(space.freeBytes()).isEqualTo(13 * MIB);
    space.check();
    assertThat(space.level())
        .as("the reserve alone makes nothing better")
        .isEqualTo(Level.CRITICAL);
    leave(20 * MIB);
    assertThat(space.level()).isEqualTo(Level.LOW);
    assertThat(disk.exists(RESERVE)).isFalse();
    leave(60 * MIB);
    assertThat(space.level()).isEqualTo(Level.ROOMY);
    assertThat(disk.content(RESERVE)).hasSize((int) (4 * MIB));
  }

  /** On a small disk the reserve is as large as the room below which it is given back. */
  @Test
  void aLargeReserveAloneMakesNothingBetterEither() throws IOException {
    disk.lose(RESERVE);
    DiskSpace small = new DiskSpace(disk, DIRECTORY, Limits.withLow(40 * MIB));
    small.check();
    assertThat(disk.content(RESERVE)).hasSize((int) (10 * MIB));
    disk.put(FOREIGN, new byte[(int) (disk.usableBytes(DIRECTORY) - 9 * MIB)]);
    small.check();
    assertThat(small.freeBytes()).isEqualTo(19 * MIB);
    small.check();
    assertThat(small.level()).isEqualTo(Level.CRITICAL);
    disk.lose(FOREIGN);
    small.check();
    assertThat(small.level()).isEqualTo(Level.ROOMY);
  }

  @Test
  void looksAgainBeforeItsShareIsUsedUp() {
    leave(48 * MIB);
    // Somebody else fills the disk between two looks.
    disk.lose(FOREIGN);
    disk.put(FOREIGN, new byte[(int) (disk.usableBytes(DIRECTORY) - 39 * MIB)]);
    assertThat(space.level()).isEqualTo(Level.ROOMY);
    int admitted = 0;
    while (space.admits(100_000)) {
      admitted++;
    }
    assertThat(admitted * 100_000L).isLessThanOrEqualTo(MIB);
    assertThat(space.level()).isEqualTo(Level.LOW);
  }

  @Test
  void aStartOnAFullDiskGivesTheReserveBack() throws IOException {
    disk.put(FOREIGN, new byte[(int) (disk.usableBytes(DIRECTORY) - 10)]);
    DiskSpace.makeRoomToStart(disk, DIRECTORY);
    assertThat(disk.exists(RESERVE)).isFalse();
    assertThat(disk.usableBytes(DIRECTORY)).isEqualTo(4 * MIB + 10);
  }

  @Test
  void aStartWithRoomKeepsIt() throws IOException {
    DiskSpace.makeRoomToStart(disk, DIRECTORY);
    assertThat(disk.exists(RESERVE)).isTrue();
  }

  @Test
  void limitsFollowTheDisk() {
    assertThat(Limits.forDiskOf(300 * MIB))
        .isEqualTo(new Limits(30 * MIB, 30 * MIB / 4, 30 * MIB / 4));
    assertThat(Limits.forDiskOf(4000L << 30)).isEqualTo(new Limits(1L << 30, 1L << 28, 64 * MIB));
    assertThatThrownBy(() -> new Limits(5, 10, 0)).hasMessageContaining("low must be at least");
  }
}
