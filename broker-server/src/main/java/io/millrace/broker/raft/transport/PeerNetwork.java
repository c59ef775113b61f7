package io.millrace.broker.raft.transport;

import com.alipay.sofa.jraft.rpc.InvokeCallback;
import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesRequest;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.message.PeerChannel;
import io.millrace.protocol.message.PeerPingRequest;
import io.millrace.protocol.message.RaftHeader;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.HashedWheelTimer;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connections of this broker to the other ones: two to each, one for votes, heartbeats and commands
 * and one for log entries, so that a vote never waits behind megabytes of entries.
 *
 * <p>Heartbeats of all groups to one broker travel together ({@link HeartbeatSender}).
 *
 * <p>Owns: the outgoing connections and their timers. Incoming requests of peers arrive at the
 * broker's server and are handled by {@link PeerRequests}.
 *
 * <p>Threads: every method may be called from any thread and none blocks: connections are opened in
 * the background and reopened with a growing pause, and a request to a peer that is not connected
 * fails at once.
 *
 * <p>Errors: each request ends exactly once, in its response, a failed or lost connection, or its
 * timeout.
 */
public final class PeerNetwork implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(PeerNetwork.class);

  private static final long LATE_ANSWER_TIMEOUT_MILLIS = 2000;

  /** Where a broker listens now, or null while nobody has told us. */
  public interface AddressBook {
    InetSocketAddress addressOf(int brokerId);
  }

  /**
   * Who this broker is to its peers.
   *
   * @param advertised where it listens, asked at each handshake because a port can be chosen late
   */
  public record LocalIdentity(
      String clusterId, int brokerId, String incarnation, Supplier<InetSocketAddress> advertised) {}

  /** Says whether the broker that answers at an address may be talked to. */
  @FunctionalInterface
  public interface PeerCheck {
    /** Why not, or null. */
    String refusal(int brokerId, String incarnation);
  }

  /**
   * End of one request; exactly one method is called, once, on the request's event loop or timer.
   */
  public interface ResponseHandler {
    /** Takes ownership of the frame. */
    void onResponse(Frame frame);

    /** The request was perhaps sent, perhaps not; it will get no response. */
    void onFailure(PeerRequestException failure);
  }

  private final LocalIdentity identity;
  private final AddressBook addresses;
  private final PeerCheck check;
  private final PeerCredentials credentials;
  private final EventLoopGroup eventLoops;
  private final EventLoop controlLoop;
  private final HashedWheelTimer timer;
  private final int maxFrameBytes;
  private final Map<Integer, Peer> peers = new ConcurrentHashMap<>();
  private final List<IntConsumer> connectListeners = new CopyOnWriteArrayList<>();
  private final NetworkFaults faults;
  private final LateAnswers lateAnswers = new LateAnswersByControl();
  private volatile FailureDetector detector;
  private volatile boolean closed;

  private record Peer(PeerConnection control, PeerConnection data, HeartbeatSender heartbeats) {
    PeerConnection get(PeerChannel channel) {
      return channel == PeerChannel.PEER_DATA ? data : control;
    }
  }

  public PeerNetwork(
      LocalIdentity identity,
      AddressBook addresses,
      PeerCheck check,
      PeerCredentials credentials,
      EventLoopGroup eventLoops,
      HashedWheelTimer timer,
      NetworkFaults faults,
      int maxFrameBytes) {
    this.identity = identity;
    this.addresses = addresses;
    this.check = check;
    this.credentials = credentials;
    this.eventLoops = eventLoops;
    this.controlLoop = eventLoops.next();
    this.timer = timer;
    this.faults = faults;
    this.maxFrameBytes = maxFrameBytes;
  }

  public LocalIdentity identity() {
    return identity;
  }

  public NetworkFaults faults() {
    return faults;
  }

  /** True if this broker keeps connections to that one, up or not. */
  public boolean hasPeer(int brokerId) {
    return peers.containsKey(brokerId);
  }

  /** Starts to keep connections to a broker; idempotent, ignored for this broker itself. */
  public void addPeer(int brokerId) {
    if (brokerId == identity.brokerId() || closed) {
      return;
    }
    peers.computeIfAbsent(
        brokerId,
        id -> {
          // One event loop for all that is small: a tick of the detector wakes one thread.
          PeerConnection control = newConnection(id, PeerChannel.PEER_CONTROL, controlLoop);
          PeerConnection data = newConnection(id, PeerChannel.PEER_DATA, eventLoops.next());
          control.start();
          data.start();
          return new Peer(control, data, new HeartbeatSender(linkOf(control), eventLoops));
        });
  }

  private static HeartbeatSender.Link linkOf(PeerConnection control) {
    return (header, payload, timeoutMillis, handler) ->
        control.send(
            ApiKind.RAFT, header, payload, TimeUnit.MILLISECONDS.toNanos(timeoutMillis), handler);
  }

  private PeerConnection newConnection(int brokerId, PeerChannel channel, EventLoop eventLoop) {
    return new PeerConnection(
        identity,
        brokerId,
        channel,
        addresses,
        check,
        credentials,
        eventLoop,
        timer,
        faults,
        maxFrameBytes,
        new PeerConnection.Events() {
          @Override
          public void ready() {
            connected(brokerId, channel);
          }

          @Override
          public void refused() {
            FailureDetector watching = detector;
            if (watching != null && channel == PeerChannel.PEER_CONTROL) {
              watching.refused(brokerId);
            }
          }

          @Override
          public void heard() {
            PeerNetwork.this.heard(brokerId);
          }
        });
  }

  private void connected(int brokerId, PeerChannel channel) {
    FailureDetector watching = detector;
    if (watching != null && channel == PeerChannel.PEER_CONTROL) {
      watching.connected(brokerId);
    }
    if (isConnected(brokerId)) {
      connectListeners.forEach(listener -> listener.accept(brokerId));
    }
  }

  /** Tells the detector of what happens on the connections from now on. */
  void watch(FailureDetector newDetector) {
    detector = newDetector;
  }

  /** Sends a ping, which nobody answers; lost without a word if there is no connection. */
  void ping(int brokerId, PeerPingRequest ping) {
    Peer peer = peers.get(brokerId);
    if (peer != null) {
      peer.control().tell(ApiKind.PEER_PING, ping);
    }
  }

  /** A ping of this broker came. */
  public void pinged(int brokerId, PeerPingRequest ping) {
    FailureDetector watching = detector;
    if (watching != null) {
      watching.pinged(
          brokerId, ping.getLife(), ping.getSentNanos(), ping.getSeenLife(), ping.getSeenNanos());
    }
  }

  /**
   * True if that broker cannot have taken this one for dead: both connections are up, and it
   * answered a ping so lately that its failure detector still waits.
   */
  public boolean hasContact(int brokerId) {
    FailureDetector watching = detector;
    return watching != null && isConnected(brokerId) && watching.hasContact(brokerId);
  }

  /** A request or a response of this broker came, on whichever connection. */
  public void heard(int brokerId) {
    FailureDetector watching = detector;
    if (watching != null) {
      watching.heard(brokerId);
    }
  }

  /** Tells of every peer whose two connections are up again; called on an event loop. */
  public void addConnectListener(IntConsumer listener) {
    connectListeners.add(listener);
  }

  public void removeConnectListener(IntConsumer listener) {
    connectListeners.remove(listener);
  }

  /** True if both connections to the broker are up. */
  public boolean isConnected(int brokerId) {
    Peer peer = peers.get(brokerId);
    return peer != null && peer.control().isReady() && peer.data().isReady();
  }

  /**
   * Sends one request.
   *
   * @param payload consumed, or null
   * @throws PeerRequestException if the request was certainly not sent; the handler is not called
   */
  public void request(
      int brokerId,
      PeerChannel channel,
      ApiKind kind,
      Message header,
      ByteBuf payload,
      long timeoutMillis,
      ResponseHandler handler)
      throws PeerRequestException {
    Peer peer = peers.get(brokerId);
    if (peer == null) {
      if (payload != null) {
        payload.release();
      }
      throw PeerRequestException.notSent("broker " + brokerId + " is no known peer");
    }
    peer.get(channel)
        .send(kind, header, payload, TimeUnit.MILLISECONDS.toNanos(timeoutMillis), handler);
  }

  /** Sends a heartbeat with those of other groups; its callback is always called, later. */
  void heartbeat(
      int brokerId, AppendEntriesRequest request, InvokeCallback callback, long timeoutMillis)
      throws PeerRequestException {
    Peer peer = peers.get(brokerId);
    if (peer == null) {
      throw PeerRequestException.notSent("broker " + brokerId + " is no known peer");
    }
    peer.heartbeats().send(request, callback, timeoutMillis);
  }

  /** How answers to heartbeats travel that missed the response to their frame. */
  public LateAnswers lateAnswers() {
    return lateAnswers;
  }

  private final class LateAnswersByControl implements LateAnswers {

    @Override
    public void send(int brokerId, ByteBuf payload) {
      RaftHeader header = RaftHeader.newBuilder().setType(HeartbeatBatch.ANSWERS).build();
      try {
        request(
            brokerId,
            PeerChannel.PEER_CONTROL,
            ApiKind.RAFT,
            header,
            payload,
            LATE_ANSWER_TIMEOUT_MILLIS,
            new ResponseHandler() {
              @Override
              public void onResponse(Frame frame) {
                frame.release();
              }

              @Override
              public void onFailure(PeerRequestException failure) {
                LOG.debug("late answers to broker {}: {}", brokerId, failure.getMessage());
              }
            });
      } catch (PeerRequestException e) {
        LOG.debug("late answers to broker {} are not sent: {}", brokerId, e.getMessage());
      }
    }

    @Override
    public void take(int brokerId, ByteBuf payload) throws InvalidProtocolBufferException {
      Peer peer = peers.get(brokerId);
      if (peer != null) {
        peer.heartbeats().answered(HeartbeatBatch.decode(payload));
      }
    }
  }

  /** Looks for changed addresses now instead of after the pause between attempts. */
  public void addressesChanged() {
    peers
        .values()
        .forEach(
            p -> {
              p.control().reconnectNow();
              p.data().reconnectNow();
            });
  }

  /** Closes all connections; requests in flight fail. The event loops belong to the caller. */
  @Override
  public void close() {
    closed = true;
    peers
        .values()
        .forEach(
            p -> {
              p.heartbeats().close();
              p.control().close();
              p.data().close();
            });
  }
}
