package io.millrace.broker;

import io.millrace.broker.log.Disk;
import io.millrace.broker.log.LogFormatException;
import io.millrace.broker.log.SegmentFormat;
import io.millrace.broker.raft.storage.CheckpointStore;
import io.millrace.broker.raft.storage.VotesJournal;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Refuses a data directory that a newer version has written to, before anything in it is touched:
 * that version may keep promises in its files that this one would break.
 *
 * <p>Each part refuses what it cannot read when it opens it, too. But by then others have written,
 * and one replica that stays down is easily overlooked.
 *
 * <p>Threads: the broker's main thread. Cost: a small read per segment and checkpoint.
 */
final class FormatCheck {

  private static final Logger LOG = LoggerFactory.getLogger(FormatCheck.class);

  /**
   * Versions count up one by one. A number far above the known one, or one bit away from it, may be
   * a damaged field, since no checksum covers it: whoever owns the file refuses it too, and that
   * stops one replica and not the broker.
   */
  private static final int MAX_STEPS = 16;

  private FormatCheck() {}

  /**
   * @throws DataDirectoryException naming the first file of a newer format; nothing was changed
   */
  static void run(Disk disk, Path dataDirectory) throws IOException {
    Path raft = StoredFiles.raft(dataDirectory);
    for (String name : List.of(VotesJournal.FILE_A, VotesJournal.FILE_B)) {
      refuseNewer(
          raft.resolve(name),
          VotesJournal.formatOf(disk, raft.resolve(name)),
          VotesJournal.FORMAT_VERSION);
    }
    refuseNewerText(disk, dataDirectory.resolve(LifecycleFile.FILE_NAME));
    refuseNewerText(disk, raft.resolve(KnownPeers.FILE));
    for (Path directory : StoredFiles.logs(disk, dataDirectory)) {
      try {
        checkReplica(disk, directory);
      } catch (IOException e) {
        // What cannot be read is told by the replica that needs it, and stops no other.
        LOG.warn("{}: the version of its files cannot be looked at", directory, e);
      }
    }
  }

  private static void checkReplica(Disk disk, Path directory) throws IOException {
    for (Path checkpoint : CheckpointStore.files(directory)) {
      refuseNewer(
          checkpoint, CheckpointStore.formatOf(disk, checkpoint), CheckpointStore.FORMAT_VERSION);
    }
    refuseNewerText(disk, directory.resolve(ReplicaDirectories.ID_FILE));
    try {
      SegmentFormat.refuseNewer(disk, directory);
    } catch (LogFormatException e) {
      throw refused(e.getMessage());
    }
  }

  private static void refuseNewerText(Disk disk, Path path) throws IOException {
    CheckedTextFile file = new CheckedTextFile(disk, path, CheckedTextFile.FIRST_FORMAT);
    if (file.exists()) {
      file.refuseNewer();
    }
  }

  private static void refuseNewer(Path file, int stored, int known) {
    boolean oneBitAway = Integer.bitCount(stored ^ known) == 1;
    if (stored > known && stored <= known + MAX_STEPS && !oneBitAway) {
      throw refused(
          file
              + " has format version "
              + stored
              + ", this version knows up to "
              + known
              + ": start the version that wrote it");
    }
  }

  private static DataDirectoryException refused(String line) {
    return new DataDirectoryException(line + ". Nothing was changed");
  }
}
