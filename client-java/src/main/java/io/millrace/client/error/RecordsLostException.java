package io.millrace.client.error;

import io.millrace.client.TopicPartition;
import io.millrace.protocol.error.ErrorCode;

/** Retention deleted records before they were read. Seek to {@link #logStart} to go on. */
public final class RecordsLostException extends PartitionException {

  private static final long serialVersionUID = 1L;

  private final long position;
  private final long logStart;
  private final long recordsLost;

  public RecordsLostException(
      TopicPartition partition, long position, long logStart, long recordsLost) {
    super(
        ErrorCode.OFFSET_OUT_OF_RANGE,
        partition,
        recordsLost
            + " records of "
            + partition
            + " from offset "
            + position
            + " were deleted by retention before they were read; the log now starts at "
            + logStart
            + ". Seek there to go on, or read with onLost SKIP",
        null);
    this.position = position;
    this.logStart = logStart;
    this.recordsLost = recordsLost;
  }

  public long position() {
    return position;
  }

  public long logStart() {
    return logStart;
  }

  public long recordsLost() {
    return recordsLost;
  }
}
