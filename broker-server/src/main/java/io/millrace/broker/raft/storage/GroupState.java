package io.millrace.broker.raft.storage;

import io.millrace.broker.log.SyncMark;
import io.millrace.broker.raft.message.StoredHealth;

/**
 * What must survive about one replica besides its log.
 *
 * @param term newest term that this replica has seen
 * @param votedFor peer that got its vote in that term, empty = nobody
 * @param health whether the replica may take part in Raft
 * @param reason why it is not OK, empty if it is
 * @param mark what is certainly on disk of its log, null = nothing known
 */
public record GroupState(
    long term, String votedFor, StoredHealth health, String reason, SyncMark mark) {

  public static final GroupState NEW = new GroupState(0, "", StoredHealth.STORED_OK, "", null);

  GroupState withVote(long newTerm, String newVotedFor) {
    return new GroupState(newTerm, newVotedFor, health, reason, mark);
  }

  GroupState withHealth(StoredHealth newHealth, String newReason) {
    return new GroupState(term, votedFor, newHealth, newReason, mark);
  }

  GroupState withMark(SyncMark newMark) {
    return new GroupState(term, votedFor, health, reason, newMark);
  }
}
