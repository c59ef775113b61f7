package io.millrace.client.error;

import io.millrace.client.TopicPartition;
import io.millrace.protocol.error.ErrorCode;

/** The position is beyond the end of the log. */
public final class OffsetOutOfRangeException extends PartitionException {

  private static final long serialVersionUID = 1L;

  private final long position;
  private final long logStart;
  private final long end;

  public OffsetOutOfRangeException(
      TopicPartition partition, long position, long logStart, long end) {
    super(
        ErrorCode.OFFSET_OUT_OF_RANGE,
        partition,
        "position "
            + position
            + " of "
            + partition
            + " is outside the log, which holds offsets "
            + logStart
            + " to "
            + end
            + " (exclusive). Seek into that range",
        null);
    this.position = position;
    this.logStart = logStart;
    this.end = end;
  }

  public long position() {
    return position;
  }

  public long logStart() {
    return logStart;
  }

  public long end() {
    return end;
  }
}
