package io.millrace.broker.raft.transport;

import com.alipay.sofa.jraft.entity.PeerId;
import com.alipay.sofa.jraft.error.RaftError;
import com.alipay.sofa.jraft.rpc.Connection;
import com.alipay.sofa.jraft.rpc.RaftServerService;
import com.alipay.sofa.jraft.rpc.RpcContext;
import com.alipay.sofa.jraft.rpc.RpcRequestClosure;
import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesResponse;
import com.alipay.sofa.jraft.rpc.RpcRequests.ErrorResponse;
import com.alipay.sofa.jraft.rpc.RpcRequests.InstallSnapshotRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.RequestVoteRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.TimeoutNowRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.TimeoutNowResponse;
import com.google.protobuf.Message;
import io.millrace.broker.log.DiskSpace;
import io.millrace.broker.raft.PeerIds;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The checks that stand between the network and one JRaft node, which believes what a message says.
 *
 * <p>A message must come from the broker that it names as its sender and be meant for this very
 * replica. Entries are then compared with the log by {@link AppendEntriesGuard}.
 *
 * <p>Threads: one request at a time, from the group's inbox.
 */
public final class NodeMessages implements RaftMessageHandler {

  private final PeerId self;
  private final RaftServerService node;
  private final AppendEntriesGuard guard;
  private final InstallSnapshotGuard snapshots;
  private final Supplier<DiskSpace.Level> diskLevel;

  public NodeMessages(
      PeerId self,
      RaftServerService node,
      AppendEntriesGuard guard,
      InstallSnapshotGuard.Log log,
      Supplier<DiskSpace.Level> diskLevel) {
    this.self = self;
    this.node = node;
    this.guard = guard;
    this.diskLevel = diskLevel;
    this.snapshots = new InstallSnapshotGuard(log);
  }

  @Override
  public void handle(int sender, Message request, Consumer<Message> responder) {
    if (request instanceof AppendEntriesRequest append) {
      if (accepts(sender, append.getServerId(), append.getPeerId(), responder)) {
        append(append, responder);
      }
    } else if (request instanceof RequestVoteRequest vote) {
      if (accepts(sender, vote.getServerId(), vote.getPeerId(), responder)) {
        responder.accept(
            vote.getPreVote()
                ? node.handlePreVoteRequest(vote)
                : node.handleRequestVoteRequest(vote));
      }
    } else if (request instanceof TimeoutNowRequest timeoutNow) {
      if (accepts(sender, timeoutNow.getServerId(), timeoutNow.getPeerId(), responder)) {
        RpcRequestClosure done = closure(responder, TimeoutNowResponse.getDefaultInstance());
        Message response = node.handleTimeoutNowRequest(timeoutNow, done);
        if (response != null) {
          responder.accept(response);
        }
      }
    } else if (request instanceof InstallSnapshotRequest install) {
      if (accepts(sender, install.getServerId(), install.getPeerId(), responder)) {
        responder.accept(snapshots.answer(install));
      }
    } else {
      throw new IllegalArgumentException("no handler for " + request.getClass());
    }
  }

  private void append(AppendEntriesRequest request, Consumer<Message> responder) {
    String refusal = guard.refusal(request);
    if (refusal != null) {
      responder.accept(error(RaftError.EINVAL, refusal));
      return;
    }
    if (diskLevel.get() == DiskSpace.Level.CRITICAL && AppendEntriesGuard.hasRecords(request)) {
      // The leader tries again; appending until the disk is full would end the replica.
      responder.accept(error(RaftError.EBUSY, "the disk of " + self + " is full"));
      return;
    }
    RpcRequestClosure done = closure(responder, AppendEntriesResponse.getDefaultInstance());
    Message response = node.handleAppendEntriesRequest(request, done);
    if (response != null) {
      responder.accept(response);
    }
  }

  private boolean accepts(int sender, String from, String to, Consumer<Message> responder) {
    PeerId named = new PeerId();
    if (!named.parse(from) || !isBroker(named, sender)) {
      responder.accept(
          error(RaftError.EINVAL, "broker " + sender + " sent a message in the name of " + from));
      return false;
    }
    if (!to.equals(self.toString())) {
      responder.accept(
          error(RaftError.ENOENT, "replica " + to + " does not run here; " + self + " does"));
      return false;
    }
    return true;
  }

  private static boolean isBroker(PeerId peer, int brokerId) {
    return peer.getEndpoint().equals(PeerIds.of(brokerId, 0).getEndpoint());
  }

  private static ErrorResponse error(RaftError error, String text) {
    return ErrorResponse.newBuilder().setErrorCode(error.getNumber()).setErrorMsg(text).build();
  }

  private static RpcRequestClosure closure(Consumer<Message> responder, Message defaultResponse) {
    return new RpcRequestClosure(
        new RpcContext() {
          @Override
          public void sendResponse(Object response) {
            responder.accept((Message) response);
          }

          @Override
          public Connection getConnection() {
            return null;
          }

          @Override
          public String getRemoteAddress() {
            return "peer";
          }
        },
        defaultResponse);
  }
}
