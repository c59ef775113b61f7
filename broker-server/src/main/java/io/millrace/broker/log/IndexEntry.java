package io.millrace.broker.log;

import io.millrace.protocol.batch.Crc32c;
import java.nio.ByteBuffer;

/**
 * One entry of a segment index: all that is known in front of one batch, enough to go on from there
 * without what lies before.
 *
 * <pre>
 * offset size
 * 0      8    Raft index of the batch
 * 8      8    offset of the first record at or behind the batch
 * 16     8    largest record timestamp before it in the segment, -1 = none
 * 24     8    log time in force there, -1 = none
 * 32     8    first log time of the segment, -1 = none yet
 * 40     4    position of the batch in the file
 * 44     4    bytes of record batches before it in the segment
 * 48     4    term of the batch
 * 52     4    CRC chain of the batches before it
 * 56     1    kind: 1 = record batches follow, 2 = control batches follow, 3 = end of the segment
 * 57     3    zero
 * 60     4    CRC-32C of the bytes before
 * </pre>
 *
 * In front of every change between records and control batches, and of every new term, stands an
 * entry.
 */
record IndexEntry(
    long index,
    long offset,
    long maxTimestamp,
    long logTime,
    long firstLogTime,
    int position,
    int recordBytes,
    int term,
    int chain,
    byte kind) {

  static final int BYTES = 64;

  static final byte RECORDS = 1;
  static final byte CONTROL = 2;
  static final byte END = 3;

  /** Fields that ascend over the entries of a segment and can be searched. */
  static final int INDEX_FIELD = 0;

  static final int OFFSET_FIELD = 8;
  static final int MAX_TIMESTAMP_FIELD = 16;

  private static final int CRC_FIELD = 60;

  boolean isRecords() {
    return kind == RECORDS;
  }

  void write(ByteBuffer target) {
    int start = target.position();
    target.putLong(index).putLong(offset).putLong(maxTimestamp).putLong(logTime);
    target.putLong(firstLogTime).putInt(position).putInt(recordBytes).putInt(term).putInt(chain);
    target.put(kind).put((byte) 0).put((byte) 0).put((byte) 0);
    target.putInt(Crc32c.of(target, start, CRC_FIELD));
  }

  static boolean isIntact(ByteBuffer source, int at) {
    return source.getInt(at + CRC_FIELD) == Crc32c.of(source, at, CRC_FIELD)
        && source.get(at + 56) >= RECORDS
        && source.get(at + 56) <= END;
  }

  static IndexEntry read(ByteBuffer source, int at) {
    return new IndexEntry(
        source.getLong(at + INDEX_FIELD),
        source.getLong(at + OFFSET_FIELD),
        source.getLong(at + MAX_TIMESTAMP_FIELD),
        source.getLong(at + 24),
        source.getLong(at + 32),
        source.getInt(at + 40),
        source.getInt(at + 44),
        source.getInt(at + 48),
        source.getInt(at + 52),
        source.get(at + 56));
  }
}
