package io.millrace.broker;

import io.millrace.broker.cluster.LocalBroker;
import io.millrace.broker.cluster.MetadataGroup;
import io.millrace.broker.log.FsyncPolicy;
import io.millrace.broker.log.LogConfig;
import io.millrace.broker.log.LogIdentity;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.raft.PeerIds;
import io.millrace.broker.raft.RaftGroup;
import io.millrace.broker.raft.ReplicaSpec;
import io.millrace.broker.raft.ReplicaStateMachine;
import io.millrace.broker.raft.StateMachineFactory;
import java.nio.ByteBuffer;
import java.util.UUID;

/**
 * This broker's replica of the metadata group. Its state machine is one object for the life of the
 * broker, since many parts listen to it; a new start of the replica empties it first.
 */
final class MetadataReplica implements StateMachineFactory {

  private static final long SEGMENT_BYTES = 16L * 1024 * 1024;

  /** The metadata group belongs to no topic. */
  private static final UUID NO_TOPIC = new UUID(0, 0);

  private final MetadataGroup group;

  MetadataReplica(MetadataGroup group) {
    this.group = group;
  }

  static ReplicaSpec spec(LocalBroker identity, DataDirectory directory) {
    return new ReplicaSpec(
        MetadataGroup.NAME,
        MetadataGroup.NAME + "-" + identity.clusterId(),
        RaftDirectory.meta(directory.raft()),
        new LogIdentity(identity.clusterId(), NO_TOPIC, 0),
        new LogConfig(FsyncPolicy.ALWAYS, 0, SEGMENT_BYTES),
        PeerIds.of(identity.id(), 0),
        directory.bootstrapVoters().stream().map(voter -> PeerIds.of(voter, 0)).toList());
  }

  @Override
  public ReplicaStateMachine create(RaftGroup raft, PartitionLog log) {
    group.replicaRestarts();
    group.attach(raft);
    return group;
  }

  @Override
  public void ended(ReplicaStateMachine stateMachine) {
    // The last state stays readable.
  }

  /** No TIME entries here: nothing of the metadata depends on time. */
  @Override
  public long logTimeOf(ByteBuffer timeBatch) {
    return -1;
  }
}
