package io.millrace.broker.partition;

import io.millrace.broker.partition.PartitionCounters.Counter;
import io.millrace.broker.raft.ProposalCallback;
import io.millrace.broker.raft.ProposalFailure;
import io.millrace.broker.raft.RaftGroup;
import io.millrace.broker.state.BatchId;
import io.millrace.broker.state.Decision;
import io.millrace.broker.state.ProducerTable;
import io.millrace.broker.state.message.LogStartEntry;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.ProduceBatch;
import io.millrace.protocol.message.ProduceResult;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Decides what a leader appends to its partition, and in which order.
 *
 * <p>Owns: the proposals in flight of one partition, the gate that leadership opens and closes, the
 * producer table.
 *
 * <p>Threads: any. Two locks, always in this order. The <em>order lock</em> is held from the
 * decision about a batch until it is proposed, so that the order of decisions is the order of log
 * indexes. The <em>state lock</em> guards every field, is held for a few field accesses and never
 * while proposing; it is the only one that the FSM thread takes. Answers are given with no lock
 * held.
 *
 * <p>Durability: none of its own; a receipt is given when the entry is applied.
 *
 * <p>Errors: refusals are certain (nothing appended). After a proposal the outcome is unknown
 * unless raft says that it certainly did not append.
 */
final class Sequencer {

  private enum Gate {
    NOT_LEADING,
    OPEN,
    /** A transfer drains or runs; opened by the next leaderStarted. */
    TRANSFERRING,
    STOPPED
  }

  private final PartitionId id;
  private final PartitionSettings settings;
  private final PartitionEnvironment environment;
  private final PartitionCounters counters;
  private final RaftGroup raft;
  private final ProducerTable<Proposal.OfRecords> producers;

  private final ReentrantLock orderLock = new ReentrantLock();

  /** Answers of failures that raft reported inside propose; guarded by the order lock. */
  private Answers failedWhileProposing = new Answers();

  private final Object stateLock = new Object();
  private final LogClock logClock;
  private final InFlight inFlight;
  private long leadingTerm;
  private ErrorInfo stopReason;
  private CompletableFuture<Void> drained;

  /** Written under the state lock; read without it for a cheap first look. */
  private volatile Gate gate = Gate.NOT_LEADING;

  /** For receipts only. */
  private volatile long logStart;

  Sequencer(
      PartitionId id,
      PartitionSettings settings,
      PartitionEnvironment environment,
      RaftGroup raft,
      ProducerTable<Proposal.OfRecords> producers) {
    this.id = id;
    this.settings = settings;
    this.environment = environment;
    this.counters = environment.counters();
    this.raft = raft;
    this.producers = producers;
    this.logClock = new LogClock(settings.producerExpiryMillis());
    this.inFlight = new InFlight(id, settings, environment.appendBudget());
  }

  // ------------------------------------------------------------------------------------- produce

  void produce(ProduceBatch request, ByteBuffer batch, Consumer<ProduceResult> done) {
    ErrorInfo refusal = firstLook();
    if (refusal == null) {
      refusal =
          BatchCheck.refusal(
              id, settings.maxRecordBytes(), environment.clock().millis(), request, batch);
    }
    if (refusal != null) {
      refuse(refusal, done);
      return;
    }
    BatchId batchId = BatchId.of(batch, batch.position());
    List<Proposal> proposals = new ArrayList<>(1);
    ProduceResult answer;
    Answers failed = null;
    orderLock.lock();
    try {
      synchronized (stateLock) {
        answer = admit(request, batch, batchId, done, proposals);
      }
      proposals.forEach(this::propose);
      if (!failedWhileProposing.isEmpty()) {
        failed = failedWhileProposing;
        failedWhileProposing = new Answers();
      }
    } finally {
      orderLock.unlock();
    }
    if (answer != null && answer.hasError()) {
      refuse(answer.getError(), done);
    } else if (answer != null) {
      Answers.give(done, answer);
    }
    if (failed != null) {
      failed.give();
    }
  }

  /**
   * Proposes that the log begins at an offset, behind a TIME entry if one is due: so log time has
   * reached what the move was decided by, also when nobody produces.
   *
   * @param logStart at most the committed end as this leader has applied it, or replicas would stop
   * @param done gets an empty error when the move is applied, else why it is not; exactly once, on
   *     any thread
   */
  void moveLogStart(long logStart, Consumer<ErrorInfo> done) {
    List<Proposal> proposals = new ArrayList<>(2);
    ErrorInfo refusal = firstLook();
    Answers failed = null;
    orderLock.lock();
    try {
      if (refusal == null) {
        synchronized (stateLock) {
          refusal = admitLogStart(logStart, done, proposals);
        }
      }
      proposals.forEach(this::propose);
      if (!failedWhileProposing.isEmpty()) {
        failed = failedWhileProposing;
        failedWhileProposing = new Answers();
      }
    } finally {
      orderLock.unlock();
    }
    if (refusal != null) {
      Answers.give(done, refusal);
    }
    if (failed != null) {
      failed.give();
    }
  }

  private ErrorInfo admitLogStart(
      long newLogStart, Consumer<ErrorInfo> done, List<Proposal> proposals) {
    ErrorInfo refusal = atGate(0);
    if (refusal == null) {
      refusal = inFlight.admit(0);
    }
    if (refusal != null) {
      return refusal;
    }
    addControlEntries(proposals);
    ByteBuffer entry =
        ControlBatch.encode(
            ControlType.LOG_START, LogStartEntry.newBuilder().setLogStart(newLogStart).build());
    proposals.add(new Proposal.OfLogStart(this, entry, leadingTerm, done));
    inFlight.add(proposals);
    return null;
  }

  private void refuse(ErrorInfo refusal, Consumer<ProduceResult> done) {
    counters.produceRefused(ErrorCode.of(refusal.getCode()));
    Answers.give(done, ProduceResults.error(refusal));
  }

  /** What needs no look at the batch. There are no lanes in these states, so none to close. */
  private ErrorInfo firstLook() {
    return switch (gate) {
      case NOT_LEADING -> ProduceResults.notLeading(id, raft);
      case STOPPED -> stopReason();
      case OPEN, TRANSFERRING -> null;
    };
  }

  private ErrorInfo stopReason() {
    synchronized (stateLock) {
      return stopReason;
    }
  }

  /**
   * The decision, under both locks.
   *
   * @param proposals gets what to propose, in order
   * @return the answer, or null when {@code done} waits
   */
  private ProduceResult admit(
      ProduceBatch request,
      ByteBuffer batch,
      BatchId batchId,
      Consumer<ProduceResult> done,
      List<Proposal> proposals) {
    ErrorInfo refusal = atGate(request.getExpectedTerm());
    if (refusal == null && batchId != null) {
      Decision<Proposal.OfRecords> decision = producers.decide(batchId, request.getResume());
      if (decision instanceof Decision.Duplicate<Proposal.OfRecords> stored) {
        counters.increment(Counter.DUPLICATES_ANSWERED);
        return receipt(stored.baseOffset(), stored.term(), true);
      }
      if (decision instanceof Decision.DuplicatePending<Proposal.OfRecords> pending) {
        return park(pending.original(), done);
      }
      if (decision instanceof Decision.Refuse<Proposal.OfRecords> refuse) {
        refusal = refuse.code().toInfo(id + ": " + refuse.text());
      }
    }
    if (refusal == null) {
      refusal = inFlight.admit(batch.remaining());
    }
    if (refusal != null) {
      if (batchId != null && gate != Gate.NOT_LEADING) {
        producers.refused(batchId);
      }
      return ProduceResults.error(refusal);
    }
    addControlEntries(proposals);
    Proposal.OfRecords proposal = new Proposal.OfRecords(this, batch, leadingTerm, batchId, done);
    proposals.add(proposal);
    inFlight.add(proposals);
    if (batchId != null) {
      producers.accepted(batchId, proposal);
    }
    counters.increment(Counter.BATCHES_PROPOSED);
    return null;
  }

  private ErrorInfo atGate(long expectedTerm) {
    return switch (gate) {
      case NOT_LEADING -> ProduceResults.notLeading(id, raft);
      case STOPPED -> stopReason;
      case TRANSFERRING ->
          ErrorCode.NOT_READY.toInfo(id + ": leadership is moving to another broker");
      case OPEN ->
          expectedTerm == 0 || expectedTerm == leadingTerm
              ? null
              : ErrorCode.STALE_TERM.toInfo(
                  id + ": the request expects term " + expectedTerm + ", it is " + leadingTerm);
    };
  }

  private ProduceResult park(Proposal.OfRecords original, Consumer<ProduceResult> done) {
    if (original.park(done)) {
      counters.increment(Counter.DUPLICATES_PARKED);
      return null;
    }
    return ProduceResults.error(
        ProduceResults.unknown(
            id, Proposal.OfRecords.MAX_PARKED + " retries of " + original.id + " wait already"));
  }

  private void addControlEntries(List<Proposal> proposals) {
    long now = environment.clock().millis();
    if (!logClock.timeDue(now)) {
      return;
    }
    proposals.add(new Proposal.OfControl(this, logClock.timeEntry(now), leadingTerm));
    logClock.timeProposed(now);
    counters.increment(Counter.TIME_ENTRIES_PROPOSED);
    if (logClock.expiryDue(now, producers.oldestLogTime())) {
      proposals.add(new Proposal.OfControl(this, logClock.expiryEntry(now), leadingTerm));
      logClock.expiryProposed();
    }
  }

  private void propose(Proposal proposal) {
    try {
      raft.propose(proposal.batch, proposal.term, proposal);
    } catch (RuntimeException e) {
      environment.fault(id + ": propose threw " + e);
      failed(proposal, new ProposalFailure(false, "propose threw " + e));
    }
  }

  private ProduceResult receipt(long baseOffset, long term, boolean duplicate) {
    return ProduceResults.receipt(baseOffset, term, settings.fsync(), logStart, duplicate);
  }

  // ---------------------------------------------------------------------- outcomes, FSM thread

  /** A record batch is applied at {@code baseOffset}, and readable from now on. */
  void recordsApplied(ByteBuffer batch, long baseOffset, long term, ProposalCallback local) {
    int pos = batch.position();
    BatchId batchId = BatchId.of(batch, pos);
    Proposal.OfRecords proposal =
        local instanceof Proposal.OfRecords own && own.sequencer == this ? own : null;
    Consumer<ProduceResult> first = null;
    List<Consumer<ProduceResult>> parked = List.of();
    CompletableFuture<Void> nowDrained;
    synchronized (stateLock) {
      if (batchId != null) {
        Proposal.OfRecords known = producers.applied(batchId, baseOffset, term, logClock.applied());
        if (proposal == null) {
          // Its proposer was told "unknown"; retries may wait for it.
          proposal = known;
        }
      }
      if (proposal != null) {
        inFlight.settle(proposal);
        first = proposal.takeFirst();
        parked = proposal.takeParked();
      }
      nowDrained = takeDrained();
    }
    if (first != null) {
      counters.increment(Counter.BATCHES_ACKNOWLEDGED);
      Answers.give(first, receipt(baseOffset, term, false));
    }
    if (!parked.isEmpty()) {
      ProduceResult duplicate = receipt(baseOffset, term, true);
      parked.forEach(done -> Answers.give(done, duplicate));
    }
    complete(nowDrained);
  }

  void controlApplied(ProposalCallback local) {
    if (local instanceof Proposal own && own.sequencer == this) {
      boolean first;
      CompletableFuture<Void> nowDrained;
      synchronized (stateLock) {
        first = inFlight.settle(own);
        nowDrained = takeDrained();
      }
      if (first && own instanceof Proposal.OfLogStart move) {
        Answers.give(move.done, ErrorInfo.getDefaultInstance());
      }
      complete(nowDrained);
    }
  }

  void timeApplied(long logTime) {
    synchronized (stateLock) {
      logClock.timeApplied(logTime);
    }
  }

  void expireApplied(long idleSinceBeforeMillis) {
    synchronized (stateLock) {
      counters.add(Counter.PRODUCERS_EXPIRED, producers.expire(idleSinceBeforeMillis));
      logClock.expiryApplied();
    }
  }

  void logStartMoved(long newLogStart) {
    logStart = newLogStart;
  }

  // ------------------------------------------------------------------------ outcomes, any thread

  void failed(Proposal proposal, ProposalFailure failure) {
    Answers answers = new Answers();
    CompletableFuture<Void> nowDrained;
    synchronized (stateLock) {
      if (!inFlight.settle(proposal)) {
        return;
      }
      if (proposal instanceof Proposal.OfRecords records) {
        if (records.id != null) {
          producers.failed(records.id, records, failure.certainlyNotAppended());
        }
        answerFailed(records, ProduceResults.failed(id, raft, failure), answers);
      } else if (proposal instanceof Proposal.OfLogStart move) {
        answers.add(move.done, ProduceResults.failed(id, raft, failure));
      } else {
        logClock.forgetProposed();
      }
      nowDrained = takeDrained();
    }
    if (orderLock.isHeldByCurrentThread()) {
      failedWhileProposing.addAll(answers);
    } else {
      answers.give();
    }
    complete(nowDrained);
  }

  private void answerFailed(Proposal.OfRecords records, ErrorInfo error, Answers answers) {
    Consumer<ProduceResult> first = records.takeFirst();
    List<Consumer<ProduceResult>> parked = records.takeParked();
    int waiting = parked.size() + (first == null ? 0 : 1);
    ErrorCode code = ErrorCode.of(error.getCode());
    for (int i = 0; i < waiting; i++) {
      counters.produceRefused(code);
    }
    if (code == ErrorCode.OUTCOME_UNKNOWN) {
      counters.add(Counter.OUTCOMES_UNKNOWN, waiting);
    }
    ProduceResult result = ProduceResults.error(error);
    answers.add(first, result);
    answers.addAll(parked, result);
  }

  // ------------------------------------------------------------------------------------ leadership

  void leaderStarted(long term) {
    Answers answers = new Answers();
    synchronized (stateLock) {
      if (gate == Gate.STOPPED) {
        return;
      }
      if (term == leadingTerm) {
        // A transfer failed. What raft rejected meanwhile is not known here yet.
        producers.resumed();
      } else {
        abandonInFlight("a newer term began before its outcome was reported", answers);
      }
      leadingTerm = term;
      logClock.forgetProposed();
      gate = Gate.OPEN;
    }
    answers.give();
  }

  void leaderStopped(boolean sameTermMayResume) {
    Answers answers = new Answers();
    CompletableFuture<Void> nowDrained;
    synchronized (stateLock) {
      if (gate != Gate.STOPPED) {
        gate = Gate.NOT_LEADING;
      }
      if (!sameTermMayResume) {
        clearLanes("leadership was lost", answers);
      }
      nowDrained = takeDrained();
    }
    answers.give();
    complete(nowDrained);
  }

  /**
   * Takes no new batches and waits for those in flight, so that a transfer finds nothing to reject:
   * raft would reject one batch and could take the next after a failed transfer, in the same term.
   *
   * @return completed when nothing is in flight, or this replica does not lead
   */
  CompletableFuture<Void> closeForTransfer() {
    synchronized (stateLock) {
      if (gate == Gate.OPEN) {
        gate = Gate.TRANSFERRING;
      }
      if (gate != Gate.TRANSFERRING || inFlight.isEmpty()) {
        return CompletableFuture.completedFuture(null);
      }
      if (drained == null) {
        drained = new CompletableFuture<>();
      }
      return drained.copy();
    }
  }

  /** Takes batches again. Only for a transfer that was never handed to raft. */
  void reopenAfterNoTransfer() {
    synchronized (stateLock) {
      if (gate == Gate.TRANSFERRING) {
        gate = Gate.OPEN;
      }
    }
  }

  /** Answers everything; nothing is taken any more. */
  void stop(ErrorInfo reason) {
    Answers answers = new Answers();
    CompletableFuture<Void> nowDrained;
    synchronized (stateLock) {
      if (gate == Gate.STOPPED) {
        return;
      }
      gate = Gate.STOPPED;
      stopReason = reason;
      abandonInFlight(reason.getText(), answers);
      nowDrained = takeDrained();
    }
    answers.give();
    complete(nowDrained);
  }

  /** Under the state lock: their handles will not be applied here with an answer. */
  private void abandonInFlight(String why, Answers answers) {
    for (Proposal proposal : inFlight.all()) {
      inFlight.settle(proposal);
      if (proposal instanceof Proposal.OfRecords records) {
        answerFailed(records, ProduceResults.unknown(id, why), answers);
      } else if (proposal instanceof Proposal.OfLogStart move) {
        answers.add(move.done, ProduceResults.unknown(id, why));
      }
    }
    clearLanes(why, answers);
  }

  private void clearLanes(String why, Answers answers) {
    for (Proposal.OfRecords records : producers.clearPending()) {
      if (!inFlight.contains(records)) {
        // Told "unknown" before; only retries can wait. The others wait for raft's own answer.
        answerFailed(records, ProduceResults.unknown(id, why), answers);
      }
    }
  }

  /** Under the state lock: the future to complete behind it, or null. */
  private CompletableFuture<Void> takeDrained() {
    if (drained == null || (gate == Gate.TRANSFERRING && !inFlight.isEmpty())) {
      return null;
    }
    CompletableFuture<Void> done = drained;
    drained = null;
    return done;
  }

  private static void complete(CompletableFuture<Void> future) {
    if (future != null) {
      future.complete(null);
    }
  }

  // ---------------------------------------------------------------------------------------- status

  int producers() {
    synchronized (stateLock) {
      return producers.size();
    }
  }

  int inFlightEntries() {
    synchronized (stateLock) {
      return inFlight.entries();
    }
  }

  long inFlightBytes() {
    synchronized (stateLock) {
      return inFlight.bytes();
    }
  }
}
