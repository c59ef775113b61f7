package io.millrace.broker.raft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.broker.log.DirectDisk;
import io.millrace.broker.log.Disk;
import io.millrace.broker.log.SimulatedDisk;
import io.millrace.broker.log.SyncMark;
import io.millrace.broker.raft.message.StoredHealth;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class VotesJournalTest {

  private static final int BROKER = 1;

  @TempDir Path directory;
  private final Disk disk = new DirectDisk();

  @BeforeEach
  void create() throws IOException {
    VotesJournal.create(disk, directory);
  }

  @Test
  void everythingStoredIsThereAfterReopen() throws IOException {
    try (VotesJournal votes = VotesJournal.open(disk, directory, BROKER)) {
      votes.saveVote("g1", 7, "b2:0:0");
      votes.saveHealth("g2", StoredHealth.STORED_NO_VOTE, "cut below the sync mark");
      votes.saveMarks(Map.of("g1", new SyncMark(40, 1, 4096)));
      votes.saveVote("g3", 1, "b1:0:0");
      votes.remove("g3");
    }
    try (VotesJournal votes = VotesJournal.open(disk, directory, BROKER)) {
      assertThat(votes.state("g1"))
          .isEqualTo(
              new GroupState(7, "b2:0:0", StoredHealth.STORED_OK, "", new SyncMark(40, 1, 4096)));
      assertThat(votes.state("g2").health()).isEqualTo(StoredHealth.STORED_NO_VOTE);
      assertThat(votes.state("g2").reason()).isEqualTo("cut below the sync mark");
      assertThat(votes.state("g3")).isEqualTo(GroupState.NEW);
    }
  }

  @Test
  void manyThreadsShareWritesAndTheFileIsCompacted() throws IOException {
    int groups = 20;
    int terms = 400;
    ExecutorService threads = Executors.newFixedThreadPool(groups);
    try (VotesJournal votes = VotesJournal.open(disk, directory, BROKER)) {
      List<CompletableFuture<Void>> all = new ArrayList<>();
      for (int g = 0; g < groups; g++) {
        String group = "t-00000000-0000-0000-0000-000000000000-" + g;
        all.add(
            CompletableFuture.runAsync(
                () -> {
                  for (int term = 1; term <= terms; term++) {
                    save(votes, group, term);
                  }
                },
                threads));
      }
      all.forEach(CompletableFuture::join);
    } finally {
      threads.shutdown();
    }
    assertThat(Files.size(directory.resolve(VotesJournal.FILE_A)))
        .isEqualTo(VotesFile.PREALLOCATED_BYTES);
    try (VotesJournal votes = VotesJournal.open(disk, directory, BROKER)) {
      for (int g = 0; g < groups; g++) {
        assertThat(votes.state("t-00000000-0000-0000-0000-000000000000-" + g).term())
            .isEqualTo(terms);
      }
    }
  }

  /** The files are full when the disk is: votes have to wait, and nobody has to come and help. */
  @Test
  void withoutRoomForNewFilesNothingIsForgottenAndLaterItGoesOn() throws IOException {
    SimulatedDisk full = new SimulatedDisk(1);
    full.createDirectory(directory);
    VotesJournal.create(full, directory);
    try (VotesJournal votes = VotesJournal.open(full, directory, BROKER)) {
      votes.saveVote("g1", 1, "b1:0:0");
      full.capacity(full.usedBytes());
      long term = 2;
      String refusal = null;
      while (refusal == null) {
        try {
          votes.saveVote("g1", term, "b2:0:0");
          term++;
        } catch (IOException e) {
          refusal = e.getMessage();
        }
        assertThat(term).isLessThan(100_000);
      }
      assertThat(refusal).contains("No space left");
      assertThat(votes.state("g1").term()).as("what is stored").isEqualTo(term - 1);
      assertThatThrownBy(() -> votes.saveVote("new", 5, "")).isInstanceOf(IOException.class);
      assertThat(votes.knows("new")).isFalse();

      full.capacity(Long.MAX_VALUE);
      votes.saveVote("g1", term, "b3:0:0");
      votes.saveVote("new", 6, "");
      assertThat(votes.state("g1").term()).isEqualTo(term);
      full.kill();
      full.restart();
      try (VotesJournal again = VotesJournal.open(full, directory, BROKER)) {
        assertThat(again.state("g1").term()).isEqualTo(term);
        assertThat(again.state("new").term()).isEqualTo(6);
      }
    }
  }

  private static void save(VotesJournal votes, String group, long term) {
    try {
      votes.saveVote(group, term, "b1:0:0");
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void eitherCopyAloneIsEnough() throws IOException {
    for (String victim : List.of(VotesJournal.FILE_A, VotesJournal.FILE_B)) {
      try (VotesJournal votes = VotesJournal.open(disk, directory, BROKER)) {
        votes.saveVote("g", votes.state("g").term() + 1, "b3:0:0");
      }
      Files.delete(directory.resolve(victim));
      long expected = VotesJournal.FILE_A.equals(victim) ? 1 : 2;
      try (VotesJournal votes = VotesJournal.open(disk, directory, BROKER)) {
        assertThat(votes.state("g").term()).isEqualTo(expected);
      }
      assertThat(Files.exists(directory.resolve(victim))).isTrue();
    }
  }

  @Test
  void oneFlippedByteInOneCopyLosesNothing() throws IOException {
    try (VotesJournal votes = VotesJournal.open(disk, directory, BROKER)) {
      for (int term = 1; term <= 5; term++) {
        votes.saveVote("g", term, "b3:0:0");
      }
    }
    byte[] whole = Files.readAllBytes(directory.resolve(VotesJournal.FILE_A));
    int used = lastUsed(whole) + 1;
    for (int at = 0; at < used; at++) {
      flip(VotesJournal.FILE_A, at);
      if (at == 4 || at == 5) {
        // The version field: another version is refused rather than repaired.
        assertThatThrownBy(() -> VotesJournal.open(disk, directory, BROKER))
            .hasMessageContaining("format version");
        flip(VotesJournal.FILE_A, at);
        continue;
      }
      try (VotesJournal votes = VotesJournal.open(disk, directory, BROKER)) {
        assertThat(votes.state("g").term()).as("byte %d", at).isEqualTo(5);
      }
    }
  }

  @Test
  void aTornLastRecordIsDropped() throws IOException {
    try (VotesJournal votes = VotesJournal.open(disk, directory, BROKER)) {
      votes.saveVote("g", 1, "b1:0:0");
    }
    byte[] before = Files.readAllBytes(directory.resolve(VotesJournal.FILE_B));
    try (VotesJournal votes = VotesJournal.open(disk, directory, BROKER)) {
      votes.saveVote("g", 2, "b2:0:0");
    }
    // The process died while it wrote a: b has the state before.
    Files.write(directory.resolve(VotesJournal.FILE_B), before);
    byte[] after = Files.readAllBytes(directory.resolve(VotesJournal.FILE_A));
    int torn = lastUsed(after);
    try (RandomAccessFile a =
        new RandomAccessFile(directory.resolve(VotesJournal.FILE_A).toFile(), "rw")) {
      a.seek(torn - 3);
      a.write(new byte[4]);
    }
    try (VotesJournal votes = VotesJournal.open(disk, directory, BROKER)) {
      assertThat(votes.state("g").term()).isEqualTo(1);
      votes.saveVote("g", 3, "b1:0:0");
    }
    try (VotesJournal votes = VotesJournal.open(disk, directory, BROKER)) {
      assertThat(votes.state("g").term()).isEqualTo(3);
    }
  }

  @Test
  void bothCopiesDamagedIsRefused() throws IOException {
    try (VotesJournal votes = VotesJournal.open(disk, directory, BROKER)) {
      votes.saveVote("g", 1, "b1:0:0");
    }
    flip(VotesJournal.FILE_A, 12);
    flip(VotesJournal.FILE_B, 20);
    byte[] a = Files.readAllBytes(directory.resolve(VotesJournal.FILE_A));
    assertThatThrownBy(() -> VotesJournal.open(disk, directory, BROKER))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("replace the broker");
    assertThat(Files.readAllBytes(directory.resolve(VotesJournal.FILE_A))).isEqualTo(a);
  }

  private void flip(String name, long at) throws IOException {
    try (RandomAccessFile file = new RandomAccessFile(directory.resolve(name).toFile(), "rw")) {
      file.seek(at);
      int value = file.read();
      file.seek(at);
      file.write(value ^ 0x10);
    }
  }

  private static int lastUsed(byte[] content) {
    int at = content.length - 1;
    while (content[at] == 0) {
      at--;
    }
    return at;
  }
}
