package io.millrace.broker.raft.storage;

import io.millrace.broker.log.Disk;
import io.millrace.broker.log.DiskFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/** The first six bytes of checkpoints and votes files: magic, then format version. */
final class FormatField {

  private static final int MAGIC_BYTES = 4;
  private static final int BYTES = MAGIC_BYTES + 2;
  static final int NONE = -1;

  private FormatField() {}

  /** The version; -1 if the file is missing, too short, or has another magic. */
  static int read(Disk disk, Path path, int magic) throws IOException {
    if (!disk.exists(path)) {
      return NONE;
    }
    try (DiskFile file = disk.open(path, false)) {
      ByteBuffer start = ByteBuffer.allocate(BYTES);
      return file.readFully(start, 0) && start.getInt(0) == magic
          ? start.getShort(MAGIC_BYTES)
          : NONE;
    }
  }
}
