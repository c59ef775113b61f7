package io.millrace.broker.raft;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;

/**
 * What one replica of a Raft group drives: a partition, or the metadata.
 *
 * <p>Threads: every method runs on the group's FSM thread, in log order, unless it says otherwise.
 * No method may block on a lock that is held while calling {@link RaftGroup#propose}.
 *
 * <p>Errors: an exception from {@link #apply} stops the replica (JRaft #1246); use it for what
 * "cannot happen", such as an entry of an unknown type.
 */
public interface ReplicaStateMachine {

  /**
   * Applies one committed data entry.
   *
   * @param batch the entry, read-only; its base offset and term fields can still be the proposer's,
   *     so nothing may be derived from them
   * @param local what {@link RaftGroup#propose} was given here, or null for an entry that came from
   *     another broker or from replay
   */
  void apply(long index, long term, ByteBuffer batch, ProposalCallback local);

  /** A run of {@link #apply} calls is over: wake waiters once. */
  void applyBatchEnd(long lastIndex);

  /**
   * Entries were written to the local log, perhaps ones that had been applied before. The log's
   * writer thread; must not block.
   */
  default void logWritten() {}

  /** This replica leads in {@code term} and every entry of older terms has been applied. */
  void leaderStarted(long term);

  /**
   * This replica leads no more.
   *
   * @param sameTermMayResume a transfer began; if it fails {@link #leaderStarted} follows with the
   *     same term and proposals in flight can still commit
   */
  void leaderStopped(boolean sameTermMayResume);

  /** The known leader changed; 0 = none known. */
  void leaderChanged(int leaderBrokerId, long term);

  /** A self-contained image of the state at the last applied index. */
  ByteString checkpoint();

  /** Takes the image of a checkpoint; at most once, before the first apply. */
  void restore(ByteString image, long index, long term);

  /** The replica stopped for good (until it is started anew). Any thread. */
  void failed(String reason);
}
