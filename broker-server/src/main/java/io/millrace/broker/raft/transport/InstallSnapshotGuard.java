package io.millrace.broker.raft.transport;

import com.alipay.sofa.jraft.rpc.RpcRequests.InstallSnapshotRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.InstallSnapshotResponse;

/**
 * Answers InstallSnapshot in JRaft's place. JRaft would replace the log while the node runs; here
 * the replica stops and its log is completed from another broker.
 *
 * <p>A leader sends it to a follower that needs entries which the leader's log no longer has, and
 * goes on sending it until it is answered with success. So after the refill the same message tells
 * that the follower is there: it has the snapshot's last entry (Raft section 7, rule 6).
 */
public final class InstallSnapshotGuard {

  /** What the guard has to know of a replica. */
  public interface Log {
    /** The log has this very entry, or had it and no longer needs it. */
    boolean has(long index, long term);

    long currentTerm();

    /** The replica cannot follow this leader with its present log. */
    void tooFarBehind(String reason);
  }

  private final Log log;

  public InstallSnapshotGuard(Log log) {
    this.log = log;
  }

  InstallSnapshotResponse answer(InstallSnapshotRequest request) {
    long index = request.getMeta().getLastIncludedIndex();
    long term = log.currentTerm();
    boolean current = request.getTerm() >= term;
    boolean present = log.has(index, request.getMeta().getLastIncludedTerm());
    if (current && !present) {
      log.tooFarBehind(
          "the leader's log begins behind what is missing here; its oldest state is that at entry "
              + index);
    }
    return InstallSnapshotResponse.newBuilder()
        .setTerm(Math.max(term, request.getTerm()))
        .setSuccess(current && present)
        .build();
  }
}
