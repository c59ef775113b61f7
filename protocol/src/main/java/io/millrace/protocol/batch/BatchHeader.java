package io.millrace.protocol.batch;

import java.nio.ByteBuffer;

/**
 * The fixed part of a record batch: Kafka's v2 format byte for byte, big endian.
 *
 * <pre>
 *  offset  bytes  field
 *       0      8  baseOffset            set by each replica; outside the checksum
 *       8      4  batchLength           bytes after this field
 *      12      4  partitionLeaderEpoch  term; set by each replica; outside the checksum
 *      16      1  magic                 2
 *      17      4  crc                   CRC-32C of everything from offset 21
 *      21      2  attributes            bits 0-2 codec, 3 timestamp type, 4 transactional, 5 control
 *      23      4  lastOffsetDelta       records - 1; -1 in a control batch
 *      27      8  baseTimestamp         of the first record, ms, -1 = none
 *      35      8  maxTimestamp          largest of all records, ms, -1 = none
 *      43      8  producerId            -1 = none
 *      51      2  producerEpoch         -1 = none
 *      53      4  baseSequence          -1 = none
 *      57      4  recordCount           0 in a control batch
 *      61      .  records               compressed as one block by the codec
 * </pre>
 *
 * <p>Buffers passed in have big endian order (the default). Positions are absolute; nothing changes
 * position or limit. Callers make sure that {@link #SIZE} bytes are there.
 */
public record BatchHeader(
    long baseOffset,
    int batchLength,
    int partitionLeaderEpoch,
    byte magic,
    int crc,
    short attributes,
    int lastOffsetDelta,
    long baseTimestamp,
    long maxTimestamp,
    long producerId,
    short producerEpoch,
    int baseSequence,
    int recordCount) {

  public static final byte MAGIC = 2;

  public static final int BASE_OFFSET_OFFSET = 0;
  public static final int BATCH_LENGTH_OFFSET = 8;
  public static final int PARTITION_LEADER_EPOCH_OFFSET = 12;
  public static final int MAGIC_OFFSET = 16;
  public static final int CRC_OFFSET = 17;
  public static final int ATTRIBUTES_OFFSET = 21;
  public static final int LAST_OFFSET_DELTA_OFFSET = 23;
  public static final int BASE_TIMESTAMP_OFFSET = 27;
  public static final int MAX_TIMESTAMP_OFFSET = 35;
  public static final int PRODUCER_ID_OFFSET = 43;
  public static final int PRODUCER_EPOCH_OFFSET = 51;
  public static final int BASE_SEQUENCE_OFFSET = 53;
  public static final int RECORD_COUNT_OFFSET = 57;

  /** Bytes of the header; the records follow. */
  public static final int SIZE = 61;

  /** Bytes up to and including batchLength, which it does not count. */
  public static final int LOG_OVERHEAD = 12;

  public static final int CODEC_MASK = 0x07;
  public static final int LOG_APPEND_TIME_BIT = 0x08;
  public static final int TRANSACTIONAL_BIT = 0x10;
  public static final int CONTROL_BIT = 0x20;

  public static final long NO_TIMESTAMP = -1;
  public static final long NO_PRODUCER_ID = -1;
  public static final short NO_PRODUCER_EPOCH = -1;
  public static final int NO_SEQUENCE = -1;

  public static BatchHeader read(ByteBuffer buf, int pos) {
    return new BatchHeader(
        baseOffset(buf, pos),
        buf.getInt(pos + BATCH_LENGTH_OFFSET),
        partitionLeaderEpoch(buf, pos),
        magic(buf, pos),
        crc(buf, pos),
        attributes(buf, pos),
        lastOffsetDelta(buf, pos),
        buf.getLong(pos + BASE_TIMESTAMP_OFFSET),
        maxTimestamp(buf, pos),
        producerId(buf, pos),
        buf.getShort(pos + PRODUCER_EPOCH_OFFSET),
        buf.getInt(pos + BASE_SEQUENCE_OFFSET),
        recordCount(buf, pos));
  }

  public static long baseOffset(ByteBuffer buf, int pos) {
    return buf.getLong(pos + BASE_OFFSET_OFFSET);
  }

  /** Bytes of the whole batch as its length field says; may be nonsense in an unchecked batch. */
  public static long sizeInBytes(ByteBuffer buf, int pos) {
    return (long) buf.getInt(pos + BATCH_LENGTH_OFFSET) + LOG_OVERHEAD;
  }

  public static int partitionLeaderEpoch(ByteBuffer buf, int pos) {
    return buf.getInt(pos + PARTITION_LEADER_EPOCH_OFFSET);
  }

  public static byte magic(ByteBuffer buf, int pos) {
    return buf.get(pos + MAGIC_OFFSET);
  }

  public static int crc(ByteBuffer buf, int pos) {
    return buf.getInt(pos + CRC_OFFSET);
  }

  public static short attributes(ByteBuffer buf, int pos) {
    return buf.getShort(pos + ATTRIBUTES_OFFSET);
  }

  public static int lastOffsetDelta(ByteBuffer buf, int pos) {
    return buf.getInt(pos + LAST_OFFSET_DELTA_OFFSET);
  }

  public static long maxTimestamp(ByteBuffer buf, int pos) {
    return buf.getLong(pos + MAX_TIMESTAMP_OFFSET);
  }

  public static long producerId(ByteBuffer buf, int pos) {
    return buf.getLong(pos + PRODUCER_ID_OFFSET);
  }

  public static int recordCount(ByteBuffer buf, int pos) {
    return buf.getInt(pos + RECORD_COUNT_OFFSET);
  }

  public static boolean isControl(ByteBuffer buf, int pos) {
    return (attributes(buf, pos) & CONTROL_BIT) != 0;
  }

  /** Exclusive end: the base offset of the batch behind this one. */
  public static long nextOffset(ByteBuffer buf, int pos) {
    return baseOffset(buf, pos) + lastOffsetDelta(buf, pos) + 1;
  }

  /**
   * Whether the batch at {@code pos} has its whole length inside the buffer's limit and a matching
   * checksum. Says nothing about what the batch means.
   */
  public static boolean isIntact(ByteBuffer buf, int pos) {
    if (buf.limit() - pos < SIZE) {
      return false;
    }
    long size = sizeInBytes(buf, pos);
    return size >= SIZE && size <= buf.limit() - pos && crcMatches(buf, pos, (int) size);
  }

  static boolean crcMatches(ByteBuffer buf, int pos, int size) {
    return crc(buf, pos) == Crc32c.of(buf, pos + ATTRIBUTES_OFFSET, size - ATTRIBUTES_OFFSET);
  }

  /**
   * Sets what a replica sets. Only ever on a copy of the header: the batch itself may be read by
   * replicators at the same time.
   *
   * @param headerCopy the header at position 0
   */
  public static void patch(ByteBuffer headerCopy, long baseOffset, int term) {
    headerCopy.putLong(BASE_OFFSET_OFFSET, baseOffset);
    headerCopy.putInt(PARTITION_LEADER_EPOCH_OFFSET, term);
  }

  public long sizeInBytes() {
    return (long) batchLength + LOG_OVERHEAD;
  }

  public boolean isControl() {
    return (attributes & CONTROL_BIT) != 0;
  }

  public boolean isTransactional() {
    return (attributes & TRANSACTIONAL_BIT) != 0;
  }

  /** Null when the codec bits name no codec. */
  public Compression compression() {
    return Compression.of(attributes & CODEC_MASK);
  }

  public boolean hasProducerId() {
    return producerId != NO_PRODUCER_ID;
  }

  /** Of the last record; one below the base offset in a control batch. */
  public long lastOffset() {
    return baseOffset + lastOffsetDelta;
  }

  /** Exclusive end: the base offset of the batch behind this one. */
  public long nextOffset() {
    return lastOffset() + 1;
  }

  /** Sequence of the last record; sequences wrap to 0 behind Integer.MAX_VALUE, as in Kafka. */
  public int lastSequence() {
    if (baseSequence == NO_SEQUENCE) {
      return NO_SEQUENCE;
    }
    return (int) (((long) baseSequence + recordCount - 1) & Integer.MAX_VALUE);
  }
}
