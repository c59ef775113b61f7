package io.millrace.broker.raft;

import io.millrace.broker.log.LogDamagedException;
import java.nio.ByteBuffer;

/**
 * One running replica of a Raft group, as its state machine sees it.
 *
 * <p>Threads: all methods may be called from any thread and none blocks.
 */
public interface RaftGroup {

  String name();

  /** True from winning an election on; the state machine is ready only after leaderStarted. */
  boolean isLeader();

  /** Current term as last announced to this replica. */
  long term();

  /** Broker id of the known leader; 0 = none. */
  int leader();

  /**
   * True if this replica leads and a majority answered it within the leader lease, so that its
   * committed end is fresh (Raft dissertation 6.4.1, by clock).
   */
  boolean hasQuorumContact();

  /**
   * Proposes one batch as one entry. The caller serialises its calls for a group: the order of
   * calls is the order of indexes.
   *
   * @param batch heap buffer that nobody changes any more, position and limit included
   * @param expectedTerm the term of leaderStarted; in any other term nothing is appended
   * @param callback told of failure; see {@link ProposalCallback}
   */
  void propose(ByteBuffer batch, long expectedTerm, ProposalCallback callback);

  long appliedIndex();

  /** Entries of the log are damaged: the replica stops, and is completed from another one. */
  void damaged(LogDamagedException damage);

  /** Hands leadership to another broker; its outcome shows in leaderStopped / leaderStarted. */
  boolean transferLeadership(int toBrokerId);
}
