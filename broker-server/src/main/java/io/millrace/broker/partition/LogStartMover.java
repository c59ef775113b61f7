package io.millrace.broker.partition;

import io.millrace.broker.log.LogPrefix.SegmentStats;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.raft.RaftGroup;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.DeleteRecordsPartition;
import io.millrace.protocol.message.DeleteRecordsResult;
import io.millrace.protocol.message.ErrorInfo;
import java.time.Clock;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Moves the log start of a partition at its leader: by request, and by the topic's limits.
 *
 * <p>The move is an entry of the log, so all replicas agree on it, at the same place. Each lets go
 * of its files by itself afterwards.
 *
 * <p>Threads: any; {@link #retain} one at a time.
 */
final class LogStartMover {

  private static final Logger LOG = LoggerFactory.getLogger(LogStartMover.class);

  private final Partition partition;
  private final Sequencer sequencer;
  private final RaftGroup raft;
  private final PartitionLog log;
  private final Clock clock;

  /** A move by the limits is under way. */
  private final AtomicBoolean moving = new AtomicBoolean();

  LogStartMover(
      Partition partition, Sequencer sequencer, RaftGroup raft, PartitionLog log, Clock clock) {
    this.partition = partition;
    this.sequencer = sequencer;
    this.raft = raft;
    this.log = log;
    this.clock = clock;
  }

  // ---------------------------------------------------------------------------------- by request

  void deleteRecords(DeleteRecordsPartition request, Consumer<DeleteRecordsResult> done) {
    ErrorInfo refusal = partition.notServing();
    long before = request.getBefore();
    if (refusal == null) {
      refusal = refusal(before, partition.committedEnd());
    }
    if (refusal != null) {
      Answers.give(done, result().setError(refusal).build());
    } else if (before <= partition.logStart()) {
      Answers.give(done, result().setLogStart(partition.logStart()).build());
    } else {
      sequencer.moveLogStart(before, error -> Answers.give(done, moved(error)));
    }
  }

  private ErrorInfo refusal(long before, long end) {
    if (before < 0) {
      return ErrorCode.MALFORMED_REQUEST.toInfo(
          partition.id()
              + ": records before offset "
              + before
              + " cannot be deleted; name an offset from 0 on");
    }
    if (before <= end) {
      return null;
    }
    return raft.hasQuorumContact()
        ? ErrorCode.OFFSET_OUT_OF_RANGE.toInfo(
            partition.id()
                + ": offset "
                + before
                + " is above the committed end "
                + end
                + "; records can be deleted up to there")
        : ErrorCode.NOT_READY.toInfo(
            partition.id()
                + ": offset "
                + before
                + " is above the committed end "
                + end
                + " here, and no majority confirms that it is the newest");
  }

  private DeleteRecordsResult moved(ErrorInfo error) {
    return error.getCode() == ErrorCode.NONE.number()
        ? result().setLogStart(partition.logStart()).build()
        : result().setError(error).build();
  }

  private DeleteRecordsResult.Builder result() {
    return DeleteRecordsResult.newBuilder()
        .setTopicId(partition.id().topicIdBytes())
        .setPartition(partition.id().partition());
  }

  // ----------------------------------------------------------------------------------- by limits

  void retain(Retention retention) {
    if (retention.isUnlimited() || partition.leadingTerm() == 0 || moving.get()) {
      return;
    }
    // In this order: every record of these segments that is below the end was appended at or before
    // the log time read last.
    List<SegmentStats> segments = log.prefix().segments();
    long end = partition.committedEnd();
    long logTime = partition.logTime();
    long from = partition.logStart();
    long now = Math.max(logTime, clock.millis());
    long to = retention.logStart(segments, from, end, logTime, now);
    if (to > from && moving.compareAndSet(false, true)) {
      sequencer.moveLogStart(to, error -> ended(from, to, error));
    }
  }

  private void ended(long from, long to, ErrorInfo error) {
    moving.set(false);
    if (error.getCode() == ErrorCode.NONE.number()) {
      LOG.debug("{}: records {} to {} are past the topic's limits", partition.id(), from, to - 1);
    } else {
      // Not a leader any more, or too busy: the limits are looked at again soon.
      LOG.debug("{}: the log start stays at {}: {}", partition.id(), from, error.getText());
    }
  }
}
