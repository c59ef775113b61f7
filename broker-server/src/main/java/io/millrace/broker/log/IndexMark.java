package io.millrace.broker.log;

import io.millrace.protocol.batch.Crc32c;
import java.nio.ByteBuffer;

/**
 * The sync mark in an index file. Two slots are written in turn, so that a torn one leaves the
 * older; the higher sequence counts.
 *
 * <pre>
 * offset size
 * 0      8    sequence, counted up by every write
 * 8      8    Raft index up to which the segment is on the device
 * 16     8    position behind that entry, 0 = not known
 * 24     4    CRC chain up to there
 * 28     4    1 = an fsync failed after this, 0 = none did
 * 32     4    CRC-32C of the bytes before
 * </pre>
 *
 * What a failed fsync covered may be gone from the disk and still be in the page cache, and a later
 * fsync says nothing about it: the next start keeps only what the mark speaks for.
 */
record IndexMark(long sequence, long index, long position, int chain, boolean failed) {

  static final int BYTES = 36;

  private static final int CRC_FIELD = 32;

  ByteBuffer encode() {
    ByteBuffer slot = ByteBuffer.allocate(BYTES);
    slot.putLong(sequence).putLong(index).putLong(position).putInt(chain);
    slot.putInt(failed ? 1 : 0);
    return slot.putInt(Crc32c.of(slot, 0, CRC_FIELD)).flip();
  }

  /** Null if the slot is empty or torn. */
  static IndexMark decode(ByteBuffer source, int at) {
    if (source.getInt(at + CRC_FIELD) != Crc32c.of(source, at, CRC_FIELD)
        || source.getLong(at) == 0) {
      return null;
    }
    return new IndexMark(
        source.getLong(at),
        source.getLong(at + 8),
        source.getLong(at + 16),
        source.getInt(at + 24),
        source.getInt(at + 28) != 0);
  }

  static IndexMark newer(IndexMark a, IndexMark b) {
    return a == null || b != null && b.sequence > a.sequence ? b : a;
  }
}
