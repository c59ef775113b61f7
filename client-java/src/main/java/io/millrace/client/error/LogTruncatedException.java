package io.millrace.client.error;

import io.millrace.client.TopicPartition;
import io.millrace.protocol.error.ErrorCode;

/**
 * Records that this reader has read are gone from the log: a topic with fsync interval or os lost
 * its unsynced tail. Offsets from {@link #first} on may now hold other records: undo what was done
 * with the lost ones if that matters, and seek to {@link #first}.
 */
public final class LogTruncatedException extends PartitionException {

  private static final long serialVersionUID = 1L;

  private final long first;
  private final long end;

  public LogTruncatedException(TopicPartition partition, long first, long end) {
    super(
        ErrorCode.LOG_TRUNCATED,
        partition,
        "offsets "
            + first
            + " to "
            + end
            + " (exclusive) of "
            + partition
            + " were read and are no longer in the log. Seek to "
            + first
            + " to go on",
        null);
    this.first = first;
    this.end = end;
  }

  public long first() {
    return first;
  }

  public long end() {
    return end;
  }
}
