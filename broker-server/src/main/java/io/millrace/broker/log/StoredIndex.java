package io.millrace.broker.log;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * An index file as it is, for whoever checks it or uses it without a {@link Segment}. Believes
 * nothing: an entry is given only if its own checksum is right.
 *
 * <p>Owns: the open file. Threads: one. Memory: one buffer.
 */
final class StoredIndex implements Closeable {

  private static final int CHUNK_ENTRIES = 256;

  private final DiskFile file;
  private final String problem;
  private final IndexMark mark;
  private final int count;
  private final boolean endsBetweenEntries;
  private final ByteBuffer chunk = ByteBuffer.allocate(CHUNK_ENTRIES * IndexEntry.BYTES);
  private int chunkStart;
  private int chunkEntries;

  private StoredIndex(DiskFile file, String problem, IndexMark mark, long entryBytes) {
    this.file = file;
    this.problem = problem;
    this.mark = mark;
    this.count = (int) Math.min(entryBytes / IndexEntry.BYTES, Integer.MAX_VALUE);
    this.endsBetweenEntries = entryBytes % IndexEntry.BYTES == 0;
  }

  /** Opens whatever is there; {@link #problem} says if it cannot be used. */
  static StoredIndex open(Disk disk, Path path, SegmentName name) throws IOException {
    DiskFile file;
    try {
      file = disk.open(path, false);
    } catch (NoSuchFileException e) {
      return new StoredIndex(null, "it is missing", null, 0);
    }
    boolean opened = false;
    try {
      ByteBuffer header = ByteBuffer.allocate(SegmentIndex.ENTRIES_OFFSET);
      StoredIndex index =
          file.readFully(header, 0) && SegmentIndex.headerMatches(header, name)
              ? new StoredIndex(
                  file,
                  null,
                  SegmentIndex.markIn(header),
                  Math.max(0, file.size() - SegmentIndex.ENTRIES_OFFSET))
              : new StoredIndex(file, "it has no header of this segment's index", null, 0);
      opened = true;
      return index;
    } finally {
      if (!opened) {
        file.close();
      }
    }
  }

  /** Why it cannot be used; null if it can. */
  String problem() {
    return problem;
  }

  /** The newer of the two sync marks; null if there is none. */
  IndexMark mark() {
    return mark;
  }

  /** Entries that the file has room for, the end entry of a closed segment among them. */
  int count() {
    return count;
  }

  /** False if half an entry stands behind the last one. */
  boolean endsBetweenEntries() {
    return endsBetweenEntries;
  }

  /** An entry by its ordinal; null if it is damaged or not there. */
  IndexEntry entry(int ordinal) throws IOException {
    if (ordinal < 0 || ordinal >= count) {
      return null;
    }
    if (ordinal < chunkStart || ordinal >= chunkStart + chunkEntries) {
      chunkStart = ordinal;
      chunkEntries = Math.min(CHUNK_ENTRIES, count - ordinal);
      chunk.clear().limit(chunkEntries * IndexEntry.BYTES);
      if (!file.readFully(chunk, SegmentIndex.ENTRIES_OFFSET + (long) ordinal * IndexEntry.BYTES)) {
        chunkEntries = chunk.position() / IndexEntry.BYTES;
      }
    }
    int at = (ordinal - chunkStart) * IndexEntry.BYTES;
    return ordinal < chunkStart + chunkEntries && IndexEntry.isIntact(chunk, at)
        ? IndexEntry.read(chunk, at)
        : null;
  }

  /** What the entries ascend by. */
  interface Key {
    long of(IndexEntry entry);
  }

  /**
   * The first ordinal whose key is above a value; the count if there is none. Where entries are
   * damaged the answer may be a later one.
   */
  int firstAbove(long value, Key key) throws IOException {
    int low = 0;
    int high = count;
    while (low < high) {
      int middle = (low + high) >>> 1;
      IndexEntry entry = entry(middle);
      if (entry == null || key.of(entry) <= value) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  @Override
  public void close() throws IOException {
    if (file != null) {
      file.close();
    }
  }
}
