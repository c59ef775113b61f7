package io.millrace.broker.partition;

import io.millrace.broker.log.OffsetAndTimestamp;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.raft.RaftGroup;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.ListOffsetsPartition;
import io.millrace.protocol.message.ListOffsetsResult;
import java.io.IOException;

/**
 * Offsets by name or time.
 *
 * <p>The committed end is only given while a majority confirms this leader: everything that was
 * acknowledged before the question was asked is then below the answer. That makes "latest" a
 * linearizable read, up to the precision of the leader lease.
 *
 * <p>Threads: any.
 */
final class OffsetLookup {

  private final Partition partition;
  private final RaftGroup raft;
  private final PartitionLog log;

  OffsetLookup(Partition partition, RaftGroup raft, PartitionLog log) {
    this.partition = partition;
    this.raft = raft;
    this.log = log;
  }

  ListOffsetsResult find(ListOffsetsPartition request) {
    ErrorInfo notServing = partition.notServing();
    if (notServing != null) {
      return result().setError(notServing).build();
    }
    return switch (request.getKind()) {
      case OFFSET_EARLIEST -> result().setOffset(partition.logStart()).build();
      case OFFSET_LATEST -> latest();
      case OFFSET_TIMESTAMP -> byTime(request.getTimestamp());
      case UNRECOGNIZED ->
          result()
              .setError(
                  ErrorCode.MALFORMED_REQUEST.toInfo(
                      partition.id() + ": unknown offset kind " + request.getKindValue()))
              .build();
    };
  }

  private ListOffsetsResult latest() {
    // The end first, the confirmation after it: leadership held when the end was read.
    long end = partition.committedEnd();
    if (!raft.hasQuorumContact()) {
      ErrorInfo notServing = partition.notServing();
      return result()
          .setError(
              notServing != null
                  ? notServing
                  : ErrorCode.NOT_READY.toInfo(
                      partition.id() + ": no majority confirms this leader, so its end may be old"))
          .build();
    }
    return result().setOffset(end).build();
  }

  private ListOffsetsResult byTime(long timestampMillis) {
    try {
      OffsetAndTimestamp found =
          log.offsetForTimestamp(timestampMillis, partition.logStart(), partition.readableEnd());
      return found == null
          ? latest()
          : result().setOffset(found.offset()).setTimestamp(found.timestampMillis()).build();
    } catch (IOException e) {
      return result()
          .setError(
              ErrorCode.STORAGE_ERROR.toInfo(
                  partition.id() + ": the log cannot be searched: " + e.getMessage()))
          .build();
    }
  }

  private ListOffsetsResult.Builder result() {
    return ListOffsetsResult.newBuilder()
        .setTopicId(partition.id().topicIdBytes())
        .setPartition(partition.id().partition())
        .setOffset(-1)
        .setTimestamp(-1)
        .setTerm(partition.leadingTerm());
  }
}
