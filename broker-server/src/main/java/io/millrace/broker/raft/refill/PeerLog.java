package io.millrace.broker.raft.refill;

import io.millrace.broker.log.EpochTable;
import io.millrace.protocol.message.ReplicaStateResponse;
import io.millrace.protocol.message.TermStart;

/**
 * What one broker has of a group's log.
 *
 * @param present false = nothing; all that follows is meaningless then
 * @param votes it takes part in Raft
 * @param whole nothing is known to be missing inside its log, though its tail may be
 * @param term newest one that it has seen
 * @param leads it leads in that term and has applied an entry of it
 * @param firstOffset of the first record at or after {@code firstIndex}
 * @param lastIndex at a leader that of the last proposed entry, written or not
 * @param lastTerm of the last written entry, 0 = none
 * @param checkpointIndex of its newest checkpoint, 0 = none
 */
record PeerLog(
    int broker,
    boolean present,
    boolean votes,
    boolean whole,
    long term,
    boolean leads,
    long firstIndex,
    long firstOffset,
    long lastIndex,
    long lastTerm,
    EpochTable terms,
    long checkpointIndex) {

  static PeerLog of(int broker, ReplicaStateResponse answer) {
    return new PeerLog(
        broker,
        answer.getPresent(),
        answer.getVotes(),
        answer.getWhole(),
        answer.getTerm(),
        answer.getLeads(),
        answer.getFirstIndex(),
        answer.getFirstOffset(),
        answer.getLastIndex(),
        answer.getLastTerm(),
        EpochTable.of(
            answer.getTermsList().stream().mapToLong(TermStart::getTerm).toArray(),
            answer.getTermsList().stream().mapToLong(TermStart::getFirstIndex).toArray()),
        answer.getCheckpointIndex());
  }

  /** Raft's order of logs: by the term of the last entry, then by length. */
  boolean isNewerThan(long otherLastTerm, long otherLastIndex) {
    return lastTerm != otherLastTerm ? lastTerm > otherLastTerm : lastIndex > otherLastIndex;
  }
}
