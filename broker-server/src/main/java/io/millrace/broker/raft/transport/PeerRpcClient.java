package io.millrace.broker.raft.transport;

import com.alipay.sofa.jraft.ReplicatorGroup;
import com.alipay.sofa.jraft.error.InvokeTimeoutException;
import com.alipay.sofa.jraft.error.RemotingException;
import com.alipay.sofa.jraft.option.RpcOptions;
import com.alipay.sofa.jraft.rpc.InvokeCallback;
import com.alipay.sofa.jraft.rpc.InvokeContext;
import com.alipay.sofa.jraft.rpc.RpcClient;
import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.ErrorResponse;
import com.alipay.sofa.jraft.rpc.RpcRequests.PingRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.RequestVoteRequest;
import com.alipay.sofa.jraft.util.Endpoint;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import io.millrace.broker.raft.PeerIds;
import io.millrace.broker.raft.threads.RaftPools;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.frame.MalformedFrameException;
import io.millrace.protocol.message.PeerChannel;
import io.millrace.protocol.message.RaftHeader;
import io.millrace.protocol.message.RaftResponseHeader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * JRaft's view of the other brokers for one group: a thin client over the connections that all
 * groups of this broker share, so closing it closes nothing.
 *
 * <p>Threads: any. {@link #invokeAsync} never blocks; its callback runs once, on the callback's
 * executor. The request is serialised before the call returns, because JRaft recycles the buffer of
 * entries when the callback has run.
 */
final class PeerRpcClient implements RpcClient {

  private static final Executor DIRECT = Runnable::run;

  /** JRaft takes the election timeout, which a hurried election makes too short for an fsync. */
  private static final long MIN_VOTE_TIMEOUT_MILLIS = 1000;

  private PeerNetwork network;
  private GroupNodeOptions group;
  private ReplicatorGroup replicators;
  private ReplicatorReconnector reconnector;

  @Override
  public boolean init(RpcOptions options) {
    group = (GroupNodeOptions) options;
    network = group.network();
    reconnector = new ReplicatorReconnector(replicators, group.peers());
    network.addConnectListener(reconnector);
    return true;
  }

  @Override
  public void shutdown() {
    if (reconnector != null) {
      network.removeConnectListener(reconnector);
    }
  }

  @Override
  public boolean checkConnection(Endpoint endpoint) {
    return network.isConnected(PeerIds.brokerOf(endpoint));
  }

  /**
   * True also without a connection: each one is being made all the time, and a request that finds
   * none fails on our threads. On false JRaft would report the failure on a pool of the group's
   * own, that is with one more thread per group after the loss of a broker.
   */
  @Override
  public boolean checkConnection(Endpoint endpoint, boolean createIfAbsent) {
    return createIfAbsent || checkConnection(endpoint);
  }

  @Override
  public void closeConnection(Endpoint endpoint) {
    // The connection serves all groups.
  }

  @Override
  public void registerConnectEventListener(ReplicatorGroup group) {
    replicators = group; // Called before init.
  }

  @Override
  public Object invokeSync(Endpoint endpoint, Object request, InvokeContext ctx, long timeoutMs)
      throws InterruptedException, RemotingException {
    if (request instanceof PingRequest) {
      // Asked under a node's lock before it talks to a peer: answered from what we know.
      int error = checkConnection(endpoint) ? 0 : -1;
      return ErrorResponse.newBuilder().setErrorCode(error).build();
    }
    CompletableFuture<Object> result = new CompletableFuture<>();
    invokeAsync(
        endpoint,
        request,
        ctx,
        new InvokeCallback() {
          @Override
          public void complete(Object response, Throwable error) {
            if (error == null) {
              result.complete(response);
            } else {
              result.completeExceptionally(error);
            }
          }

          @Override
          public Executor executor() {
            return DIRECT;
          }
        },
        timeoutMs);
    try {
      return result.get(timeoutMs, TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      throw new RemotingException(e.getCause());
    } catch (TimeoutException e) {
      throw new InvokeTimeoutException(e);
    }
  }

  @Override
  public void invokeAsync(
      Endpoint endpoint,
      Object request,
      InvokeContext ctx,
      InvokeCallback callback,
      long timeoutMs) {
    // Answers to AppendEntries stay in order on the executor that JRaft names. Other answers may
    // block, on a node's lock and the votes, and JRaft names a pool of the group's own for them.
    InvokeCallback called =
        request instanceof AppendEntriesRequest || callback.executor() == DIRECT
            ? callback
            : new OnSharedPool(callback);
    try {
      send(PeerIds.brokerOf(endpoint), request, called, timeoutMs);
    } catch (PeerRequestException e) {
      fail(called, new RemotingException(e.getMessage(), e));
    }
  }

  private void send(int brokerId, Object request, InvokeCallback callback, long timeoutMs)
      throws PeerRequestException {
    RaftMessageType type = RaftMessageType.of(request);
    if (type == null) {
      throw PeerRequestException.notSent(
          request.getClass().getSimpleName() + " is no message that brokers exchange");
    }
    if (!network.isConnected(brokerId)) {
      throw PeerRequestException.notSent("not connected to broker " + brokerId);
    }
    if (HeartbeatBatch.isHeartbeat(request)) {
      network.heartbeat(brokerId, (AppendEntriesRequest) request, callback, timeoutMs);
      return;
    }
    RaftHeader header =
        RaftHeader.newBuilder().setType(type.code()).setGroup(group.groupId()).build();
    ByteBuf payload = RaftMessages.encode(PooledByteBufAllocator.DEFAULT, (Message) request);
    network.request(
        brokerId,
        channelOf(request),
        ApiKind.RAFT,
        header,
        payload,
        request instanceof RequestVoteRequest
            ? Math.max(timeoutMs, MIN_VOTE_TIMEOUT_MILLIS)
            : timeoutMs,
        new Answer(callback));
  }

  private static void fail(InvokeCallback callback, Throwable error) {
    callback.executor().execute(() -> callback.complete(null, error));
  }

  private record OnSharedPool(InvokeCallback callback) implements InvokeCallback {
    @Override
    public void complete(Object response, Throwable error) {
      callback.complete(response, error);
    }

    @Override
    public Executor executor() {
      return RaftPools.callbacks();
    }
  }

  /** Entries go by the data connection; overtaking is harmless, since only responses advance. */
  private static PeerChannel channelOf(Object request) {
    return request instanceof AppendEntriesRequest append && append.getEntriesCount() > 0
        ? PeerChannel.PEER_DATA
        : PeerChannel.PEER_CONTROL;
  }

  private record Answer(InvokeCallback callback) implements PeerNetwork.ResponseHandler {

    @Override
    public void onResponse(Frame frame) {
      Message message;
      try {
        RaftResponseHeader header = frame.header(RaftResponseHeader.parser());
        RaftMessageType type = RaftMessageType.of(header.getType());
        if (type == null) {
          fail(new RemotingException("answer of unknown type " + header.getType()));
          return;
        }
        // Responses are small and hold no bytes fields, so nothing points into the frame later.
        message = RaftMessages.decode(type, frame.payload());
      } catch (MalformedFrameException | InvalidProtocolBufferException e) {
        fail(new RemotingException("unreadable answer: " + e.getMessage(), e));
        return;
      } finally {
        frame.release();
      }
      callback.executor().execute(() -> callback.complete(message, null));
    }

    @Override
    public void onFailure(PeerRequestException failure) {
      fail(
          failure.isTimeout()
              ? new InvokeTimeoutException(failure.getMessage())
              : new RemotingException(failure.getMessage()));
    }

    private void fail(Throwable error) {
      PeerRpcClient.fail(callback, error);
    }
  }
}
