package io.millrace.broker.partition;

import io.millrace.broker.raft.ProposalFailure;
import io.millrace.broker.raft.RaftGroup;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.FsyncPolicy;
import io.millrace.protocol.message.LeaderHint;
import io.millrace.protocol.message.ProduceResult;

/** Builds results and errors of one partition. */
final class ProduceResults {

  private ProduceResults() {}

  static ProduceResult receipt(
      long baseOffset, long term, FsyncPolicy fsync, long logStart, boolean duplicate) {
    return ProduceResult.newBuilder()
        .setBaseOffset(baseOffset)
        .setTerm(term)
        .setFsync(fsync)
        .setLogStart(logStart)
        .setDuplicate(duplicate)
        .build();
  }

  static ProduceResult error(ErrorInfo error) {
    return ProduceResult.newBuilder().setError(error).setBaseOffset(-1).build();
  }

  /** Why a proposal was not applied, as its producer must see it. */
  static ErrorInfo failed(PartitionId id, RaftGroup raft, ProposalFailure failure) {
    if (!failure.certainlyNotAppended()) {
      return unknown(id, failure.reason());
    }
    ErrorInfo notLeading = notLeading(id, raft);
    return notLeading.toBuilder()
        .setText(notLeading.getText() + "; nothing was appended: " + failure.reason())
        .build();
  }

  static ErrorInfo unknown(PartitionId id, String why) {
    return ErrorCode.OUTCOME_UNKNOWN.toInfo(id + ": " + why + "; it may be stored");
  }

  /** Not the leader, or the leader that has not started yet: which of them the group knows. */
  static ErrorInfo notLeading(PartitionId id, RaftGroup raft) {
    if (raft.isLeader()) {
      return ErrorCode.NOT_READY.toInfo(
          id + ": this broker was elected for term " + raft.term() + " and is catching up");
    }
    int leader = raft.leader();
    String where = leader == 0 ? "no leader is known" : "broker " + leader + " leads";
    return ErrorCode.NOT_LEADER.toInfo(id + ": this broker does not lead; " + where).toBuilder()
        .setLeader(LeaderHint.newBuilder().setBrokerId(leader).setTerm(raft.term()))
        .build();
  }
}
