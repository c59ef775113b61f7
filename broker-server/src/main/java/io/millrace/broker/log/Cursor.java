package io.millrace.broker.log;

import io.millrace.protocol.batch.BatchHeader;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * Where a walk over the batches of one segment stands: everything that is known in front of the
 * byte {@link #position}. Appending, recovery and rebuilding an index all advance one, so they
 * cannot disagree on what counts and where index entries stand.
 *
 * <p>The CRC chain covers the headers, whose first 21 bytes lie outside the batches' own checksums:
 * chain' = CRC-32C(chain as 4 bytes, header of 61 bytes as stored), 0 at the begin of the segment.
 *
 * <p>Threads: one.
 */
final class Cursor {

  /** Bytes of log from one index entry to the next, at least. */
  static final int INDEX_INTERVAL_BYTES = 4096;

  private static final int CHAIN_BYTES = 4;
  private static final byte NOTHING = 0;

  /** Of the next batch. */
  long index;

  /** Of the next record. */
  long offset;

  int position;
  long maxTimestamp = BatchHeader.NO_TIMESTAMP;
  long logTime;
  long firstLogTime;
  int recordBytes;

  /** Of the last batch, 0 = none yet. */
  int term;

  int chain;

  private int entryPosition;
  private int entryTerm;
  private byte entryKind = NOTHING;

  private final CRC32C crc = new CRC32C();
  private final byte[] scratch = new byte[CHAIN_BYTES + BatchHeader.SIZE];
  private final ByteBuffer chained = ByteBuffer.wrap(scratch);
  private final ByteBuffer header = chained.slice(CHAIN_BYTES, BatchHeader.SIZE);

  /** At the first batch behind the head of a segment. */
  static Cursor behindHead(SegmentName name, int headBytes, long logTime, int term) {
    Cursor cursor = new Cursor();
    cursor.index = name.firstIndex();
    cursor.offset = name.baseOffset();
    cursor.position = headBytes;
    cursor.logTime = logTime;
    cursor.firstLogTime = logTime;
    cursor.term = term;
    return cursor;
  }

  static Cursor at(IndexEntry entry) {
    Cursor cursor = new Cursor();
    cursor.index = entry.index();
    cursor.offset = entry.offset();
    cursor.position = entry.position();
    cursor.maxTimestamp = entry.maxTimestamp();
    cursor.logTime = entry.logTime();
    cursor.firstLogTime = entry.firstLogTime();
    cursor.recordBytes = entry.recordBytes();
    cursor.term = entry.term();
    cursor.chain = entry.chain();
    cursor.entryPosition = entry.position();
    cursor.entryTerm = entry.term();
    cursor.entryKind = entry.kind();
    return cursor;
  }

  /** One that stands at the same place and goes its own way from there. */
  Cursor copy() {
    Cursor copy = new Cursor();
    copy.index = index;
    copy.offset = offset;
    copy.position = position;
    copy.maxTimestamp = maxTimestamp;
    copy.logTime = logTime;
    copy.firstLogTime = firstLogTime;
    copy.recordBytes = recordBytes;
    copy.term = term;
    copy.chain = chain;
    copy.entryPosition = entryPosition;
    copy.entryTerm = entryTerm;
    copy.entryKind = entryKind;
    System.arraycopy(scratch, 0, copy.scratch, 0, scratch.length);
    return copy;
  }

  /** Takes the header of the next batch. */
  void load(ByteBuffer source, int at) {
    source.get(at, scratch, CHAIN_BYTES, BatchHeader.SIZE);
  }

  /** Sets what each replica sets itself. */
  void patch(int newTerm) {
    BatchHeader.patch(header, offset, newTerm);
  }

  /** The header taken last. */
  ByteBuffer header() {
    return header;
  }

  void copyHeaderTo(ByteBuffer target) {
    target.put(scratch, CHAIN_BYTES, BatchHeader.SIZE);
  }

  /** Why the header taken cannot be the next batch of the log; null if it can. */
  String mismatch() {
    long size = BatchHeader.sizeInBytes(header, 0);
    if (BatchHeader.magic(header, 0) != BatchHeader.MAGIC) {
      return "magic is " + BatchHeader.magic(header, 0);
    }
    if (size < BatchHeader.SIZE || size > LogConfig.MAX_SEGMENT_BYTES) {
      return "a length of " + size + " bytes";
    }
    if (BatchHeader.baseOffset(header, 0) != offset) {
      return "base offset " + BatchHeader.baseOffset(header, 0) + " where " + offset + " is next";
    }
    int delta = BatchHeader.lastOffsetDelta(header, 0);
    int count = BatchHeader.recordCount(header, 0);
    boolean control = BatchHeader.isControl(header, 0);
    if (control ? delta != -1 || count != 0 : delta < 0 || count < 1) {
      return count + " records with last offset delta " + delta;
    }
    return null;
  }

  int headerTerm() {
    return BatchHeader.partitionLeaderEpoch(header, 0);
  }

  boolean headerIsControl() {
    return BatchHeader.isControl(header, 0);
  }

  int headerSize() {
    return (int) BatchHeader.sizeInBytes(header, 0);
  }

  /** Goes behind the batch whose header was taken; an index entry if one has to stand there. */
  IndexEntry advance() {
    boolean control = headerIsControl();
    byte kind = control ? IndexEntry.CONTROL : IndexEntry.RECORDS;
    int batchTerm = headerTerm();
    IndexEntry entry = null;
    if (kind != entryKind
        || batchTerm != entryTerm
        || position - entryPosition >= INDEX_INTERVAL_BYTES) {
      entry = entry(batchTerm, kind);
      entryPosition = position;
      entryTerm = batchTerm;
      entryKind = kind;
    }
    chained.putInt(0, chain);
    crc.reset();
    crc.update(scratch, 0, scratch.length);
    chain = (int) crc.getValue();
    int size = headerSize();
    position += size;
    index++;
    term = batchTerm;
    if (!control) {
      offset += BatchHeader.lastOffsetDelta(header, 0) + 1L;
      maxTimestamp = Math.max(maxTimestamp, BatchHeader.maxTimestamp(header, 0));
      recordBytes += size;
    }
    return entry;
  }

  /** Notes the log time of the batch that was just passed. */
  void passTime(long millis) {
    logTime = Math.max(logTime, millis);
    if (firstLogTime < 0) {
      firstLogTime = logTime;
    }
  }

  /** The entry that ends the index of a closed segment. */
  IndexEntry endEntry() {
    return entry(term, IndexEntry.END);
  }

  private IndexEntry entry(int batchTerm, byte kind) {
    return new IndexEntry(
        index,
        offset,
        maxTimestamp,
        logTime,
        firstLogTime,
        position,
        recordBytes,
        batchTerm,
        chain,
        kind);
  }

  SegmentFoot foot(EpochTable logEpochs, SegmentName name) {
    return new SegmentFoot(
        index - 1,
        offset,
        maxTimestamp,
        firstLogTime,
        logTime,
        recordBytes,
        chain,
        index == name.firstIndex()
            ? EpochTable.EMPTY
            : logEpochs.upTo(index - 1).from(name.firstIndex(), name.baseOffset()));
  }
}
