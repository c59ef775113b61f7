package io.millrace.broker.log;

import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlRecord;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.batch.InvalidBatchException;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Last batch of a closed segment, in the file only: what the segment holds, so that a start need
 * not read it. It is a control batch of type SEGMENT_FOOT with term -1 and the next segment's base
 * offset; its value is:
 *
 * <pre>
 * offset size
 * 0      2     format version, 1
 * 2      2     zero
 * 4      4     CRC chain: see {@link Cursor}
 * 8      8     last Raft index; one below the first if the segment holds none
 * 16     8     offset behind the last record
 * 24     8     largest timestamp of the records, -1 = none
 * 32     8     log time of the first TIME batch or in force at the begin, -1 = none
 * 40     8     largest log time, -1 = none
 * 48     8     bytes of record batches; the rest is control
 * 56     4     n = epochs
 * 60     n*24  epochs with an entry in this segment: term i64, first index here i64, offset there i64
 * ..     4     bytes of the whole footer batch
 * ..     4     magic "MRFT"
 * </pre>
 *
 * The batch ends with one zero byte behind the value (the number of record headers), so the last
 * nine bytes of the file lead to the footer.
 */
public record SegmentFoot(
    long lastIndex,
    long nextOffset,
    long maxTimestamp,
    long firstLogTime,
    long lastLogTime,
    long recordBytes,
    int chain,
    EpochTable epochs) {

  private static final int MAGIC = 0x4D524654;
  private static final short FORMAT_VERSION = 1;
  private static final int FIXED_BYTES = 60;
  private static final int EPOCH_BYTES = 24;
  private static final int TRAILER_BYTES = 8;
  private static final int TAIL_BYTES = TRAILER_BYTES + 1;

  ByteBuffer encode() {
    int count = epochs.size();
    int valueBytes = FIXED_BYTES + count * EPOCH_BYTES + TRAILER_BYTES;
    ByteBuffer value = ByteBuffer.allocate(valueBytes);
    value.putShort(FORMAT_VERSION).putShort((short) 0).putInt(chain);
    value.putLong(lastIndex).putLong(nextOffset).putLong(maxTimestamp);
    value.putLong(firstLogTime).putLong(lastLogTime).putLong(recordBytes);
    value.putInt(count);
    for (int i = 0; i < count; i++) {
      value.putLong(epochs.term(i)).putLong(epochs.firstIndex(i)).putLong(epochs.firstOffset(i));
    }
    int sizeOffset = value.position();
    value.putInt(0).putInt(MAGIC);
    int batchBytes =
        ControlBatch.encode(ControlType.SEGMENT_FOOT.code(), value.array()).remaining();
    value.putInt(sizeOffset, batchBytes);
    ByteBuffer batch = ControlBatch.encode(ControlType.SEGMENT_FOOT.code(), value.array());
    BatchHeader.patch(batch, nextOffset, SegmentHead.NO_TERM);
    return batch;
  }

  /** Null if the batch is intact but no footer that this version understands. */
  public static SegmentFoot decode(ByteBuffer batch) throws InvalidBatchException {
    ControlRecord control = ControlBatch.decode(batch);
    ByteBuffer value = control.value().asReadOnlyByteBuffer();
    if (control.type() != ControlType.SEGMENT_FOOT
        || value.remaining() < FIXED_BYTES + TRAILER_BYTES
        || value.getShort() != FORMAT_VERSION) {
      return null;
    }
    value.getShort();
    int chain = value.getInt();
    long lastIndex = value.getLong();
    long nextOffset = value.getLong();
    long maxTimestamp = value.getLong();
    long firstLogTime = value.getLong();
    long lastLogTime = value.getLong();
    long recordBytes = value.getLong();
    int count = value.getInt();
    if (count < 0 || value.remaining() != (long) count * EPOCH_BYTES + TRAILER_BYTES) {
      return null;
    }
    EpochTable epochs = EpochTable.EMPTY;
    for (int i = 0; i < count; i++) {
      epochs = epochs.with(value.getLong(), value.getLong(), value.getLong());
    }
    return new SegmentFoot(
        lastIndex, nextOffset, maxTimestamp, firstLogTime, lastLogTime, recordBytes, chain, epochs);
  }

  /** A footer and where it begins. */
  record At(SegmentFoot foot, int position) {}

  /** The footer at the end of a file, null if there is no intact one. */
  static At find(DiskFile file, long size) throws IOException {
    ByteBuffer tail = ByteBuffer.allocate(TAIL_BYTES);
    if (size < BatchHeader.SIZE + TAIL_BYTES || !file.readFully(tail, size - TAIL_BYTES)) {
      return null;
    }
    int batchBytes = tail.getInt(0);
    if (tail.getInt(4) != MAGIC || batchBytes < BatchHeader.SIZE || batchBytes > size) {
      return null;
    }
    ByteBuffer batch = ByteBuffer.allocate(batchBytes);
    if (!file.readFully(batch, size - batchBytes)) {
      return null;
    }
    try {
      SegmentFoot foot = decode(batch.flip());
      return foot == null ? null : new At(foot, Math.toIntExact(size - batchBytes));
    } catch (InvalidBatchException e) {
      return null;
    }
  }
}
