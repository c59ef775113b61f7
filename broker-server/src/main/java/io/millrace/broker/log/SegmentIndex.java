package io.millrace.broker.log;

import io.millrace.protocol.batch.Crc32c;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;

/**
 * Sparse index of one segment, derived from it: {@code .idx} beside the {@code .log}.
 *
 * <pre>
 * offset size
 * 0      4    magic "MRIX"
 * 4      2    format version, 1
 * 6      2    zero
 * 8      8    first Raft index of the segment
 * 16     8    base offset of the segment
 * 24     4    CRC-32C of the bytes before
 * 64     36   sync mark, slot 0: see {@link IndexMark}
 * 128    36   sync mark, slot 1
 * 256    n*64 entries: see {@link IndexEntry}
 * </pre>
 *
 * <p>Owns: the file, and the newest entries in memory, which reach the file when some have gathered
 * and at close. Entries of closed segments stay on disk and are found by binary search.
 *
 * <p>Threads: one writer; any readers, who see an entry as soon as it was added.
 *
 * <p>Durability: none is needed, except that a suffix cut off must never come back: {@link #cut}
 * and {@link #sync}.
 */
final class SegmentIndex {

  private static final int MAGIC = 0x4D524958;
  private static final short VERSION = 1;
  private static final int HEADER_CRC_FIELD = 24;
  private static final int SLOT_0 = 64;
  private static final int SLOT_1 = 128;
  static final int ENTRIES_OFFSET = 256;

  /** Entries of the segment being written that stay in memory: where readers of the tail look. */
  private static final int MEMORY_ENTRIES = 256;

  private static final int INITIAL_MEMORY_ENTRIES = 16;
  private static final int LOAD_ENTRIES = 1024;

  private final Segment segment;
  private final FileHandles.Handle handle;
  private ByteBuffer memory = ByteBuffer.allocate(0);
  private int memoryStart;
  private int inFile;
  private volatile int count = -1;
  private long markSequence;

  private SegmentIndex(Segment segment, FileHandles.Handle handle) {
    this.segment = segment;
    this.handle = handle;
  }

  /** The index of a closed segment; looked at when first used. */
  static SegmentIndex closed(Segment segment, FileHandles.Handle handle) {
    return new SegmentIndex(segment, handle);
  }

  /** An empty one, over whatever the file holds; its file stays open until {@link #release}. */
  static SegmentIndex create(Segment segment, FileHandles.Handle handle) throws IOException {
    SegmentIndex index = new SegmentIndex(segment, handle);
    DiskFile file = handle.acquireOrCreate();
    boolean replaces = file.size() > 0;
    file.truncate(0);
    ByteBuffer header = ByteBuffer.allocate(ENTRIES_OFFSET);
    header.putInt(MAGIC).putShort(VERSION).putShort((short) 0);
    header.putLong(segment.name().firstIndex()).putLong(segment.name().baseOffset());
    header.putInt(Crc32c.of(header, 0, HEADER_CRC_FIELD));
    file.write(header.clear(), 0);
    if (replaces) {
      // A mark or a note in the old content must not come back after a power cut.
      file.sync();
    }
    index.count = 0;
    return index;
  }

  /** The sync mark of an index file, null if there is none. */
  static IndexMark loadMark(DiskFile file, SegmentName name) throws IOException {
    ByteBuffer header = ByteBuffer.allocate(ENTRIES_OFFSET);
    return file.readFully(header, 0) && headerMatches(header, name) ? markIn(header) : null;
  }

  /** Takes mark and notes out of an index file that is about to go; durable on return. */
  static void clearMarks(DiskFile file) throws IOException {
    file.write(ByteBuffer.allocate(IndexMark.BYTES), SLOT_0);
    file.write(ByteBuffer.allocate(IndexMark.BYTES), SLOT_1);
    file.sync();
  }

  static IndexMark markIn(ByteBuffer header) {
    return IndexMark.newer(IndexMark.decode(header, SLOT_0), IndexMark.decode(header, SLOT_1));
  }

  /** The entries of an index file before its end entry, as far as they are intact and ascend. */
  static List<IndexEntry> loadEntries(DiskFile file, SegmentName name) throws IOException {
    List<IndexEntry> entries = new ArrayList<>();
    ByteBuffer header = ByteBuffer.allocate(ENTRIES_OFFSET);
    if (!file.readFully(header, 0) || !headerMatches(header, name)) {
      return entries;
    }
    long whole = (file.size() - ENTRIES_OFFSET) / IndexEntry.BYTES * IndexEntry.BYTES;
    ByteBuffer chunk = ByteBuffer.allocate((int) Math.min(whole, LOAD_ENTRIES * IndexEntry.BYTES));
    for (long done = 0; done < whole; done += chunk.limit()) {
      chunk.clear().limit((int) Math.min(chunk.capacity(), whole - done));
      if (!file.readFully(chunk, ENTRIES_OFFSET + done) || !take(chunk, entries)) {
        return entries;
      }
    }
    return entries;
  }

  /** Adds the entries of a chunk; false if they end in it. */
  private static boolean take(ByteBuffer chunk, List<IndexEntry> entries) {
    IndexEntry previous = entries.isEmpty() ? null : entries.get(entries.size() - 1);
    for (int at = 0; at < chunk.limit(); at += IndexEntry.BYTES) {
      IndexEntry entry = IndexEntry.isIntact(chunk, at) ? IndexEntry.read(chunk, at) : null;
      if (entry == null
          || entry.kind() == IndexEntry.END
          || previous != null && !follows(previous, entry)) {
        return false;
      }
      entries.add(entry);
      previous = entry;
    }
    return true;
  }

  private static boolean follows(IndexEntry previous, IndexEntry entry) {
    return entry.index() > previous.index()
        && entry.offset() >= previous.offset()
        && entry.position() > previous.position()
        && entry.term() >= previous.term();
  }

  static boolean headerMatches(ByteBuffer header, SegmentName name) {
    return header.getInt(0) == MAGIC
        && header.getShort(4) == VERSION
        && header.getInt(HEADER_CRC_FIELD) == Crc32c.of(header, 0, HEADER_CRC_FIELD)
        && header.getLong(8) == name.firstIndex()
        && header.getLong(16) == name.baseOffset();
  }

  /**
   * Goes on behind the first entries of an intact file, which stays open until {@link #release}.
   */
  static SegmentIndex resume(
      Segment segment, FileHandles.Handle handle, int keptEntries, IndexMark mark)
      throws IOException {
    SegmentIndex index = new SegmentIndex(segment, handle);
    DiskFile file = handle.acquire();
    long end = ENTRIES_OFFSET + (long) keptEntries * IndexEntry.BYTES;
    if (file.size() > end) {
      // Entries of batches that are gone must not come back after a power cut.
      file.truncate(end);
      file.sync();
    }
    index.inFile = keptEntries;
    index.memoryStart = keptEntries;
    index.markSequence = mark == null ? 0 : mark.sequence();
    index.count = keptEntries;
    return index;
  }

  FileHandles.Handle handle() {
    return handle;
  }

  synchronized void add(IndexEntry entry) throws IOException {
    if (memory.remaining() < IndexEntry.BYTES) {
      makeRoom();
    }
    entry.write(memory);
    count++;
  }

  private void makeRoom() throws IOException {
    int entries = memory.capacity() / IndexEntry.BYTES;
    if (entries < MEMORY_ENTRIES) {
      int larger = Math.max(INITIAL_MEMORY_ENTRIES, entries * 2);
      memory = ByteBuffer.allocate(larger * IndexEntry.BYTES).put(memory.flip());
      return;
    }
    flush();
    int dropped = MEMORY_ENTRIES / 2;
    memory.flip().position(dropped * IndexEntry.BYTES);
    memory.compact();
    memoryStart += dropped;
  }

  /** Writes the entries that only memory has. */
  synchronized void flush() throws IOException {
    int missing = count - inFile;
    if (missing > 0) {
      ByteBuffer entries = memory.duplicate().flip();
      entries.position((inFile - memoryStart) * IndexEntry.BYTES);
      handle.acquire().write(entries, ENTRIES_OFFSET + (long) inFile * IndexEntry.BYTES);
      handle.release();
      inFile = count;
    }
  }

  /** Notes how far the segment is on the device; not itself made durable. */
  void writeMark(long index, long position, int chain) throws IOException {
    writeMark(index, position, chain, false);
  }

  /** Notes that an fsync failed, for the next start: nothing above the entry can be trusted. */
  void writeFailure(long index) throws IOException {
    writeMark(index, 0, 0, true);
  }

  private synchronized void writeMark(long index, long position, int chain, boolean failed)
      throws IOException {
    markSequence++;
    ByteBuffer slot = new IndexMark(markSequence, index, position, chain, failed).encode();
    handle.acquire().write(slot, (markSequence & 1) == 0 ? SLOT_0 : SLOT_1);
    handle.release();
  }

  /**
   * Lowers the mark for good, in both slots and without a position: entries behind it are about to
   * go. Durable on return.
   */
  synchronized void lowerMark(long index) throws IOException {
    DiskFile file = handle.acquire();
    try {
      writeMark(index, 0, 0);
      writeMark(index, 0, 0);
      file.sync();
    } finally {
      handle.release();
    }
  }

  /** Drops the entries from an ordinal on; {@link #sync} has to follow. */
  synchronized void cut(int keptEntries) throws IOException {
    DiskFile file = handle.acquire();
    try {
      if (keptEntries < inFile) {
        inFile = keptEntries;
        file.truncate(ENTRIES_OFFSET + (long) keptEntries * IndexEntry.BYTES);
      }
      if (keptEntries <= memoryStart) {
        memoryStart = keptEntries;
        memory.clear();
      } else {
        memory.position((keptEntries - memoryStart) * IndexEntry.BYTES);
      }
      count = keptEntries;
    } finally {
      handle.release();
    }
  }

  synchronized void sync() throws IOException {
    flush();
    DiskFile file = handle.acquire();
    try {
      file.sync();
    } finally {
      handle.release();
    }
  }

  /** Ends what {@link #create} and {@link #resume} began; the entries are on file by then. */
  synchronized void release() {
    memoryStart = count;
    memory = ByteBuffer.allocate(0);
    handle.release();
  }

  /** The last entry whose field is at most {@code key}: its ordinal, -1 if there is none. */
  int floor(int field, long key) throws IOException {
    DiskFile file = acquireExisting();
    try {
      ByteBuffer one = ByteBuffer.allocate(IndexEntry.BYTES);
      int low = 0;
      int high = count(file);
      while (low < high) {
        int middle = (low + high) >>> 1;
        fill(file, middle, one);
        if (one.getLong(field) <= key) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low - 1;
    } finally {
      handle.release();
    }
  }

  /** Entries from an ordinal on, at most some; empty at the end. */
  List<IndexEntry> entries(int from, int most) throws IOException {
    DiskFile file = acquireExisting();
    try {
      int wanted = Math.min(count(file) - from, most);
      if (wanted <= 0) {
        return List.of();
      }
      ByteBuffer chunk = ByteBuffer.allocate(wanted * IndexEntry.BYTES);
      fill(file, from, chunk);
      List<IndexEntry> entries = new ArrayList<>(wanted);
      for (int i = 0; i < wanted; i++) {
        entries.add(IndexEntry.read(chunk, i * IndexEntry.BYTES));
      }
      return entries;
    } finally {
      handle.release();
    }
  }

  IndexEntry entry(int ordinal) throws IOException {
    DiskFile file = acquireExisting();
    try {
      if (ordinal >= count(file)) {
        return null;
      }
      ByteBuffer one = ByteBuffer.allocate(IndexEntry.BYTES);
      fill(file, ordinal, one);
      return IndexEntry.read(one, 0);
    } finally {
      handle.release();
    }
  }

  /** Fills the buffer with entries: the newest from memory, the rest from the file. */
  private void fill(DiskFile file, int ordinal, ByteBuffer target) throws IOException {
    int wanted = target.capacity() / IndexEntry.BYTES;
    int fromFile;
    synchronized (this) {
      fromFile = Math.max(0, Math.min(wanted, memoryStart - ordinal));
      int fromMemory = (wanted - fromFile) * IndexEntry.BYTES;
      if (fromMemory > 0) {
        int start = (ordinal + fromFile - memoryStart) * IndexEntry.BYTES;
        target.put(fromFile * IndexEntry.BYTES, memory, start, fromMemory);
      }
    }
    if (fromFile == 0) {
      return;
    }
    // An entry is dropped from memory only after it was written, so the file has all of these.
    target.clear().limit(fromFile * IndexEntry.BYTES);
    boolean read = file.readFully(target, ENTRIES_OFFSET + (long) ordinal * IndexEntry.BYTES);
    target.clear();
    for (int i = 0; i < fromFile; i++) {
      if (!read || !IndexEntry.isIntact(target, i * IndexEntry.BYTES)) {
        throw new IndexDamagedException(segment, handle.path() + " is damaged at " + (ordinal + i));
      }
    }
  }

  private DiskFile acquireExisting() throws IOException {
    try {
      return handle.acquire();
    } catch (NoSuchFileException e) {
      throw new IndexDamagedException(segment, handle.path() + " is missing");
    }
  }

  private int count(DiskFile file) throws IOException {
    int known = count;
    if (known >= 0) {
      return known;
    }
    ByteBuffer header = ByteBuffer.allocate(ENTRIES_OFFSET);
    long bytes = file.size() - ENTRIES_OFFSET;
    if (!file.readFully(header, 0)
        || !headerMatches(header, segment.name())
        || bytes < IndexEntry.BYTES
        || bytes % IndexEntry.BYTES != 0) {
      throw new IndexDamagedException(segment, handle.path() + " has no valid header or length");
    }
    ByteBuffer last = ByteBuffer.allocate(IndexEntry.BYTES);
    boolean read = file.readFully(last, ENTRIES_OFFSET + bytes - IndexEntry.BYTES);
    IndexEntry end = read && IndexEntry.isIntact(last, 0) ? IndexEntry.read(last, 0) : null;
    if (end == null || end.kind() != IndexEntry.END || !segment.endsWith(end)) {
      throw new IndexDamagedException(segment, handle.path() + " does not reach the segment's end");
    }
    IndexMark mark = markIn(header);
    synchronized (this) {
      if (count >= 0) {
        return count;
      }
      markSequence = mark == null ? 0 : mark.sequence();
      inFile = (int) (bytes / IndexEntry.BYTES);
      memoryStart = inFile;
      count = inFile;
      return count;
    }
  }
}
