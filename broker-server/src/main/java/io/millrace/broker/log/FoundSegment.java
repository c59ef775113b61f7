package io.millrace.broker.log;

import java.io.IOException;
import java.nio.file.Path;

/**
 * A segment as a start finds it, before anything is decided.
 *
 * @param head null if it cannot be read
 * @param headProblem why
 * @param headCutShort the file ends inside the head, as after a crash at its creation
 * @param end the footer and its place, null if the file does not end with an intact one
 * @param mark the sync mark of its index, null if there is none
 */
record FoundSegment(
    SegmentName name,
    Path log,
    Path index,
    long size,
    SegmentHead head,
    int headBytes,
    String headProblem,
    boolean headCutShort,
    SegmentFoot.At end,
    IndexMark mark) {

  static FoundSegment inspect(Disk disk, Path directory, SegmentName name, LogIdentity identity)
      throws IOException {
    Path log = name.log(directory);
    Path index = name.index(directory);
    IndexMark mark = disk.exists(index) ? mark(disk, index, name) : null;
    try (DiskFile file = disk.open(log, false)) {
      long size = file.size();
      SegmentHead.At found;
      try {
        found = SegmentHead.find(file, size);
      } catch (LogFormatException e) {
        throw new LogFormatException(log + " has " + e.getMessage());
      }
      SegmentFoot.At end = null;
      if (found.head() != null) {
        checkIdentity(log, found.head(), name, identity);
        end = SegmentFoot.find(file, size);
      }
      return new FoundSegment(
          name,
          log,
          index,
          size,
          found.head(),
          found.bytes(),
          found.problem(),
          found.cutShort(),
          end,
          mark);
    }
  }

  private static IndexMark mark(Disk disk, Path index, SegmentName name) throws IOException {
    try (DiskFile file = disk.open(index, false)) {
      return SegmentIndex.loadMark(file, name);
    }
  }

  /** Up to where an index, whose segment is missing, says that it was on the device. */
  static long markedIndex(Disk disk, Path index, SegmentName name) throws IOException {
    IndexMark mark = mark(disk, index, name);
    return mark == null ? 0 : mark.index();
  }

  private static void checkIdentity(
      Path log, SegmentHead head, SegmentName name, LogIdentity identity) {
    if (!head.identity().equals(identity)) {
      throw new LogFormatException(
          log
              + " belongs to "
              + head.identity()
              + ", expected "
              + identity
              + ": put the files back where they came from");
    }
    if (!head.name().equals(name)) {
      throw new LogFormatException(
          log + " was written as " + head.name() + ".log: give it back its name");
    }
  }

  /** Whether the head alone says that nothing was ever written behind it. */
  boolean isHeadless() {
    return head == null;
  }
}
