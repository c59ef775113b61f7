package io.millrace.protocol.batch;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.MessageLite;
import io.millrace.protocol.error.ErrorCode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;

/**
 * Batches that carry a command instead of records and take no offset.
 *
 * <pre>
 *  header   attributes 0x20, recordCount 0, lastOffsetDelta -1, base and max timestamp -1,
 *           producerId, producerEpoch and baseSequence -1
 *  at 61    one record body of the v2 format, never compressed:
 *    varint  bytes after this field
 *    i8      attributes       0
 *    varint  timestampDelta   0
 *    varint  offsetDelta      0
 *    varint  keyLength        4
 *    i16     key version      0
 *    i16     type             {@link ControlType#code()}
 *    varint  valueLength
 *    bytes   value            protobuf message of the type
 *    varint  headers          0
 * </pre>
 *
 * <p>They are never sent to a client: other readers of the format parse by remaining bytes, not by
 * count, and would take the body for a record.
 */
public final class ControlBatch {

  public static final short KEY_VERSION = 0;

  private static final int KEY_BYTES = 4;

  /** attributes, two deltas, key length, key. */
  private static final int FIXED_BYTES = 1 + 1 + 1 + 1 + KEY_BYTES;

  private ControlBatch() {}

  public static ByteBuffer encode(ControlType type, MessageLite value) {
    int valueBytes = value.getSerializedSize();
    ByteBuffer batch = allocate(type.code(), valueBytes);
    try {
      CodedOutputStream out =
          CodedOutputStream.newInstance(batch.array(), batch.position(), valueBytes);
      value.writeTo(out);
      out.checkNoSpaceLeft();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return finish(batch);
  }

  public static ByteBuffer encode(short type, ByteString value) {
    ByteBuffer batch = allocate(type, value.size());
    value.copyTo(batch.array(), batch.position());
    return finish(batch);
  }

  public static ByteBuffer encode(short type, byte[] value) {
    ByteBuffer batch = allocate(type, value.length);
    System.arraycopy(value, 0, batch.array(), batch.position(), value.length);
    return finish(batch);
  }

  public static boolean isControl(BatchHeader header) {
    return header.isControl();
  }

  /**
   * The command of a whole batch, which starts at the buffer's position and ends at its limit.
   *
   * @throws InvalidBatchException CORRUPT_BATCH or INVALID_BATCH
   */
  public static ControlRecord decode(ByteBuffer batch) throws InvalidBatchException {
    BatchHeader header = BatchChecks.header(batch);
    BatchChecks.crc(batch);
    if (header.attributes() != BatchHeader.CONTROL_BIT
        || header.recordCount() != 0
        || header.lastOffsetDelta() != -1) {
      throw new InvalidBatchException(
          ErrorCode.INVALID_BATCH,
          "no control batch: attributes 0x"
              + Integer.toHexString(header.attributes() & 0xFFFF)
              + ", "
              + header.recordCount()
              + " records, last offset delta "
              + header.lastOffsetDelta());
    }
    RecordParser body =
        new RecordParser(
            BatchChecks.records(batch),
            ErrorCode.INVALID_BATCH,
            "control batch",
            header.nextOffset());
    body.beginRecord();
    byte attributes = body.readByte();
    long deltas = body.readVarlong() | body.readVarint();
    int keyBytes = body.readVarint();
    if (attributes != 0 || deltas != 0 || keyBytes != KEY_BYTES) {
      throw body.error("record body does not have the fixed fields of a control record");
    }
    short version = body.readShort();
    short type = body.readShort();
    ByteString value = body.readByteString(body.readVarint());
    if (body.readVarint() != 0) {
      throw body.error("control record has headers");
    }
    body.endRecord();
    body.endBatch();
    return new ControlRecord(version, type, value);
  }

  /** A batch with everything but value, header count and checksum; positioned at the value. */
  private static ByteBuffer allocate(short type, int valueBytes) {
    int bodyBytes = FIXED_BYTES + Varints.size(valueBytes) + valueBytes + 1;
    int size = BatchHeader.SIZE + Varints.size(bodyBytes) + bodyBytes;
    byte[] bytes = new byte[size];
    ByteBuffer batch = ByteBuffer.wrap(bytes);
    batch.putInt(BatchHeader.BATCH_LENGTH_OFFSET, size - BatchHeader.LOG_OVERHEAD);
    batch.put(BatchHeader.MAGIC_OFFSET, BatchHeader.MAGIC);
    batch.putShort(BatchHeader.ATTRIBUTES_OFFSET, (short) BatchHeader.CONTROL_BIT);
    batch.putInt(BatchHeader.LAST_OFFSET_DELTA_OFFSET, -1);
    batch.putLong(BatchHeader.BASE_TIMESTAMP_OFFSET, BatchHeader.NO_TIMESTAMP);
    batch.putLong(BatchHeader.MAX_TIMESTAMP_OFFSET, BatchHeader.NO_TIMESTAMP);
    batch.putLong(BatchHeader.PRODUCER_ID_OFFSET, BatchHeader.NO_PRODUCER_ID);
    batch.putShort(BatchHeader.PRODUCER_EPOCH_OFFSET, BatchHeader.NO_PRODUCER_EPOCH);
    batch.putInt(BatchHeader.BASE_SEQUENCE_OFFSET, BatchHeader.NO_SEQUENCE);
    int at = Varints.write(bytes, BatchHeader.SIZE, bodyBytes);
    at += 3; // attributes and both deltas are 0
    at = Varints.write(bytes, at, KEY_BYTES);
    batch.putShort(at, KEY_VERSION);
    batch.putShort(at + 2, type);
    return batch.position(Varints.write(bytes, at + KEY_BYTES, valueBytes));
  }

  private static ByteBuffer finish(ByteBuffer batch) {
    int crc =
        Crc32c.of(
            batch.array(),
            BatchHeader.ATTRIBUTES_OFFSET,
            batch.capacity() - BatchHeader.ATTRIBUTES_OFFSET);
    return batch.putInt(BatchHeader.CRC_OFFSET, crc).clear();
  }
}
