package io.millrace.broker.log;

import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.InvalidBatchException;
import java.io.IOException;
import java.nio.ByteBuffer;
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
      ByteBuffer batch = ByteBuffer.allocate((int) Math.min(size, SegmentHead.MAX_BYTES));
      file.readFully(batch, 0);
      batch.flip();
      int headBytes = headBytes(batch);
      if (headBytes == 0 || headBytes > size) {
        return headless(name, log, index, size, "it ends inside its head", true, mark);
      }
      if (headBytes < 0) {
        return headless(name, log, index, size, "it does not begin with a head", false, mark);
      }
      SegmentHead head;
      try {
        head = SegmentHead.decode(batch.limit(headBytes));
      } catch (InvalidBatchException e) {
        return headless(
            name, log, index, size, "its head is damaged: " + e.getMessage(), false, mark);
      } catch (LogFormatException e) {
        throw new LogFormatException(log + " has " + e.getMessage());
      }
      if (head == null) {
        return headless(name, log, index, size, "it does not begin with a head", false, mark);
      }
      checkIdentity(log, head, name, identity);
      SegmentFoot.At end = SegmentFoot.find(file, size);
      return new FoundSegment(name, log, index, size, head, headBytes, null, false, end, mark);
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

  private static FoundSegment headless(
      SegmentName name,
      Path log,
      Path index,
      long size,
      String problem,
      boolean cutShort,
      IndexMark mark) {
    return new FoundSegment(name, log, index, size, null, 0, problem, cutShort, null, mark);
  }

  /** 0 if the start is too short to tell, -1 if it is no head. */
  private static int headBytes(ByteBuffer start) {
    if (start.remaining() < BatchHeader.SIZE) {
      return 0;
    }
    long bytes = BatchHeader.sizeInBytes(start, 0);
    return bytes < BatchHeader.SIZE || bytes > SegmentHead.MAX_BYTES ? -1 : (int) bytes;
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
