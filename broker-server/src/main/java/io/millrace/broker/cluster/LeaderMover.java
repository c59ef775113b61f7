package io.millrace.broker.cluster;

import java.util.concurrent.CompletableFuture;

/** Asks the broker that leads a partition to hand its leadership over. */
public interface LeaderMover {

  /** The leader began to hand over, or said why not. */
  record Answer(boolean begun, String reason) {}

  /**
   * Never blocks, never throws. The leader itself refuses unless all replicas are in sync: only it
   * knows. It drains its sequencer first, so no produce request fails because of the move.
   */
  CompletableFuture<Answer> move(Balancer.Move move);
}
