package io.millrace.broker.raft.transport;

import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesResponse;
import com.alipay.sofa.jraft.rpc.RpcRequests.ErrorResponse;
import com.alipay.sofa.jraft.rpc.RpcRequests.InstallSnapshotRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.InstallSnapshotResponse;
import com.alipay.sofa.jraft.rpc.RpcRequests.RequestVoteRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.RequestVoteResponse;
import com.alipay.sofa.jraft.rpc.RpcRequests.TimeoutNowRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.TimeoutNowResponse;
import com.google.protobuf.Message;

/**
 * The only Raft messages that travel between brokers. JRaft's command line and file services are
 * not among them, so they cannot be reached.
 */
public enum RaftMessageType {
  /** Votes and pre-votes. */
  REQUEST_VOTE(1, RequestVoteRequest.getDefaultInstance()),
  /** Entries, probes and heartbeats. */
  APPEND_ENTRIES(2, AppendEntriesRequest.getDefaultInstance()),
  TIMEOUT_NOW(3, TimeoutNowRequest.getDefaultInstance()),
  /** Only the word that a follower is too far behind; files travel by other requests. */
  INSTALL_SNAPSHOT(5, InstallSnapshotRequest.getDefaultInstance()),
  REQUEST_VOTE_RESPONSE(101, RequestVoteResponse.getDefaultInstance()),
  APPEND_ENTRIES_RESPONSE(102, AppendEntriesResponse.getDefaultInstance()),
  TIMEOUT_NOW_RESPONSE(103, TimeoutNowResponse.getDefaultInstance()),
  INSTALL_SNAPSHOT_RESPONSE(105, InstallSnapshotResponse.getDefaultInstance()),
  ERROR_RESPONSE(199, ErrorResponse.getDefaultInstance());

  private final int code;
  private final Message prototype;

  RaftMessageType(int code, Message prototype) {
    this.code = code;
    this.prototype = prototype;
  }

  public int code() {
    return code;
  }

  Message prototype() {
    return prototype;
  }

  /** The type with this number, or null. */
  public static RaftMessageType of(int code) {
    for (RaftMessageType type : values()) {
      if (type.code == code) {
        return type;
      }
    }
    return null;
  }

  /** The type of this message, or null if it never travels. */
  static RaftMessageType of(Object message) {
    for (RaftMessageType type : values()) {
      if (type.prototype.getClass() == message.getClass()) {
        return type;
      }
    }
    return null;
  }
}
