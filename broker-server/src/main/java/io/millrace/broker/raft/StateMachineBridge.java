package io.millrace.broker.raft;

import com.alipay.sofa.jraft.Closure;
import com.alipay.sofa.jraft.Iterator;
import com.alipay.sofa.jraft.Status;
import com.alipay.sofa.jraft.core.StateMachineAdapter;
import com.alipay.sofa.jraft.entity.LeaderChangeContext;
import com.alipay.sofa.jraft.error.RaftError;
import com.alipay.sofa.jraft.error.RaftException;
import com.alipay.sofa.jraft.storage.snapshot.SnapshotReader;
import com.alipay.sofa.jraft.storage.snapshot.SnapshotWriter;
import com.google.protobuf.ByteString;
import io.millrace.broker.raft.message.Checkpoint;

/**
 * Translates JRaft's calls to a {@link ReplicaStateMachine} and lets the {@link Checkpointer} write
 * between two runs of entries.
 *
 * <p>Threads: JRaft's FSM thread of the group.
 */
final class StateMachineBridge extends StateMachineAdapter {

  /** Carries the proposer's handle through JRaft. */
  static final class ProposalClosure implements Closure {
    private final ProposalCallback callback;

    ProposalClosure(ProposalCallback callback) {
      this.callback = callback;
    }

    /**
     * Only called by JRaft, and only for failure. The status cannot tell "never appended" from "the
     * leader stepped down, a later one may commit it", so the outcome is unknown.
     */
    @Override
    public void run(Status status) {
      callback.failed(new ProposalFailure(false, status.getErrorMsg()));
    }
  }

  private final ReplicaStateMachine stateMachine;
  private final Checkpointer checkpointer;
  private final Replica replica;
  private volatile PrefixRelease release;
  private volatile long appliedIndex;
  private long appliedTerm;

  StateMachineBridge(Replica replica, ReplicaStateMachine stateMachine, Checkpointer checkpointer) {
    this.replica = replica;
    this.stateMachine = stateMachine;
    this.checkpointer = checkpointer;
  }

  /** Before the node starts. */
  void releaseWith(PrefixRelease prefixRelease) {
    release = prefixRelease;
  }

  /** Index of the last data entry given to the state machine. */
  long appliedIndex() {
    return appliedIndex;
  }

  @Override
  public void onApply(Iterator iterator) {
    long bytes = 0;
    while (iterator.hasNext()) {
      var batch = iterator.getData();
      ProposalCallback local =
          iterator.done() instanceof ProposalClosure proposal ? proposal.callback : null;
      bytes += batch.remaining();
      try {
        stateMachine.apply(iterator.getIndex(), iterator.getTerm(), batch.duplicate(), local);
      } catch (RuntimeException | Error e) {
        // The state may be half changed: it must not get into a checkpoint. JRaft stops the node.
        checkpointer.stop();
        throw e;
      }
      appliedTerm = iterator.getTerm();
      appliedIndex = iterator.getIndex();
      iterator.next();
    }
    stateMachine.applyBatchEnd(appliedIndex);
    checkpointer.applied(appliedIndex, appliedTerm, bytes);
  }

  /**
   * Takes the state of the checkpoint before the node starts: an exception in JRaft's own call
   * would leave it waiting for ever.
   */
  void restore(Checkpoint checkpoint) {
    stateMachine.restore(checkpoint.getState(), checkpoint.getIndex(), checkpoint.getTerm());
    appliedIndex = checkpoint.getIndex();
    appliedTerm = checkpoint.getTerm();
  }

  @Override
  public void onSnapshotSave(SnapshotWriter writer, Closure done) {
    release.save(writer, done);
  }

  @Override
  public boolean onSnapshotLoad(SnapshotReader reader) {
    return true; // Restored already; JRaft only takes the index, term and members from it.
  }

  /** The image for a checkpoint; FSM thread only. */
  ByteString image() {
    return stateMachine.checkpoint();
  }

  @Override
  public void onLeaderStart(long term) {
    replica.leaderIs(PeerIds.brokerOf(replica.self()));
    replica.leadsIn(term);
    stateMachine.leaderStarted(term);
  }

  @Override
  public void onLeaderStop(Status status) {
    boolean transfer = status.getRaftError() == RaftError.ETRANSFERLEADERSHIP;
    replica.leaderIs(0);
    replica.leadsIn(0);
    stateMachine.leaderStopped(transfer);
  }

  @Override
  public void onStartFollowing(LeaderChangeContext context) {
    int leader = PeerIds.brokerOf(context.getLeaderId());
    replica.leaderIs(leader);
    stateMachine.leaderChanged(leader, context.getTerm());
  }

  @Override
  public void onStopFollowing(LeaderChangeContext context) {
    replica.leaderIs(0);
    stateMachine.leaderChanged(0, context.getTerm());
  }

  @Override
  public void onError(RaftException error) {
    replica.nodeFailed(error.getStatus().getErrorMsg());
  }

  @Override
  public void onShutdown() {
    checkpointer.shutdown(appliedIndex, appliedTerm);
  }
}
