package io.millrace.protocol.batch;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * Collects records into one batch.
 *
 * <p>Owns: one array that holds header and records as they will be sent; it grows up to the limit.
 * Without compression {@link #build} fills in the header and returns that array, uncopied: it then
 * belongs to the caller. With compression the result is a new array, and the collecting one can be
 * taken back with {@link #takeBuffer} for the next writer.
 *
 * <p>Threads: one at a time; the owner synchronises.
 *
 * <p>Errors: IllegalArgumentException for a record that no batch can hold, IllegalStateException
 * for use after build.
 */
public final class BatchWriter {

  /** A batch never holds more; see {@link BatchValidator.Limits#DEFAULT_MAX_RECORDS}. */
  public static final int MAX_RECORDS = BatchValidator.Limits.DEFAULT_MAX_RECORDS;

  private static final int FIRST_CAPACITY = 4 << 10;

  /** Arrays cannot be larger; some JVMs need a few words. */
  private static final int LARGEST_ARRAY = Integer.MAX_VALUE - 64;

  private final Compression compression;
  private final int maxBytes;
  private byte[] buf;
  private int end = BatchHeader.SIZE;
  private int recordCount;
  private long baseTimestamp;
  private long maxTimestamp = BatchHeader.NO_TIMESTAMP;
  private boolean built;

  /**
   * @param maxBytes limit of the batch before compression, header included; a single larger record
   *     still makes a batch of its own
   */
  public BatchWriter(Compression compression, int maxBytes) {
    this(compression, maxBytes, new byte[Math.max(BatchHeader.SIZE, firstCapacity(maxBytes))]);
  }

  /**
   * @param buffer an array that nobody else uses any more, written over from its start
   */
  public BatchWriter(Compression compression, int maxBytes, byte[] buffer) {
    this.compression = Objects.requireNonNull(compression, "compression");
    if (maxBytes < BatchHeader.SIZE) {
      throw new IllegalArgumentException(
          "batch limit of " + maxBytes + " bytes is below the header's " + BatchHeader.SIZE);
    }
    this.maxBytes = maxBytes;
    this.buf = buffer.length < BatchHeader.SIZE ? new byte[firstCapacity(maxBytes)] : buffer;
  }

  private static int firstCapacity(int maxBytes) {
    return Math.max(BatchHeader.SIZE, Math.min(maxBytes, FIRST_CAPACITY));
  }

  /**
   * Largest size, header included, of a batch that holds only this record: what to compare with a
   * record limit before appending.
   */
  public static long singleRecordBatchBytes(byte[] key, byte[] value, List<RecordHeader> headers) {
    long body = bodyBytes(Varints.MAX_LONG_BYTES, Varints.size(0), key, value, headers);
    return BatchHeader.SIZE + Varints.size(body) + body;
  }

  /**
   * Adds a record, or returns false and changes nothing when there is no room. A first record
   * always fits. The arrays are copied.
   *
   * @param timestamp milliseconds since the epoch, -1 = none
   */
  public boolean tryAppend(
      long timestamp, byte[] keyOrNull, byte[] valueOrNull, List<RecordHeader> headers) {
    checkOpen();
    if (timestamp < BatchHeader.NO_TIMESTAMP) {
      throw new IllegalArgumentException(
          "record timestamp " + timestamp + " must be -1 (none) or 0 or more milliseconds");
    }
    long timestampDelta = recordCount == 0 ? 0 : timestamp - baseTimestamp;
    long body =
        bodyBytes(
            Varints.size(timestampDelta),
            Varints.size(recordCount),
            keyOrNull,
            valueOrNull,
            headers);
    long newEnd = end + Varints.size(body) + body;
    if (recordCount > 0 && (newEnd > maxBytes || recordCount == MAX_RECORDS)) {
      return false;
    }
    if (newEnd > LARGEST_ARRAY) {
      throw new IllegalArgumentException(
          "record of " + body + " bytes does not fit into a batch of 2 GiB");
    }
    ensureCapacity((int) newEnd);
    int at = Varints.write(buf, end, (int) body);
    buf[at++] = 0;
    at = Varints.write(buf, at, timestampDelta);
    at = Varints.write(buf, at, recordCount);
    at = writeBytes(at, keyOrNull);
    at = writeBytes(at, valueOrNull);
    at = Varints.write(buf, at, headers.size());
    for (int i = 0; i < headers.size(); i++) {
      RecordHeader header = headers.get(i);
      at = writeString(at, header.key());
      at = writeBytes(at, header.value());
    }
    if (at != newEnd) {
      throw new IllegalStateException(
          "record took " + (at - end) + " bytes, not " + (newEnd - end));
    }
    if (recordCount == 0) {
      baseTimestamp = timestamp;
    }
    maxTimestamp = Math.max(maxTimestamp, timestamp);
    end = at;
    recordCount++;
    return true;
  }

  public int recordCount() {
    return recordCount;
  }

  /** Size of the batch if it were built now without compression; with it, never more. */
  public int estimatedBytes() {
    return end;
  }

  /** Memory of the collecting array; 0 once it belongs to someone else. */
  public int bufferBytes() {
    return buf == null ? 0 : buf.length;
  }

  /** Largest so far, -1 without records. */
  public long maxTimestamp() {
    return maxTimestamp;
  }

  public Compression compression() {
    return compression;
  }

  /**
   * Finishes the batch; once only. Records that do not get smaller are sent uncompressed.
   *
   * @return a heap buffer from position 0 to its limit, backed by an array from offset 0
   */
  public ByteBuffer build(long producerId, short producerEpoch, int baseSequence) {
    checkOpen();
    if (recordCount == 0) {
      throw new IllegalStateException("a batch needs at least one record");
    }
    built = true;
    if (compression != Compression.NONE) {
      byte[] target = new byte[end];
      int rawBytes = end - BatchHeader.SIZE;
      int bytes =
          Codecs.compress(compression, buf, BatchHeader.SIZE, rawBytes, target, BatchHeader.SIZE);
      if (bytes >= 0) {
        int size = BatchHeader.SIZE + bytes;
        // What waits for its receipt should not hold the room of the uncompressed records.
        byte[] batch = size < end - end / 8 ? Arrays.copyOf(target, size) : target;
        return finish(batch, size, compression, producerId, producerEpoch, baseSequence);
      }
    }
    byte[] batch = buf;
    buf = null;
    return finish(batch, end, Compression.NONE, producerId, producerEpoch, baseSequence);
  }

  /** After build: the collecting array, if it is not part of the result; else null. Once. */
  public byte[] takeBuffer() {
    if (!built) {
      throw new IllegalStateException("the buffer is in use until the batch is built");
    }
    byte[] taken = buf;
    buf = null;
    return taken;
  }

  /**
   * Gives a built batch another place in a producer's sequence and a new checksum. Only while
   * nothing that may still be reading the batch is on the way.
   *
   * @param batch from position to limit
   */
  public static void restamp(
      ByteBuffer batch, long producerId, short producerEpoch, int baseSequence) {
    int pos = batch.position();
    batch.putLong(pos + BatchHeader.PRODUCER_ID_OFFSET, producerId);
    batch.putShort(pos + BatchHeader.PRODUCER_EPOCH_OFFSET, producerEpoch);
    batch.putInt(pos + BatchHeader.BASE_SEQUENCE_OFFSET, baseSequence);
    int covered = batch.remaining() - BatchHeader.ATTRIBUTES_OFFSET;
    batch.putInt(
        pos + BatchHeader.CRC_OFFSET,
        Crc32c.of(batch, pos + BatchHeader.ATTRIBUTES_OFFSET, covered));
  }

  private ByteBuffer finish(
      byte[] bytes, int size, Compression codec, long producerId, short epoch, int baseSequence) {
    ByteBuffer batch = ByteBuffer.wrap(bytes, 0, size).slice();
    batch.putLong(BatchHeader.BASE_OFFSET_OFFSET, 0);
    batch.putInt(BatchHeader.BATCH_LENGTH_OFFSET, size - BatchHeader.LOG_OVERHEAD);
    batch.putInt(BatchHeader.PARTITION_LEADER_EPOCH_OFFSET, -1);
    batch.put(BatchHeader.MAGIC_OFFSET, BatchHeader.MAGIC);
    batch.putShort(BatchHeader.ATTRIBUTES_OFFSET, (short) codec.id());
    batch.putInt(BatchHeader.LAST_OFFSET_DELTA_OFFSET, recordCount - 1);
    batch.putLong(BatchHeader.BASE_TIMESTAMP_OFFSET, baseTimestamp);
    batch.putLong(BatchHeader.MAX_TIMESTAMP_OFFSET, maxTimestamp);
    batch.putInt(BatchHeader.RECORD_COUNT_OFFSET, recordCount);
    restamp(batch, producerId, epoch, baseSequence);
    return batch;
  }

  private void checkOpen() {
    if (built) {
      throw new IllegalStateException("batch is built already");
    }
  }

  private void ensureCapacity(int needed) {
    if (needed > buf.length) {
      long doubled = Math.min(maxBytes, buf.length * 2L);
      buf = Arrays.copyOf(buf, (int) Math.max(needed, doubled));
    }
  }

  private static long bodyBytes(
      int timestampDeltaBytes,
      int offsetDeltaBytes,
      byte[] key,
      byte[] value,
      List<RecordHeader> headers) {
    long bytes = 1L + timestampDeltaBytes + offsetDeltaBytes + fieldBytes(key) + fieldBytes(value);
    bytes += Varints.size(headers.size());
    for (int i = 0; i < headers.size(); i++) {
      RecordHeader header = headers.get(i);
      int keyBytes = utf8Bytes(header.key());
      bytes += Varints.size(keyBytes) + (long) keyBytes + fieldBytes(header.value());
    }
    return bytes;
  }

  private static long fieldBytes(byte[] bytes) {
    return bytes == null ? Varints.size(-1) : Varints.size(bytes.length) + (long) bytes.length;
  }

  private int writeBytes(int position, byte[] bytes) {
    if (bytes == null) {
      return Varints.write(buf, position, -1);
    }
    int at = Varints.write(buf, position, bytes.length);
    System.arraycopy(bytes, 0, buf, at, bytes.length);
    return at + bytes.length;
  }

  private int writeString(int position, String text) {
    if (!isAscii(text)) {
      return writeBytes(position, text.getBytes(StandardCharsets.UTF_8));
    }
    int at = Varints.write(buf, position, text.length());
    for (int i = 0; i < text.length(); i++) {
      buf[at++] = (byte) text.charAt(i);
    }
    return at;
  }

  private static int utf8Bytes(String text) {
    return isAscii(text) ? text.length() : text.getBytes(StandardCharsets.UTF_8).length;
  }

  /** Header keys are nearly always ASCII: those need no array in between. */
  private static boolean isAscii(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) >= 0x80) {
        return false;
      }
    }
    return true;
  }
}
