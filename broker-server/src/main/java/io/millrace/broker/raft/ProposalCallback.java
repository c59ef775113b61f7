package io.millrace.broker.raft;

/**
 * Handle of one proposal at the broker that proposed it. Success is seen as the {@code local}
 * argument of {@link ReplicaStateMachine#apply}; this is told of the other end.
 */
public interface ProposalCallback {

  /**
   * The proposal will not be applied with this handle. Called at most once, never together with
   * apply; any thread; must not throw.
   */
  void failed(ProposalFailure failure);
}
