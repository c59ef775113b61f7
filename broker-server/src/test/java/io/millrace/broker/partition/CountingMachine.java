package io.millrace.broker.partition;

import com.google.protobuf.ByteString;
import io.millrace.broker.raft.ProposalCallback;
import io.millrace.broker.raft.ReplicaStateMachine;
import io.millrace.broker.state.ControlEntry;
import io.millrace.broker.state.PartitionState;
import io.millrace.protocol.batch.BatchHeader;
import java.nio.ByteBuffer;

/** The least state machine around a sequencer: what a partition does without its log. */
final class CountingMachine implements ReplicaStateMachine {

  private final PartitionState<Proposal.OfRecords> state;
  private final Sequencer sequencer;

  CountingMachine(PartitionState<Proposal.OfRecords> state, Sequencer sequencer) {
    this.state = state;
    this.sequencer = sequencer;
  }

  @Override
  public void apply(long index, long term, ByteBuffer batch, ProposalCallback local) {
    if (!BatchHeader.isControl(batch, batch.position())) {
      long base = state.append(BatchHeader.recordCount(batch, batch.position()));
      sequencer.recordsApplied(batch, base, term, local);
      return;
    }
    ControlEntry entry = ControlEntry.decode(batch);
    if (entry instanceof ControlEntry.Time time) {
      state.advanceLogTime(time.logTimeMillis());
      sequencer.timeApplied(state.logTime());
    } else if (entry instanceof ControlEntry.ProducerExpire expire) {
      sequencer.expireApplied(expire.idleSinceBeforeMillis());
    }
    sequencer.controlApplied(local);
  }

  @Override
  public void applyBatchEnd(long lastIndex) {}

  @Override
  public void leaderStarted(long term) {
    sequencer.leaderStarted(term);
  }

  @Override
  public void leaderStopped(boolean sameTermMayResume) {
    sequencer.leaderStopped(sameTermMayResume);
  }

  @Override
  public void leaderChanged(int leaderBrokerId, long term) {}

  @Override
  public ByteString checkpoint() {
    return state.toImage();
  }

  @Override
  public void restore(ByteString image, long index, long term) {
    state.restore(image);
  }

  @Override
  public void failed(String reason) {}
}
