package io.millrace.broker.partition;

import com.google.protobuf.ByteString;
import io.millrace.broker.log.FetchSlice;
import io.millrace.broker.log.LogDamagedException;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.partition.PartitionCounters.Counter;
import io.millrace.broker.raft.ProposalCallback;
import io.millrace.broker.raft.RaftGroup;
import io.millrace.broker.raft.ReplicaStateMachine;
import io.millrace.broker.state.ControlEntry;
import io.millrace.broker.state.PartitionState;
import io.millrace.broker.state.ProducerTable;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.DeleteRecordsPartition;
import io.millrace.protocol.message.DeleteRecordsResult;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.ListOffsetsPartition;
import io.millrace.protocol.message.ListOffsetsResult;
import io.millrace.protocol.message.ProduceBatch;
import io.millrace.protocol.message.ProduceResult;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * One replica of a partition: the state machine of its Raft group, and what clients ask of it.
 *
 * <p>Owns: the replicated state, the sequencer, and the set of those who wait for records. The log
 * and the group belong to the caller.
 *
 * <p>Threads: the methods of {@link ReplicaStateMachine} on the FSM thread; everything else on any
 * thread, never blocking except where a method says that it reads files.
 *
 * <p>Durability: everything here is rebuilt from the checkpoint and the log.
 *
 * <p>Errors: an entry that cannot be understood, or offsets that differ from the log's, stop the
 * replica with an exception out of {@link #apply}.
 */
public final class Partition implements ReplicaStateMachine {

  private final PartitionId id;
  private final PartitionEnvironment environment;
  private final RaftGroup raft;
  private final PartitionLog log;
  private final PartitionState<Proposal.OfRecords> state;
  private final Sequencer sequencer;
  private final ReadRules readRules;
  private final OffsetLookup offsetLookup;
  private final LogStartMover logStartMover;
  private final Set<FetchWaiter> waiters = ConcurrentHashMap.newKeySet();

  /** Written on the FSM thread; volatile for readers of all threads. */
  private volatile long committedEnd;

  private volatile long logStart;

  /** Written before the committed end of the records that follow it. */
  private volatile long logTime;

  /** Bytes of record batches applied since start: what a fetch with minBytes waits for. */
  private volatile long recordBytes;

  /** Term in which this replica leads and has started; 0 = it does not. */
  private volatile long leadingTerm;

  private volatile ErrorInfo stopReason;

  /** Waiters were woken for records whose local write was still to come. */
  private volatile boolean writeBehind;

  /** Highest end that waiters were woken for; FSM thread. */
  private long wokenEnd;

  public Partition(
      PartitionId id,
      PartitionSettings settings,
      PartitionEnvironment environment,
      RaftGroup raft,
      PartitionLog log) {
    this.id = id;
    this.environment = environment;
    this.raft = raft;
    this.log = log;
    this.state = new PartitionState<>(new ProducerTable<>(settings.maxProducers()));
    this.sequencer = new Sequencer(id, settings, environment, raft, state.producers());
    this.readRules = new ReadRules(id, raft, log);
    this.offsetLookup = new OffsetLookup(this, raft, log);
    this.logStartMover = new LogStartMover(this, sequencer, raft, log, environment.clock());
  }

  public PartitionId id() {
    return id;
  }

  /** Log time in milliseconds that a TIME batch carries; -1 for another control batch. */
  public static long logTimeOf(ByteBuffer controlBatch) {
    return ControlEntry.logTimeOf(controlBatch);
  }

  // ----------------------------------------------------------------------------------- requests

  /**
   * Appends a batch; never blocks.
   *
   * @param batch heap buffer with exactly one batch; it belongs to the partition from now on
   * @param done gets the result exactly once, on any thread, perhaps before this returns
   */
  public void produce(ProduceBatch request, ByteBuffer batch, Consumer<ProduceResult> done) {
    sequencer.produce(request, batch, done);
  }

  /** Finds an offset. OFFSET_TIMESTAMP reads files: not for event loops. */
  public ListOffsetsResult listOffsets(ListOffsetsPartition request) {
    return offsetLookup.find(request);
  }

  /**
   * Removes the records below an offset, on all replicas.
   *
   * @param done gets the result exactly once, on any thread
   */
  public void deleteRecords(DeleteRecordsPartition request, Consumer<DeleteRecordsResult> done) {
    logStartMover.deleteRecords(request, done);
  }

  /** Removes what the topic's limits allow no longer; only a leader does anything. */
  public void retain(Retention retention) {
    logStartMover.retain(retention);
  }

  ReadCheck checkRead(long position, long lastFetchedTerm) {
    ErrorInfo notReadable = notServing();
    if (notReadable != null) {
      return ReadCheck.failed(notReadable);
    }
    return readRules.check(position, lastFetchedTerm, leadingTerm, logStart(), committedEnd);
  }

  /** Reads files: not for event loops. */
  FetchSlice slice(long position, long endOffset, int maxBytes) throws IOException {
    return log.slice(position, endOffset, maxBytes);
  }

  /** Verifies the batch that holds an offset, which somebody could not read. Reads files. */
  void verify(long offset) throws IOException {
    log.verifyBatchAt(offset);
  }

  /** What was to be read is damaged here: another replica has to serve it, and to mend this one. */
  void damaged(LogDamagedException damage) {
    raft.damaged(damage);
  }

  /** Why this replica answers no reader; null = it does. */
  ErrorInfo notServing() {
    ErrorInfo stopped = stopReason;
    if (stopped != null) {
      return stopped;
    }
    return leadingTerm == 0 ? ProduceResults.notLeading(id, raft) : null;
  }

  void addWaiter(FetchWaiter waiter) {
    waiters.add(waiter);
  }

  void removeWaiter(FetchWaiter waiter) {
    waiters.remove(waiter);
  }

  // ------------------------------------------------------------------------------ state machine

  @Override
  public void apply(long index, long term, ByteBuffer batch, ProposalCallback local) {
    if (BatchHeader.isControl(batch, batch.position())) {
      applyControl(ControlEntry.decode(batch), local);
    } else {
      applyRecords(term, batch, local);
    }
  }

  private void applyRecords(long term, ByteBuffer batch, ProposalCallback local) {
    long baseOffset = state.append(BatchHeader.recordCount(batch, batch.position()));
    // Before the receipt: an acknowledged record is readable here at once. Before the bytes:
    // whoever
    // has counted them finds the records.
    committedEnd = state.nextOffset();
    recordBytes = recordBytes + batch.remaining();
    sequencer.recordsApplied(batch, baseOffset, term, local);
  }

  private void applyControl(ControlEntry entry, ProposalCallback local) {
    if (entry instanceof ControlEntry.Time time) {
      state.advanceLogTime(time.logTimeMillis());
      logTime = state.logTime();
      sequencer.timeApplied(state.logTime());
    } else if (entry instanceof ControlEntry.LogStart moved) {
      state.advanceLogStart(moved.logStart());
      environment.counters().add(Counter.RECORDS_REMOVED, state.logStart() - logStart);
      logStart = state.logStart();
      sequencer.logStartMoved(logStart);
    } else if (entry instanceof ControlEntry.ProducerExpire expire) {
      sequencer.expireApplied(expire.idleSinceBeforeMillis());
    }
    sequencer.controlApplied(local);
  }

  @Override
  public void applyBatchEnd(long lastIndex) {
    compareWithLog(lastIndex);
    // Control entries move no end, so they wake nobody.
    if (committedEnd != wokenEnd) {
      wokenEnd = committedEnd;
      if (log.logEnd() < committedEnd) {
        // Before the waiters look: who finds nothing yet is woken by the write.
        writeBehind = true;
      }
      waiters.forEach(FetchWaiter::dataArrived);
    }
  }

  /**
   * Compares the counted offsets with the log's own, whenever the log ends at this entry and so no
   * file has to be read. A commit can come before the local write; there is nothing to compare
   * then.
   */
  private void compareWithLog(long lastIndex) {
    long logEnd = log.logEnd();
    // Read twice: both values are from one moment if the end stood still meanwhile.
    boolean comparable = log.lastIndex() == lastIndex && log.logEnd() == logEnd;
    if (comparable && logEnd != state.nextOffset()) {
      String what =
          id
              + ": offset "
              + state.nextOffset()
              + " was counted up to entry "
              + lastIndex
              + ", the log has "
              + logEnd;
      environment.fault(what);
      throw new IllegalStateException(what);
    }
  }

  @Override
  public void logWritten() {
    if (writeBehind && log.logEnd() >= committedEnd) {
      writeBehind = false;
      waiters.forEach(FetchWaiter::dataArrived);
    }
  }

  @Override
  public void leaderStarted(long term) {
    sequencer.leaderStarted(term);
    leadingTerm = term;
    waiters.forEach(FetchWaiter::stateChanged);
  }

  @Override
  public void leaderStopped(boolean sameTermMayResume) {
    leadingTerm = 0;
    sequencer.leaderStopped(sameTermMayResume);
    waiters.forEach(FetchWaiter::stateChanged);
  }

  @Override
  public void leaderChanged(int leaderBrokerId, long term) {
    // The group itself is asked when an answer needs a hint.
  }

  @Override
  public ByteString checkpoint() {
    return state.toImage();
  }

  @Override
  public void restore(ByteString image, long index, long term) {
    if (committedEnd != 0 || state.logTime() != 0) {
      throw new IllegalStateException(id + ": restore after entries were applied");
    }
    state.restore(image);
    committedEnd = state.nextOffset();
    wokenEnd = committedEnd;
    logStart = state.logStart();
    logTime = state.logTime();
    sequencer.logStartMoved(logStart);
    sequencer.timeApplied(state.logTime());
  }

  @Override
  public void failed(String reason) {
    stop(ErrorCode.STORAGE_ERROR.toInfo(id + ": the replica stopped: " + reason));
  }

  // ---------------------------------------------------------------------------------- life cycle

  /**
   * Takes no new batches and drains those in flight; call it before {@link
   * RaftGroup#transferLeadership}. Batches are taken again when leadership starts again.
   *
   * @return completed, on any thread, when nothing is in flight or this replica leads no more
   */
  public CompletableFuture<Void> closeForTransfer() {
    return sequencer.closeForTransfer();
  }

  /** Undoes {@link #closeForTransfer} if no transfer was begun after all. */
  public void reopenAfterNoTransfer() {
    sequencer.reopenAfterNoTransfer();
  }

  /** The broker stops: answers everything that waits, takes nothing more. */
  public void shutDown() {
    stop(ErrorCode.SHUTTING_DOWN.toInfo(id + ": the broker is stopping"));
  }

  /** The topic is deleted, or the replica moved: as {@link #shutDown}. */
  public void removed() {
    stop(ErrorCode.UNKNOWN_PARTITION.toInfo(id + ": the partition is no longer on this broker"));
  }

  private void stop(ErrorInfo reason) {
    if (stopReason == null) {
      stopReason = reason;
    }
    sequencer.stop(reason);
    waiters.forEach(FetchWaiter::stateChanged);
  }

  // -------------------------------------------------------------------------------------- status

  /** First offset that can be read. */
  public long logStart() {
    return Math.max(logStart, log.logStart());
  }

  /** Log time of the last applied TIME entry, 0 = there was none. */
  long logTime() {
    return logTime;
  }

  /** Behind the last committed record that is applied here. */
  public long committedEnd() {
    return committedEnd;
  }

  /** Behind the last record that can be read here: committed, and written locally. */
  public long readableEnd() {
    return Math.min(committedEnd, log.logEnd());
  }

  /** Term in which this replica leads and has started; 0 = it does not. */
  public long leadingTerm() {
    return leadingTerm;
  }

  long recordBytes() {
    return recordBytes;
  }

  public PartitionStatus status() {
    return new PartitionStatus(
        id,
        leadingTerm,
        logStart(),
        log.logEnd(),
        committedEnd,
        readableEnd(),
        sequencer.inFlightEntries(),
        sequencer.inFlightBytes(),
        sequencer.producers(),
        waiters.size());
  }
}
