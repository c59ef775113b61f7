package io.millrace.broker.partition;

import io.millrace.broker.log.LogDamagedException;
import io.millrace.broker.log.LogEntry;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.raft.ProposalCallback;
import io.millrace.broker.raft.ProposalFailure;
import io.millrace.broker.raft.RaftGroup;
import io.millrace.broker.raft.ReplicaStateMachine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * A Raft group of which the test decides everything: what is accepted, when it commits, who leads.
 * Everything runs on the calling thread, which so is the FSM thread.
 */
final class FakeRaft implements RaftGroup {

  final List<LogDamagedException> damages = new ArrayList<>();

  /** An entry of the log, committed or not. */
  record Entry(long index, long term, ByteBuffer batch) {}

  private record Proposed(long term, ByteBuffer batch, ProposalCallback callback) {}

  /** What happens to proposals. */
  enum Mode {
    ACCEPT,
    /** As JRaft while a transfer runs: refused, told later. */
    REJECT_LATER,
    /** Refused, told inside propose. */
    REJECT_NOW,
    THROW
  }

  Mode mode = Mode.ACCEPT;
  boolean rejectionIsCertain = true;
  boolean quorumContact = true;

  /** Writes entries when they commit; null = no log. */
  PartitionLog log;

  /** False: commits come before the local write, see {@link #writeLog}. */
  boolean writeBeforeApply = true;

  private final Deque<Proposed> inFlight = new ArrayDeque<>();
  private final List<ProposalCallback> rejected = new ArrayList<>();
  private final List<Entry> committed = new ArrayList<>();
  private final Deque<Entry> unwritten = new ArrayDeque<>();
  private ReplicaStateMachine machine;
  private boolean leader;
  private int leaderId;
  private long term;
  private int proposals;

  void attach(ReplicaStateMachine stateMachine) {
    machine = stateMachine;
  }

  // -------------------------------------------------------------------------------- leadership

  /** Wins an election without having started yet. */
  void elect(long newTerm) {
    leader = true;
    leaderId = 1;
    term = newTerm;
  }

  void lead(long newTerm) {
    elect(newTerm);
    machine.leaderStarted(newTerm);
  }

  /**
   * Loses leadership.
   *
   * @param surviving how many of the entries in flight the next leader commits
   */
  void stepDown(int nextLeader, int surviving) {
    leader = false;
    leaderId = nextLeader;
    List<Proposed> lost = new ArrayList<>(inFlight);
    inFlight.clear();
    machine.leaderStopped(false);
    lost.forEach(p -> p.callback.failed(new ProposalFailure(false, "leader stepped down")));
    term++;
    lost.subList(0, surviving).forEach(p -> commit(p.batch, p.term, null));
    endRun();
  }

  /** A transfer begins: JRaft stops leading at once and rejects what is proposed. */
  void beginTransfer() {
    leader = false;
    mode = Mode.REJECT_LATER;
    machine.leaderStopped(true);
  }

  /** The transfer timed out: the same term goes on. */
  void transferFailed() {
    leader = true;
    mode = Mode.ACCEPT;
    machine.leaderStarted(term);
  }

  @Override
  public void damaged(LogDamagedException damage) {
    damages.add(damage);
  }

  @Override
  public boolean transferLeadership(int toBrokerId) {
    beginTransfer();
    return true;
  }

  // ---------------------------------------------------------------------------------- entries

  @Override
  public void propose(ByteBuffer batch, long expectedTerm, ProposalCallback callback) {
    proposals++;
    if (mode == Mode.THROW) {
      throw new IllegalStateException("propose fails");
    }
    boolean accepted = mode == Mode.ACCEPT && leader && expectedTerm == term;
    if (accepted) {
      inFlight.add(new Proposed(expectedTerm, batch, callback));
    } else if (mode == Mode.REJECT_NOW) {
      callback.failed(new ProposalFailure(rejectionIsCertain, "rejected"));
    } else {
      rejected.add(callback);
    }
  }

  /** Delivers what was rejected, newest first: callbacks come in any order. */
  void tellRejected() {
    List<ProposalCallback> all = new ArrayList<>(rejected);
    rejected.clear();
    for (int i = all.size() - 1; i >= 0; i--) {
      all.get(i).failed(new ProposalFailure(rejectionIsCertain, "rejected"));
    }
  }

  /** Fails an accepted entry in flight; it never gets into the log. */
  void failInFlight(int position, boolean certain) {
    List<Proposed> all = new ArrayList<>(inFlight);
    Proposed failed = all.remove(position);
    inFlight.clear();
    inFlight.addAll(all);
    failed.callback.failed(new ProposalFailure(certain, "failed"));
  }

  /** Commits the first entries in flight as one run. */
  void commit(int entries) {
    for (int i = 0; i < entries; i++) {
      Proposed next = inFlight.remove();
      commit(next.batch, next.term, next.callback);
    }
    endRun();
  }

  void commitAll() {
    commit(inFlight.size());
  }

  /** Commits an entry that another broker proposed. */
  void commitForeign(ByteBuffer... batches) {
    for (ByteBuffer batch : batches) {
      commit(batch, term, null);
    }
    endRun();
  }

  private void commit(ByteBuffer batch, long entryTerm, ProposalCallback callback) {
    Entry entry = new Entry(committed.size() + 1, entryTerm, batch);
    committed.add(entry);
    unwritten.add(entry);
    if (writeBeforeApply) {
      writeLog();
    }
    machine.apply(entry.index, entry.term, batch.asReadOnlyBuffer(), callback);
  }

  private void endRun() {
    if (!committed.isEmpty()) {
      machine.applyBatchEnd(committed.size());
    }
  }

  /** The local write catches up. */
  void writeLog() {
    List<LogEntry> entries = new ArrayList<>();
    while (!unwritten.isEmpty()) {
      Entry next = unwritten.remove();
      entries.add(new LogEntry(next.index, next.term, next.batch));
    }
    if (log != null && !entries.isEmpty()) {
      try {
        log.append(entries);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  List<Entry> committed() {
    return committed;
  }

  int inFlight() {
    return inFlight.size();
  }

  int rejected() {
    return rejected.size();
  }

  /** Calls of propose. */
  int proposals() {
    return proposals;
  }

  // -------------------------------------------------------------------------------- RaftGroup

  @Override
  public String name() {
    return "fake";
  }

  @Override
  public boolean isLeader() {
    return leader;
  }

  @Override
  public long term() {
    return term;
  }

  @Override
  public int leader() {
    return leaderId;
  }

  @Override
  public boolean hasQuorumContact() {
    return leader && quorumContact;
  }

  @Override
  public long appliedIndex() {
    return committed.size();
  }
}
