package io.millrace.broker.log;

import java.io.IOException;
import java.nio.file.Path;

/** Looks at the version of segments without opening their log. */
public final class SegmentFormat {

  private SegmentFormat() {}

  /**
   * Reads the head of every segment in a directory; what is no head is not judged.
   *
   * @throws LogFormatException naming the first that a newer version has written
   */
  public static void refuseNewer(Disk disk, Path directory) throws IOException {
    for (Path path : disk.list(directory)) {
      if (!SegmentName.isLog(path)) {
        continue;
      }
      try (DiskFile file = disk.open(path, false)) {
        SegmentHead.find(file, file.size());
      } catch (LogFormatException e) {
        throw new LogFormatException(path + " has " + e.getMessage());
      }
    }
  }
}
