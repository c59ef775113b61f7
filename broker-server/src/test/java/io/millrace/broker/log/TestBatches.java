package io.millrace.broker.log;

import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.batch.Crc32c;
import java.nio.ByteBuffer;
import java.util.Random;

/** Batches for tests: valid headers and checksums around bytes that nobody reads. */
public final class TestBatches {

  private TestBatches() {}

  /** A record batch of a total size; all its records claim one timestamp. */
  public static ByteBuffer records(int count, int totalBytes, long timestamp, long seed) {
    byte[] bytes = new byte[Math.max(totalBytes, BatchHeader.SIZE)];
    new Random(seed).nextBytes(bytes);
    ByteBuffer batch = ByteBuffer.wrap(bytes);
    batch.putLong(BatchHeader.BASE_OFFSET_OFFSET, 0);
    batch.putInt(BatchHeader.BATCH_LENGTH_OFFSET, bytes.length - BatchHeader.LOG_OVERHEAD);
    batch.putInt(BatchHeader.PARTITION_LEADER_EPOCH_OFFSET, -1);
    batch.put(BatchHeader.MAGIC_OFFSET, BatchHeader.MAGIC);
    batch.putShort(BatchHeader.ATTRIBUTES_OFFSET, (short) 0);
    batch.putInt(BatchHeader.LAST_OFFSET_DELTA_OFFSET, count - 1);
    batch.putLong(BatchHeader.BASE_TIMESTAMP_OFFSET, timestamp);
    batch.putLong(BatchHeader.MAX_TIMESTAMP_OFFSET, timestamp);
    batch.putLong(BatchHeader.PRODUCER_ID_OFFSET, BatchHeader.NO_PRODUCER_ID);
    batch.putShort(BatchHeader.PRODUCER_EPOCH_OFFSET, BatchHeader.NO_PRODUCER_EPOCH);
    batch.putInt(BatchHeader.BASE_SEQUENCE_OFFSET, BatchHeader.NO_SEQUENCE);
    batch.putInt(BatchHeader.RECORD_COUNT_OFFSET, count);
    return seal(batch);
  }

  /** A control batch of a type that the log does not look into. */
  public static ByteBuffer control(int valueBytes, long seed) {
    byte[] value = new byte[valueBytes];
    new Random(seed).nextBytes(value);
    return ControlBatch.encode(ControlType.COMMIT.code(), value);
  }

  /** A TIME batch as {@link #TIMES} reads it. */
  public static ByteBuffer time(long millis) {
    return ControlBatch.encode(
        ControlType.TIME.code(), ByteBuffer.allocate(Long.BYTES).putLong(millis).array());
  }

  /** Reads {@link #time}: the value ends one byte before the batch. */
  public static long timeOf(ByteBuffer batch) {
    return batch.getLong(batch.limit() - 1 - Long.BYTES);
  }

  private static ByteBuffer seal(ByteBuffer batch) {
    int from = BatchHeader.ATTRIBUTES_OFFSET;
    batch.putInt(BatchHeader.CRC_OFFSET, Crc32c.of(batch, from, batch.capacity() - from));
    return batch.clear();
  }

  /** What the log has to store for a batch. */
  public static ByteBuffer stored(ByteBuffer batch, long baseOffset, long term) {
    ByteBuffer copy = ByteBuffer.allocate(batch.remaining()).put(batch.duplicate()).flip();
    BatchHeader.patch(copy, baseOffset, (int) term);
    return copy;
  }

  /** All bytes of a slice. */
  public static ByteBuffer bytesOf(FetchSlice slice) throws java.io.IOException {
    ByteBuffer all = ByteBuffer.allocate(slice.bytes());
    for (FileRegion region : slice.regions()) {
      ByteBuffer part = ByteBuffer.allocate(region.length());
      if (!region.file().readFully(part, region.position())) {
        throw new java.io.IOException("the file ends inside " + region);
      }
      all.put(part.flip());
    }
    return all.flip();
  }
}
