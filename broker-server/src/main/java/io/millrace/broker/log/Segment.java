package io.millrace.broker.log;

import io.millrace.protocol.batch.BatchHeader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * One segment file with its index.
 *
 * <p>Owns: the handles of both files; they are held open ("pinned") while the segment is written
 * and until it is on the device, because an error of a write-back is only told to open files.
 *
 * <p>Threads: changed by the writer and the thread that synchronises; read by any.
 */
final class Segment {

  private final SegmentName name;
  private final FileHandles.Handle log;
  private volatile SegmentIndex index;
  private volatile SegmentFoot foot;
  private volatile int contentEnd;
  private volatile long fileBytes;
  private volatile boolean synced;
  private volatile int headBytes;
  private boolean logPinned;
  private boolean indexPinned;

  private Segment(SegmentName name, FileHandles.Handle log) {
    this.name = name;
    this.log = log;
  }

  /** A closed one that is on the device. */
  static Segment closed(
      FileHandles handles, Path directory, SegmentName name, SegmentFoot.At end, long fileBytes) {
    Segment segment = new Segment(name, handles.of(name.log(directory)));
    segment.index = SegmentIndex.closed(segment, handles.of(name.index(directory)));
    segment.foot = end.foot();
    segment.contentEnd = end.position();
    segment.fileBytes = fileBytes;
    segment.synced = true;
    return segment;
  }

  /** One that is written to, with a file that may not exist yet; {@link #replaceIndex} follows. */
  static Segment active(FileHandles handles, Path directory, SegmentName name) throws IOException {
    Segment segment = new Segment(name, handles.of(name.log(directory)));
    segment.log.acquireOrCreate();
    segment.logPinned = true;
    return segment;
  }

  SegmentName name() {
    return name;
  }

  FileHandles.Handle log() {
    return log;
  }

  SegmentIndex index() {
    return index;
  }

  void headBytes(int bytes) {
    headBytes = bytes;
  }

  /** Known for a segment that is written to. */
  int headBytes() {
    return headBytes;
  }

  int headBytes(DiskFile file) throws IOException {
    if (headBytes == 0) {
      ByteBuffer start = ByteBuffer.allocate(BatchHeader.LOG_OVERHEAD);
      if (!file.readFully(start, 0)) {
        throw new IOException(this + " is empty");
      }
      long bytes = BatchHeader.sizeInBytes(start, 0);
      if (bytes < BatchHeader.SIZE || bytes > SegmentHead.MAX_BYTES) {
        throw new LogDamagedException(
            log.path(), name.firstIndex(), name.firstIndex(), false, "it has no head");
      }
      headBytes = (int) bytes;
    }
    return headBytes;
  }

  boolean isClosed() {
    return foot != null;
  }

  /** Null while it is written to. */
  SegmentFoot foot() {
    return foot;
  }

  /** Where the footer of a closed segment begins. */
  int contentEnd() {
    return contentEnd;
  }

  /** Bytes of a closed segment's file. */
  long fileBytes() {
    return fileBytes;
  }

  void close(SegmentFoot newFoot, int newContentEnd, long newFileBytes) {
    contentEnd = newContentEnd;
    fileBytes = newFileBytes;
    synced = false;
    foot = newFoot;
  }

  boolean endsWith(IndexEntry end) {
    return end.index() == foot.lastIndex() + 1
        && end.offset() == foot.nextOffset()
        && end.position() == contentEnd;
  }

  /** Whether a closed segment is on the device as a whole. */
  boolean isSynced() {
    return synced;
  }

  /** Everything of a closed segment is on the device now; its files may be closed when idle. */
  synchronized void markSynced() {
    synced = true;
    unpin();
  }

  /** A closed segment whose bytes may still be in the page cache only. */
  synchronized void markUnsynced() throws IOException {
    synced = false;
    pinLog();
  }

  /** Opens a closed segment for writing again, without its footer; its index is intact. */
  synchronized void reopen() throws IOException {
    pinLog();
    if (!indexPinned) {
      index.handle().acquire();
      indexPinned = true;
    }
    foot = null;
    synced = false;
  }

  /** Takes a new index that holds its file open, in the place of the old one. */
  synchronized void replaceIndex(SegmentIndex fresh) {
    if (indexPinned) {
      index.release();
    }
    index = fresh;
    indexPinned = true;
    if (synced) {
      unpin();
    }
  }

  private void pinLog() throws IOException {
    if (!logPinned) {
      log.acquire();
      logPinned = true;
    }
  }

  private void unpin() {
    if (logPinned) {
      logPinned = false;
      log.release();
    }
    if (indexPinned) {
      indexPinned = false;
      index.release();
    }
  }

  /** Whether anybody holds one of its files. */
  boolean isInUse() {
    return log.isInUse() || index.handle().isInUse();
  }

  /** Lets go of the files for good. */
  synchronized void retire() {
    unpin();
    log.retire();
    if (index != null) {
      index.handle().retire();
    }
  }

  @Override
  public String toString() {
    return log.path().toString();
  }
}
