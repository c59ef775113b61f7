package io.millrace.broker;

import io.millrace.broker.log.Disk;
import io.millrace.broker.log.LogProblem;
import io.millrace.broker.log.LogProblem.Severity;
import io.millrace.broker.log.LogReport;
import io.millrace.broker.log.LogVerifier;
import io.millrace.broker.log.Pacer;
import io.millrace.broker.log.SegmentVerifier;
import io.millrace.broker.log.SegmentVerifier.Patience;
import io.millrace.broker.log.SyncMark;
import io.millrace.broker.raft.message.Checkpoint;
import io.millrace.broker.raft.storage.CheckpointStore;
import io.millrace.broker.raft.storage.StoredVotes;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Verifies all that a replica has on disk: its log, its checkpoints, and that they and the votes
 * files fit each other. Reads only, of a running broker too.
 *
 * <p>Threads: one per object.
 */
public final class ReplicaVerifier {

  private static final int ATTEMPTS = 2;

  /**
   * What was found.
   *
   * @param problems of the log and of everything else
   * @param checkpointIndex of the newest readable checkpoint, 0 = none
   */
  public record Report(LogReport log, List<LogProblem> problems, long checkpointIndex) {

    public Report {
      problems = List.copyOf(problems);
    }

    public boolean isDamaged() {
      return problems.stream().anyMatch(LogProblem::isDamage);
    }
  }

  private final Disk disk;
  private final Pacer pacer;
  private final Patience patience;

  public ReplicaVerifier(Disk disk, Pacer pacer, Patience patience) {
    this.disk = disk;
    this.pacer = pacer;
    this.patience = patience;
  }

  /** The directory of one replica; with what the votes files say of it, if they are there. */
  public Report verify(Path directory) throws IOException {
    LogVerifier logs =
        new LogVerifier(
            disk, new SegmentVerifier(disk, pacer, ControlContents::logTimeOf), patience);
    Report report = look(directory, logs);
    // What was read first may be older than what was read last: the broker may be running.
    for (int i = 1; i < ATTEMPTS && report.isDamaged() && patience.lookAgain(0); i++) {
      report = look(directory, logs);
    }
    return report;
  }

  private Report look(Path directory, LogVerifier logs) throws IOException {
    List<LogProblem> problems = new ArrayList<>();
    // Before the log: it grows, and what they speak of is in it by then.
    List<Checkpoint> checkpoints = checkpoints(directory, problems);
    boolean checkpointsUnread = !problems.isEmpty();
    checkIdentity(directory, problems);
    LogReport log = logs.verify(directory, mark(directory));
    problems.addAll(0, log.problems());
    boolean newer = problems.stream().anyMatch(each -> each.severity() == Severity.NEWER_FORMAT);
    for (int i = 0; !newer && i < checkpoints.size(); i++) {
      checkCheckpoint(directory, checkpoints.get(i), i == 0, log, problems);
    }
    if (checkpoints.isEmpty() && !newer && !checkpointsUnread && log.firstIndex() > 1) {
      problems.add(
          new LogProblem(
              Severity.DAMAGE,
              directory,
              "the log begins with entry "
                  + log.firstIndex()
                  + " and no checkpoint holds what was before"));
    }
    return new Report(log, problems, checkpoints.isEmpty() ? 0 : checkpoints.get(0).getIndex());
  }

  /** The readable ones, newest first. */
  private List<Checkpoint> checkpoints(Path directory, List<LogProblem> problems)
      throws IOException {
    for (Path file : CheckpointStore.files(directory)) {
      int format = CheckpointStore.formatOf(disk, file);
      if (format != CheckpointStore.NO_FORMAT && format != CheckpointStore.FORMAT_VERSION) {
        problems.add(
            new LogProblem(
                format > CheckpointStore.FORMAT_VERSION ? Severity.NEWER_FORMAT : Severity.DAMAGE,
                file,
                "format version "
                    + format
                    + ", this version knows "
                    + CheckpointStore.FORMAT_VERSION));
        return List.of();
      }
    }
    CheckpointStore store = CheckpointStore.open(disk, directory);
    for (CheckpointStore.Damaged damaged : store.damaged()) {
      problems.add(new LogProblem(Severity.DAMAGE, damaged.file(), damaged.reason()));
    }
    return store.checkpoints();
  }

  private void checkIdentity(Path directory, List<LogProblem> problems) throws IOException {
    Path file = directory.resolve(ReplicaDirectories.ID_FILE);
    if (disk.exists(file)) {
      try {
        new CheckedTextFile(disk, file, ReplicaDirectories.FORMAT).read();
      } catch (DataDirectoryException e) {
        problems.add(new LogProblem(Severity.DAMAGE, file, e.getMessage()));
      }
    }
  }

  /** The sync mark in the votes files, null if it cannot be found. */
  private SyncMark mark(Path directory) throws IOException {
    Path data = StoredFiles.dataDirectoryOf(disk, directory);
    if (data == null) {
      return null;
    }
    String cluster;
    try {
      cluster = DataDirectory.clusterOf(disk, data);
    } catch (DataDirectoryException e) {
      // Told where the whole data directory is verified.
      return null;
    }
    String group = StoredFiles.groupOf(directory, cluster);
    StoredVotes.Report votes;
    try {
      votes = StoredVotes.verify(disk, StoredFiles.raft(data), Patience.NONE);
    } catch (IOException e) {
      // As above.
      return null;
    }
    return group == null ? null : votes.mark(group);
  }

  private static void checkCheckpoint(
      Path directory,
      Checkpoint checkpoint,
      boolean newest,
      LogReport log,
      List<LogProblem> problems) {
    long index = checkpoint.getIndex();
    String what = "the checkpoint at entry " + index + " of term " + checkpoint.getTerm();
    long term = log.termAt(index);
    if (log.segments().isEmpty()) {
      problems.add(new LogProblem(Severity.DAMAGE, directory, what + " has no log behind it"));
    } else if (index >= log.nextIndex()) {
      problems.add(
          new LogProblem(
              Severity.DAMAGE,
              directory,
              what + " is beyond the log, which ends with " + (log.nextIndex() - 1)));
    } else if (newest && index < log.firstIndex() - 1) {
      problems.add(
          new LogProblem(
              Severity.DAMAGE,
              directory,
              what + " is followed by nothing: the log begins with " + log.firstIndex()));
    } else if (term != 0 && term != checkpoint.getTerm()) {
      problems.add(
          new LogProblem(
              Severity.DAMAGE, directory, what + " contradicts the log, which has term " + term));
    }
  }
}
