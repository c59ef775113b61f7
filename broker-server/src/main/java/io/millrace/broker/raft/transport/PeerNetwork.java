package io.millrace.broker.raft.transport;

import com.google.protobuf.Message;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.message.PeerChannel;
import io.netty.buffer.ByteBuf;
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

/**
 * Connections of this broker to the other ones: two to each, one for votes, heartbeats and commands
 * and one for log entries, so that a vote never waits behind megabytes of entries.
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
  private final HashedWheelTimer timer;
  private final int maxFrameBytes;
  private final Map<Integer, Peer> peers = new ConcurrentHashMap<>();
  private final List<IntConsumer> connectListeners = new CopyOnWriteArrayList<>();
  private final NetworkFaults faults;
  private volatile FailureDetector detector;
  private volatile boolean closed;

  private record Peer(PeerConnection control, PeerConnection data) {
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
          PeerConnection control = newConnection(id, PeerChannel.PEER_CONTROL);
          PeerConnection data = newConnection(id, PeerChannel.PEER_DATA);
          control.start();
          data.start();
          return new Peer(control, data);
        });
  }

  private PeerConnection newConnection(int brokerId, PeerChannel channel) {
    return new PeerConnection(
        identity,
        brokerId,
        channel,
        addresses,
        check,
        credentials,
        eventLoops.next(),
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
              p.control().close();
              p.data().close();
            });
  }
}
