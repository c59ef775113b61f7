package io.millrace.broker;

import io.millrace.broker.log.Disk;
import io.millrace.broker.raft.storage.VotesJournal;
import java.io.IOException;
import java.nio.file.Path;

/**
 * The directory {@code raft/} of a broker: votes, known peers, and the metadata group's log. It is
 * made when the data directory is formatted, before {@code broker.id}, and never again: a broker
 * that lost it has forgotten its votes.
 *
 * <pre>
 * raft/votes.a, votes.b
 * raft/meta/            log and checkpoints of the metadata group
 * raft/peers            incarnations of the other brokers
 * </pre>
 */
final class RaftDirectory {

  static final String NAME = "raft";
  static final String META = "meta";

  private RaftDirectory() {}

  /** Part of format; nothing refers to the directory yet, so it may be repeated. */
  static void create(Disk disk, Path dataDirectory) throws IOException {
    Path raft = dataDirectory.resolve(NAME);
    disk.createDirectory(raft);
    disk.createDirectory(meta(raft));
    VotesJournal.create(disk, raft);
  }

  /** True for what an interrupted format leaves: nobody has voted or stored anything. */
  static boolean isUnused(Disk disk, Path dataDirectory) throws IOException {
    Path meta = meta(dataDirectory.resolve(NAME));
    return !disk.exists(meta) || disk.list(meta).isEmpty();
  }

  /**
   * @throws DataDirectoryException if the directory is gone
   */
  static void check(Disk disk, Path raft) {
    if (!disk.exists(meta(raft))) {
      throw new DataDirectoryException(
          meta(raft)
              + " is missing: this broker has forgotten its votes and must not take part under its"
              + " old identity. Restore the directory, or replace the broker");
    }
  }

  static Path meta(Path raft) {
    return raft.resolve(META);
  }
}
