package io.millrace.protocol.batch;

import io.millrace.protocol.error.ErrorCode;
import java.nio.ByteBuffer;

/**
 * What a leader checks before it accepts a batch from a client. The records are not looked into and
 * never decompressed; everything that the log, the offsets and the replicas rely on is in the
 * header. A control or transactional bit from a client would be a forged command.
 *
 * <p>Base offset and term of the batch are not looked at: every replica overwrites them.
 *
 * <p>Threads: any; keeps no state.
 */
public final class BatchValidator {

  private static final int CLIENT_ATTRIBUTES = BatchHeader.CODEC_MASK;

  private BatchValidator() {}

  /**
   * Bounds that depend on the receiver.
   *
   * @param maxTimestamp largest allowed record timestamp, milliseconds since the epoch
   * @param maxRecords largest allowed record count: a batch is one answer to its producer, and its
   *     count is believed for the offsets although compressed records are not counted
   */
  public record Limits(long maxTimestamp, int maxRecords) {

    public static final long DAY_MILLIS = 24 * 60 * 60 * 1000L;

    public static final int DEFAULT_MAX_RECORDS = 1_000_000;

    /** Up to a day ahead of the receiver's clock. */
    public static Limits at(long nowMillis) {
      return new Limits(nowMillis + DAY_MILLIS, DEFAULT_MAX_RECORDS);
    }
  }

  /**
   * Returns the header of a batch that may be appended; the batch starts at the buffer's position
   * and ends at its limit.
   *
   * @throws InvalidBatchException with the code for the client; nothing must be appended
   */
  public static BatchHeader validate(ByteBuffer batch, int maxBytes, Limits limits)
      throws InvalidBatchException {
    if (batch.remaining() > maxBytes) {
      throw new InvalidBatchException(
          ErrorCode.RECORD_TOO_LARGE,
          "batch of "
              + batch.remaining()
              + " bytes is over the limit of "
              + maxBytes
              + " for this topic: send smaller batches, or raise its max record bytes");
    }
    BatchHeader header = BatchChecks.header(batch);
    BatchChecks.crc(batch);
    checkAttributes(header);
    checkCounts(header, batch.remaining() - BatchHeader.SIZE, limits);
    checkTimestamps(header, limits);
    checkProducer(header);
    return header;
  }

  private static void checkAttributes(BatchHeader header) throws InvalidBatchException {
    int attributes = header.attributes() & 0xFFFF;
    if ((attributes & ~CLIENT_ATTRIBUTES) != 0) {
      throw invalid(
          String.format(
              "attributes 0x%04x hold bits that clients must not set; allowed: 0x%04x",
              attributes, CLIENT_ATTRIBUTES));
    }
    if (header.compression() == null) {
      throw invalid("codec " + attributes + " is not known; known: 0 to " + Compression.ZSTD.id());
    }
  }

  private static void checkCounts(BatchHeader header, int recordBytes, Limits limits)
      throws InvalidBatchException {
    int count = header.recordCount();
    if (count < 1 || count > limits.maxRecords()) {
      throw invalid("record count " + count + " is not in 1.." + limits.maxRecords());
    }
    if (header.lastOffsetDelta() != count - 1) {
      throw invalid(
          "last offset delta "
              + header.lastOffsetDelta()
              + " must be record count - 1 = "
              + (count - 1));
    }
    long least =
        header.compression() == Compression.NONE ? (long) count * RecordParser.MIN_RECORD_BYTES : 1;
    if (recordBytes < least) {
      throw invalid(count + " records do not fit into " + recordBytes + " bytes");
    }
  }

  private static void checkTimestamps(BatchHeader header, Limits limits)
      throws InvalidBatchException {
    checkTimestamp("base timestamp", header.baseTimestamp(), limits);
    checkTimestamp("max timestamp", header.maxTimestamp(), limits);
    if (header.maxTimestamp() < header.baseTimestamp()) {
      throw invalid(
          "max timestamp "
              + header.maxTimestamp()
              + " is below base timestamp "
              + header.baseTimestamp());
    }
  }

  private static void checkTimestamp(String name, long timestamp, Limits limits)
      throws InvalidBatchException {
    if (timestamp < BatchHeader.NO_TIMESTAMP || timestamp > limits.maxTimestamp()) {
      throw invalid(
          name
              + " "
              + timestamp
              + " must be -1 or in 0.."
              + limits.maxTimestamp()
              + " (milliseconds since the epoch): check the clock");
    }
  }

  private static void checkProducer(BatchHeader header) throws InvalidBatchException {
    boolean none =
        header.producerId() == BatchHeader.NO_PRODUCER_ID
            && header.producerEpoch() == BatchHeader.NO_PRODUCER_EPOCH
            && header.baseSequence() == BatchHeader.NO_SEQUENCE;
    boolean all =
        header.producerId() >= 0 && header.producerEpoch() >= 0 && header.baseSequence() >= 0;
    if (!none && !all) {
      throw invalid(
          "producer id "
              + header.producerId()
              + ", epoch "
              + header.producerEpoch()
              + " and base sequence "
              + header.baseSequence()
              + " must all be -1 or all be 0 or more");
    }
  }

  private static InvalidBatchException invalid(String text) {
    return new InvalidBatchException(ErrorCode.INVALID_BATCH, text);
  }
}
