package io.millrace.broker;

import io.millrace.broker.log.Disk;
import io.millrace.broker.raft.storage.VotesJournal;
import java.io.IOException;
import java.nio.file.Path;

/**
 * The directory {@code raft/} of a broker: votes, known peers, and the metadata group's log. It is
 * made when the data directory is formatted and never again, because a broker that lost it has
 * forgotten its votes.
 *
 * <pre>
 * raft.new/  complete, made before broker.id; becomes raft/ after broker.id is there
 * raft/votes.a, votes.b
 * raft/meta/            log and checkpoints of the metadata group
 * raft/peers            incarnations of the other brokers
 * </pre>
 */
final class RaftDirectory {

  static final String STAGED = "raft.new";
  private static final String META = "meta";

  private RaftDirectory() {}

  /** First step of format: nothing refers to it yet, so it may be repeated. */
  static void stage(Disk disk, Path dataDirectory) throws IOException {
    Path staged = dataDirectory.resolve(STAGED);
    disk.createDirectory(staged);
    disk.createDirectory(staged.resolve(META));
    VotesJournal.create(disk, staged);
  }

  /**
   * Last step of format, or of the first start after a crash in it.
   *
   * @throws DataDirectoryException if the directory is gone
   */
  static void complete(Disk disk, Path dataDirectory, Path raft) throws IOException {
    Path staged = dataDirectory.resolve(STAGED);
    if (disk.exists(raft)) {
      return;
    }
    if (!disk.exists(staged)) {
      throw new DataDirectoryException(
          raft
              + " is missing: this broker has forgotten its votes and must not take part under its"
              + " old identity. Restore the directory, or replace the broker");
    }
    disk.rename(staged, raft);
    disk.syncDirectory(dataDirectory);
  }

  static Path meta(Path raft) {
    return raft.resolve(META);
  }
}
