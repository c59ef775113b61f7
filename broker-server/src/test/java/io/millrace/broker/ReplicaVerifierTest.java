package io.millrace.broker;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.cluster.ReplicaId;
import io.millrace.broker.log.DirectDisk;
import io.millrace.broker.log.Disk;
import io.millrace.broker.log.FsyncPolicy;
import io.millrace.broker.log.LogConfig;
import io.millrace.broker.log.LogEntry;
import io.millrace.broker.log.LogIdentity;
import io.millrace.broker.log.LogListener;
import io.millrace.broker.log.LogProblem;
import io.millrace.broker.log.LogProblem.Severity;
import io.millrace.broker.log.Pacer;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.log.ReadOnlyDisk;
import io.millrace.broker.log.RecoveryHint;
import io.millrace.broker.log.SegmentVerifier.Patience;
import io.millrace.broker.log.SyncMark;
import io.millrace.broker.log.TestBatches;
import io.millrace.broker.raft.message.Checkpoint;
import io.millrace.broker.raft.storage.CheckpointStore;
import io.millrace.broker.raft.storage.StoredVotes;
import io.millrace.broker.raft.storage.VotesJournal;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class ReplicaVerifierTest {

  private static final UUID TOPIC = new UUID(5, 6);

  @TempDir Path parent;
  private final Disk disk = new DirectDisk();
  private Path data;
  private Path directory;

  @BeforeEach
  void write() throws IOException {
    data = parent.resolve("data");
    DataDirectory.format(disk, data, "shop", 1, List.of(1));
    directory = data.resolve("topics").resolve(TOPIC + "-0");
    try (PartitionLog log = open()) {
      for (int i = 1; i <= 10; i++) {
        log.append(List.of(new LogEntry(i, i < 6 ? 1 : 4, TestBatches.records(1, 100, i, i))));
      }
    }
  }

  private PartitionLog open() throws IOException {
    return PartitionLog.open(
        disk,
        directory,
        new LogIdentity("shop", TOPIC, 0),
        new LogConfig(FsyncPolicy.ALWAYS, 0, LogConfig.DEFAULT_SEGMENT_BYTES),
        RecoveryHint.NONE,
        LogListener.NONE);
  }

  private void checkpoint(long index, long term) throws IOException {
    CheckpointStore.open(disk, directory)
        .write(Checkpoint.newBuilder().setIndex(index).setTerm(term).build());
  }

  private ReplicaVerifier.Report verify() throws IOException {
    return new ReplicaVerifier(new ReadOnlyDisk(), Pacer.NONE, Patience.NONE).verify(directory);
  }

  private void finds(Severity severity, String text) throws IOException {
    assertThat(verify().problems())
        .anySatisfy(
            problem -> {
              assertThat(problem.severity()).isEqualTo(severity);
              assertThat(problem.text()).contains(text);
            });
  }

  @Test
  void checkpointsOfThisLogAreFine() throws IOException {
    checkpoint(5, 1);
    checkpoint(10, 4);
    ReplicaVerifier.Report report = verify();
    assertThat(report.problems()).isEmpty();
    assertThat(report.checkpointIndex()).isEqualTo(10);
    assertThat(report.log().nextIndex()).isEqualTo(11);
  }

  @Test
  void aCheckpointBeyondTheLogIsDamage() throws IOException {
    checkpoint(11, 4);
    finds(
        Severity.DAMAGE,
        "the checkpoint at entry 11 of term 4 is beyond the log, which ends with 10");
  }

  @Test
  void aCheckpointOfAnotherTermIsDamage() throws IOException {
    checkpoint(5, 4);
    finds(
        Severity.DAMAGE,
        "the checkpoint at entry 5 of term 4 contradicts the log, which has term 1");
  }

  @Test
  void aDamagedCheckpointIsNamed() throws IOException {
    checkpoint(5, 1);
    try (var file = new RandomAccessFile(directory.resolve("checkpoint.0").toFile(), "rw")) {
      file.seek(17);
      file.write(99);
    }
    assertThat(verify().problems())
        .containsExactly(
            new LogProblem(
                Severity.DAMAGE, directory.resolve("checkpoint.0"), "its CRC does not match"));
  }

  @Test
  void aCheckpointOfANewerVersionIsRefused() throws IOException {
    checkpoint(5, 1);
    try (var file = new RandomAccessFile(directory.resolve("checkpoint.0").toFile(), "rw")) {
      file.seek(4);
      file.writeShort(2);
    }
    assertThat(verify().problems())
        .containsExactly(
            new LogProblem(
                Severity.NEWER_FORMAT,
                directory.resolve("checkpoint.0"),
                "format version 2, this version knows 1"));
  }

  @Test
  void aLogWithoutItsBeginNeedsACheckpoint() throws IOException {
    try (PartitionLog log = open()) {
      log.reset(20, 12);
      log.append(List.of(new LogEntry(20, 5, TestBatches.records(1, 100, 1, 1))));
    }
    finds(Severity.DAMAGE, "the log begins with entry 20 and no checkpoint holds what was before");
    checkpoint(10, 4);
    finds(Severity.DAMAGE, "is followed by nothing: the log begins with 20");
    checkpoint(19, 4);
    assertThat(verify().problems()).isEmpty();
  }

  @Test
  void theVotesKnowWhatWasSynced() throws IOException {
    Path raft = data.resolve("raft");
    try (VotesJournal votes = VotesJournal.open(disk, raft, 1)) {
      votes.saveMarks(Map.of(ReplicaId.groupName(TOPIC, 0), new SyncMark(10, 1, 0)));
    }
    assertThat(verify().problems()).isEmpty();
    try (VotesJournal votes = VotesJournal.open(disk, raft, 1)) {
      votes.saveMarks(Map.of(ReplicaId.groupName(TOPIC, 0), new SyncMark(12, 1, 0)));
    }
    finds(
        Severity.DAMAGE, "the votes files say that entry 12 was synced, but the log ends with 10");
  }

  @Test
  void votesFilesAreComparedAndLookedAtAgainWhileTheyDiffer() throws IOException {
    Path raft = data.resolve("raft");
    Path b = raft.resolve(VotesJournal.FILE_B);
    byte[] before = Files.readAllBytes(b);
    try (VotesJournal votes = VotesJournal.open(disk, raft, 1)) {
      votes.saveVote("g", 3, "b1:0:0");
    }
    byte[] after = Files.readAllBytes(b);
    assertThat(StoredVotes.verify(disk, raft, Patience.NONE).problems()).isEmpty();

    Files.write(b, before);
    StoredVotes.Report report = StoredVotes.verify(disk, raft, Patience.NONE);
    assertThat(report.problems())
        .singleElement()
        .satisfies(
            problem -> {
              assertThat(problem.severity()).isEqualTo(Severity.WARNING);
              assertThat(problem.text())
                  .startsWith("it has 0 records up to number 0, votes.a has 1");
            });
    assertThat(report.better().latest().get("g").getTerm()).isEqualTo(3);

    report =
        StoredVotes.verify(
            disk,
            raft,
            attempt -> {
              Files.write(b, after);
              return true;
            });
    assertThat(report.problems()).as("the second write came").isEmpty();

    byte[] newer = after.clone();
    newer[5] = 2;
    Files.write(b, newer);
    assertThat(StoredVotes.verify(disk, raft, Patience.NONE).problems())
        .containsExactly(
            new LogProblem(
                Severity.NEWER_FORMAT, b, "format version 2, this version knows up to 1"));
  }
}
