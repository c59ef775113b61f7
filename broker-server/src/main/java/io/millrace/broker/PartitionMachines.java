package io.millrace.broker;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.millrace.broker.cluster.LeaderDirectory;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.partition.Partition;
import io.millrace.broker.partition.PartitionEnvironment;
import io.millrace.broker.partition.PartitionId;
import io.millrace.broker.partition.PartitionSettings;
import io.millrace.broker.raft.ProposalCallback;
import io.millrace.broker.raft.RaftGroup;
import io.millrace.broker.raft.ReplicaStateMachine;
import io.millrace.broker.raft.StateMachineFactory;
import io.millrace.broker.state.message.TimeEntry;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.InvalidBatchException;
import java.nio.ByteBuffer;
import java.util.Map;

/**
 * Makes the {@link Partition} of a replica at each of its starts, puts it where requests find it,
 * and tells the leader directory of its leadership.
 *
 * @param changed told when the log start moved or a segment was closed
 */
record PartitionMachines(
    PartitionId id,
    PartitionSettings settings,
    PartitionEnvironment environment,
    LeaderDirectory leaders,
    Map<LeaderDirectory.Key, Partition> serving,
    Runnable changed)
    implements StateMachineFactory {

  @Override
  public ReplicaStateMachine create(RaftGroup group, PartitionLog log) {
    Partition partition = new Partition(id, settings, environment, group, log);
    serving.put(key(), partition);
    return new Announcing(partition);
  }

  private LeaderDirectory.Key key() {
    return new LeaderDirectory.Key(id.topicId(), id.partition());
  }

  @Override
  public void ended(ReplicaStateMachine stateMachine) {
    Partition partition = ((Announcing) stateMachine).partition;
    partition.shutDown();
    serving.remove(key(), partition);
    leaders.localStopped(id.topicId(), id.partition());
  }

  @Override
  public long logTimeOf(ByteBuffer timeBatch) {
    try {
      return TimeEntry.parseFrom(ControlBatch.decode(timeBatch).value()).getLogTimeMillis();
    } catch (InvalidBatchException | InvalidProtocolBufferException e) {
      throw new IllegalStateException(id + ": a TIME entry cannot be decoded", e);
    }
  }

  @Override
  public void segmentClosed() {
    changed.run();
  }

  /** The partition, and beside it the announcement of its leadership. */
  private final class Announcing implements ReplicaStateMachine {
    private final Partition partition;

    /** As last told; FSM thread. */
    private long logStart;

    Announcing(Partition partition) {
      this.partition = partition;
    }

    @Override
    public void apply(long index, long term, ByteBuffer batch, ProposalCallback local) {
      partition.apply(index, term, batch, local);
    }

    @Override
    public void applyBatchEnd(long lastIndex) {
      partition.applyBatchEnd(lastIndex);
      if (partition.logStart() != logStart) {
        logStart = partition.logStart();
        changed.run();
      }
    }

    @Override
    public void logWritten() {
      partition.logWritten();
    }

    @Override
    public void leaderStarted(long term) {
      partition.leaderStarted(term);
      leaders.localStarted(id.topicId(), id.partition(), term);
    }

    @Override
    public void leaderStopped(boolean sameTermMayResume) {
      partition.leaderStopped(sameTermMayResume);
      leaders.localStopped(id.topicId(), id.partition());
    }

    @Override
    public void leaderChanged(int leaderBrokerId, long term) {
      partition.leaderChanged(leaderBrokerId, term);
    }

    @Override
    public ByteString checkpoint() {
      return partition.checkpoint();
    }

    @Override
    public void restore(ByteString image, long index, long term) {
      partition.restore(image, index, term);
    }

    @Override
    public void failed(String reason) {
      partition.failed(reason);
      leaders.localStopped(id.topicId(), id.partition());
    }
  }
}
