package io.millrace.broker.partition;

import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.raft.RaftGroup;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.OffsetRange;

/**
 * Which positions of a partition can be read at its leader.
 *
 * <p>A started leader has applied everything that was committed before its term. So a record that a
 * client was given in an older term and that is not in this log is gone for good, and the client is
 * told which range that is; no lease is needed to say so. A client that has seen a newer term knows
 * more than this leader and is sent on.
 *
 * <p>Threads: any; never blocks and reads no file.
 */
final class ReadRules {

  private final PartitionId id;
  private final RaftGroup raft;
  private final PartitionLog log;

  ReadRules(PartitionId id, RaftGroup raft, PartitionLog log) {
    this.id = id;
    this.raft = raft;
    this.log = log;
  }

  /**
   * @param leadingTerm term in which this replica leads and has started
   * @param lastFetchedTerm term of the batch before the position; 0 = not known to the reader
   */
  ReadCheck check(
      long position, long lastFetchedTerm, long leadingTerm, long logStart, long committedEnd) {
    if (position < logStart) {
      return belowStart(position, logStart);
    }
    if (lastFetchedTerm > leadingTerm) {
      return ReadCheck.failed(
          ErrorCode.NOT_LEADER.toInfo(
              id
                  + ": the reader has seen term "
                  + lastFetchedTerm
                  + ", this broker leads in the older term "
                  + leadingTerm));
    }
    boolean olderTerm = lastFetchedTerm > 0 && lastFetchedTerm < leadingTerm;
    if (olderTerm) {
      long kept = Math.min(committedEnd, log.endOffsetOfTerm(lastFetchedTerm));
      if (kept < position) {
        return truncated(position, lastFetchedTerm, Math.max(kept, logStart));
      }
    }
    if (position > committedEnd) {
      return beyondEnd(position, committedEnd);
    }
    long readableEnd = Math.min(committedEnd, log.logEnd());
    return position < readableEnd
        ? new ReadCheck.Ready(readableEnd)
        : new ReadCheck.Wait(position < committedEnd);
  }

  private ReadCheck belowStart(long position, long logStart) {
    if (position < 0) {
      return ReadCheck.failed(
          ErrorCode.OFFSET_OUT_OF_RANGE.toInfo(
              id + ": position " + position + " is negative; the log starts at " + logStart));
    }
    long lost = logStart - position;
    return new ReadCheck.Failed(
        ErrorCode.OFFSET_OUT_OF_RANGE.toInfo(
            id
                + ": position "
                + position
                + " is below the log start "
                + logStart
                + ": "
                + lost
                + " records are gone"),
        lost,
        null);
  }

  private ReadCheck truncated(long position, long lastFetchedTerm, long kept) {
    return new ReadCheck.Failed(
        ErrorCode.LOG_TRUNCATED.toInfo(
            id
                + ": records "
                + kept
                + " to "
                + (position - 1)
                + " that the reader was given in term "
                + lastFetchedTerm
                + " or before are no longer in the log; seek to "
                + kept),
        0,
        OffsetRange.newBuilder().setFirst(kept).setEnd(position).build());
  }

  /** Without a term the position proves nothing, unless this leader's end is surely fresh. */
  private ReadCheck beyondEnd(long position, long committedEnd) {
    if (!raft.hasQuorumContact()) {
      return ReadCheck.failed(
          ErrorCode.NOT_READY.toInfo(
              id
                  + ": position "
                  + position
                  + " is above the committed end "
                  + committedEnd
                  + " here, and no majority confirms that it is the newest"));
    }
    return ReadCheck.failed(
        ErrorCode.OFFSET_OUT_OF_RANGE.toInfo(
            id + ": position " + position + " is above the committed end " + committedEnd));
  }
}
