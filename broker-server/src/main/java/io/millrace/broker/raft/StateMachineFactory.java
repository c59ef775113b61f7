package io.millrace.broker.raft;

import io.millrace.broker.log.PartitionLog;
import java.nio.ByteBuffer;

/** Makes the state machine of a replica, anew for each start. */
public interface StateMachineFactory {

  /** Called before the replica's node starts; nothing may be proposed yet. */
  ReplicaStateMachine create(RaftGroup group, PartitionLog log);

  /** The log time in milliseconds that a TIME batch carries; any thread. */
  long logTimeOf(ByteBuffer timeBatch);

  /** A segment of the log was closed; the thread that writes the log. */
  default void segmentClosed() {}

  /** The replica of this state machine has ended; it will be called no more. */
  void ended(ReplicaStateMachine stateMachine);
}
