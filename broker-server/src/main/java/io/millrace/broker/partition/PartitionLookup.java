package io.millrace.broker.partition;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.ErrorInfo;
import java.util.UUID;

/** Finds the partitions that have a running replica on this broker. Threads: any; never blocks. */
public interface PartitionLookup {

  /** Null: unknown, or not here. */
  Partition find(UUID topicId, int partition);

  /** What to answer when {@link #find} returns null; whoever knows the metadata can say more. */
  default ErrorInfo explainMissing(UUID topicId, int partition) {
    return ErrorCode.UNKNOWN_PARTITION.toInfo(
        "partition " + partition + " of topic id " + topicId + " is not on this broker");
  }
}
