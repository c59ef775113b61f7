package io.millrace.broker.log;

import io.millrace.protocol.batch.BatchHeader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.function.ToLongFunction;

/**
 * Finds places in a segment file where a walk can go on. A place counts only if a whole good batch
 * stands there, or the right footer.
 *
 * <p>Threads: one.
 */
final class BatchSearch {

  private final Disk disk;
  private final Path indexPath;
  private final SegmentName name;
  private final DiskFile file;
  private final long end;
  private final ToLongFunction<ByteBuffer> logTimeOf;

  /**
   * @param end of the file, as far as it is looked at
   */
  BatchSearch(
      Disk disk,
      Path indexPath,
      SegmentName name,
      DiskFile file,
      long end,
      ToLongFunction<ByteBuffer> logTimeOf) {
    this.disk = disk;
    this.indexPath = indexPath;
    this.name = name;
    this.file = file;
    this.end = end;
    this.logTimeOf = logTimeOf;
  }

  /** As the scanner does; a file that was cut meanwhile is {@link SegmentChangedException}. */
  static SegmentScanner.Verdict scan(
      SegmentScanner scanner, long stopIndex, DiskFile file, long end) throws IOException {
    try {
      return scanner.scan(stopIndex);
    } catch (IOException e) {
      if (file.size() < end) {
        throw new SegmentChangedException("it became shorter while it was read", e);
      }
      throw e;
    }
  }

  private boolean isReadable(Cursor place) throws IOException {
    // The header alone first: behind a large hole many places are tried.
    ByteBuffer header = ByteBuffer.allocate(BatchHeader.SIZE);
    if (end - place.position < BatchHeader.SIZE || !file.readFully(header, place.position)) {
      return false;
    }
    place.load(header, 0);
    if (place.mismatch() != null) {
      return false;
    }
    SegmentScanner scanner = new SegmentScanner(file, end, place, true, logTimeOf, due -> null);
    SegmentScanner.Verdict verdict = scan(scanner, place.index + 1, file, end);
    return verdict == SegmentScanner.Verdict.STOPPED || verdict == SegmentScanner.Verdict.FOOT;
  }

  /**
   * The last index entry from which on one reaches the entry {@code fromIndex}, or the record at
   * {@code fromOffset} if the former lies before this segment; null if the index leads nowhere.
   */
  IndexEntry entryBefore(long fromIndex, long fromOffset) throws IOException {
    try (StoredIndex index = StoredIndex.open(disk, indexPath, name)) {
      int behind =
          fromIndex > name.firstIndex()
              ? index.firstAbove(fromIndex, IndexEntry::index)
              : index.firstAbove(fromOffset - 1, IndexEntry::offset);
      IndexEntry entry = index.entry(behind - 1);
      return entry != null && entry.kind() != IndexEntry.END && isReadable(Cursor.at(entry))
          ? entry
          : null;
    }
  }

  /**
   * Behind the bad batch at a place, if its header says where that is and a good one follows; else
   * null.
   *
   * @param atHead it is the head of the segment, which is no entry
   */
  Cursor behind(Cursor bad, boolean atHead) throws IOException {
    ByteBuffer header = ByteBuffer.allocate(BatchHeader.SIZE);
    if (end - bad.position < BatchHeader.SIZE || !file.readFully(header, bad.position)) {
      return null;
    }
    long size = BatchHeader.sizeInBytes(header, 0);
    boolean control = BatchHeader.isControl(header, 0);
    if (size < BatchHeader.SIZE
        || size > end - bad.position
        || !control && BatchHeader.lastOffsetDelta(header, 0) < 0) {
      return null;
    }
    Cursor behind = bad.copy();
    if (atHead) {
      behind.position += (int) size;
    } else {
      behind.load(header, 0);
      behind.advance();
      // The term of a bad header is not believed; the next one may say anything from the last on.
      behind.term = bad.term;
    }
    return isReadable(behind.copy()) ? behind : null;
  }

  /** The first index entry behind a bad place from which one can go on; null if there is none. */
  IndexEntry entryBehind(Cursor bad) throws IOException {
    try (StoredIndex index = StoredIndex.open(disk, indexPath, name)) {
      int count = index.count();
      for (int i = index.firstAbove(bad.position, IndexEntry::position); i < count; i++) {
        IndexEntry entry = index.entry(i);
        if (entry != null
            && entry.position() > bad.position
            && entry.index() >= bad.index
            && entry.offset() >= bad.offset
            && isReadable(Cursor.at(entry))) {
          return entry;
        }
      }
      return null;
    }
  }
}
