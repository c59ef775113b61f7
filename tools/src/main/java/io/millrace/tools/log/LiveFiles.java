package io.millrace.tools.log;

import io.millrace.broker.StoredFiles;
import io.millrace.broker.log.Disk;
import io.millrace.broker.log.ReadOnlyDisk;
import io.millrace.broker.log.SegmentName;
import io.millrace.broker.log.SegmentVerifier.Patience;
import io.millrace.tools.CommandFailure;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Files that a broker may be writing meanwhile: looked at without touching them. */
final class LiveFiles {
  static final Disk DISK = new ReadOnlyDisk();

  private static final long PAUSE_MILLIS = 100;
  private static final int LOOKS = 20;

  private LiveFiles() {}

  /**
   * A batch that is being written is whole in a moment; one that is not after two seconds never
   * will be.
   */
  static Patience patience() {
    return attempt -> {
      if (attempt >= LOOKS) {
        return false;
      }
      try {
        Thread.sleep(PAUSE_MILLIS);
        return true;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("interrupted");
      }
    };
  }

  /** What stands at a path that a user gave. */
  static StoredFiles.Kind kindOf(Path path) throws IOException {
    if (!Files.exists(path)) {
      throw new NoSuchFileException(path.toString());
    }
    StoredFiles.Kind kind = StoredFiles.kindOf(DISK, path);
    if (kind == StoredFiles.Kind.OTHER) {
      throw new CommandFailure(
          path
              + " is no segment (*.log), votes file (votes.a, votes.b), directory of a partition,"
              + " or data directory of a broker");
    }
    return kind;
  }

  /** The segment that a log is written to: its last one. */
  static boolean isNewest(Path segment) throws IOException {
    if (SegmentName.parse(segment) == null) {
      return true;
    }
    var segments = StoredFiles.segments(DISK, segment.toAbsolutePath().getParent());
    return segments.isEmpty()
        || segments.get(segments.size() - 1).getFileName().equals(segment.getFileName());
  }
}
