package io.millrace.protocol.batch;

import io.millrace.protocol.error.ErrorCode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads the records of a batch.
 *
 * <p>Owns: nothing; the records hold copies, the buffer is not changed. Threads: any.
 *
 * <p>Errors: {@link InvalidBatchException}; no record is returned of a batch that is not readable
 * to its end. Memory is bounded by the buffer and the decompression limit, whatever the batch
 * claims.
 */
public final class BatchReader {

  private BatchReader() {}

  /**
   * All records of one batch, which starts at the buffer's position and ends at its limit.
   *
   * @param maxDecompressedBytes limit of the records after decompression
   */
  public static List<RecordView> records(ByteBuffer batch, int maxDecompressedBytes)
      throws InvalidBatchException {
    BatchHeader header = BatchChecks.header(batch);
    BatchChecks.crc(batch);
    checkMeaning(header);
    ByteBuffer payload = BatchChecks.records(batch);
    if (header.compression() != Compression.NONE) {
      payload =
          Codecs.decompress(
              header.compression(), payload, maxDecompressedBytes, header.nextOffset());
    }
    return parse(header, payload);
  }

  /**
   * Cuts a payload of whole batches into views of one batch each; checks nothing but the lengths.
   *
   * @throws InvalidBatchException INVALID_BATCH when the payload does not end with a batch
   */
  public static List<ByteBuffer> split(ByteBuffer payload) throws InvalidBatchException {
    List<ByteBuffer> batches = new ArrayList<>();
    int at = payload.position();
    int end = payload.limit();
    while (at < end) {
      long size = end - at < BatchHeader.SIZE ? -1 : BatchHeader.sizeInBytes(payload, at);
      if (size < BatchHeader.SIZE || size > end - at) {
        throw new InvalidBatchException(
            ErrorCode.INVALID_BATCH,
            "no whole batch at byte "
                + (at - payload.position())
                + ": "
                + (end - at)
                + " bytes left, the batch says "
                + size);
      }
      batches.add(payload.duplicate().limit(at + (int) size).position(at).slice());
      at += (int) size;
    }
    return batches;
  }

  private static void checkMeaning(BatchHeader header) throws InvalidBatchException {
    if (header.isControl()) {
      throw unreadable(header, "control batch where records are expected");
    }
    if (header.compression() == null) {
      throw unreadable(header, "unknown codec " + (header.attributes() & BatchHeader.CODEC_MASK));
    }
    // Compaction may leave fewer records than offsets, never more.
    if (header.recordCount() < 0 || header.recordCount() - 1 > header.lastOffsetDelta()) {
      throw unreadable(
          header,
          header.recordCount() + " records, but last offset delta " + header.lastOffsetDelta());
    }
  }

  private static List<RecordView> parse(BatchHeader header, ByteBuffer payload)
      throws InvalidBatchException {
    int count = header.recordCount();
    if (count > payload.remaining() / RecordParser.MIN_RECORD_BYTES) {
      throw unreadable(
          header, count + " records do not fit into " + payload.remaining() + " bytes");
    }
    boolean appendTime = (header.attributes() & BatchHeader.LOG_APPEND_TIME_BIT) != 0;
    RecordParser in =
        new RecordParser(
            payload,
            ErrorCode.UNREADABLE_BATCH,
            "batch at " + header.baseOffset(),
            header.nextOffset());
    List<RecordView> records = new ArrayList<>(count);
    int previousDelta = -1;
    for (int i = 0; i < count; i++) {
      in.beginRecord();
      in.readByte();
      long timestamp = header.baseTimestamp() + in.readVarlong();
      int delta = in.readVarint();
      if (delta <= previousDelta || delta > header.lastOffsetDelta()) {
        throw in.error(
            "record "
                + i
                + " has offset delta "
                + delta
                + " behind "
                + previousDelta
                + ", last is "
                + header.lastOffsetDelta());
      }
      byte[] key = in.readBytes(in.readVarint());
      byte[] value = in.readBytes(in.readVarint());
      List<RecordHeader> headers = in.readHeaders();
      in.endRecord();
      records.add(
          new RecordView(
              header.baseOffset() + delta,
              appendTime ? header.maxTimestamp() : timestamp,
              key,
              value,
              headers));
      previousDelta = delta;
    }
    in.endBatch();
    return records;
  }

  private static InvalidBatchException unreadable(BatchHeader header, String text) {
    return new InvalidBatchException(
        ErrorCode.UNREADABLE_BATCH,
        "batch at " + header.baseOffset() + ": " + text,
        header.nextOffset(),
        null);
  }
}
