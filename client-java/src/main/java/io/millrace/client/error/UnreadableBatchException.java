package io.millrace.client.error;

import io.millrace.client.TopicPartition;
import io.millrace.protocol.error.ErrorCode;

/**
 * A batch that stays unreadable after it was fetched again: bad checksum, or larger than the
 * decompression limit. Seek to {@link #nextOffset} to skip it.
 */
public final class UnreadableBatchException extends PartitionException {

  private static final long serialVersionUID = 1L;

  private final long baseOffset;
  private final long nextOffset;

  public UnreadableBatchException(
      TopicPartition partition, long baseOffset, long nextOffset, Throwable cause) {
    super(
        ErrorCode.UNREADABLE_BATCH,
        partition,
        "the batch with offsets "
            + baseOffset
            + " to "
            + nextOffset
            + " (exclusive) of "
            + partition
            + " cannot be read: "
            + cause.getMessage()
            + ". Seek to "
            + nextOffset
            + " to skip it",
        cause);
    this.baseOffset = baseOffset;
    this.nextOffset = nextOffset;
  }

  public long baseOffset() {
    return baseOffset;
  }

  public long nextOffset() {
    return nextOffset;
  }
}
