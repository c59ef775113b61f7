package io.millrace.broker.net;

import io.millrace.broker.api.Connection;
import io.millrace.broker.raft.transport.NetworkFaults;
import io.millrace.broker.raft.transport.PeerTls;
import io.millrace.broker.raft.transport.PeerTranscript;
import io.millrace.protocol.message.PeerChannel;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.ssl.SslHandler;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * State of one accepted connection: how far its handshake is, why it is not read at the moment,
 * what it still has to take.
 *
 * <p>Back-pressure: the socket is not read while one of the pause reasons holds: too many
 * unanswered requests, too many response bytes not taken (of this connection, or of all while this
 * one has some), no budget for the frame that has begun, or the move to the peers' event loops.
 *
 * <p>Threads: its event loop, except where stated. Moving to another event loop: nothing is read
 * and nothing written from {@link #acceptPeer} until the channel is registered there.
 */
final class NettyConnection implements Connection, ResponseWriter.Listener {

  // Pause reasons, bits.
  static final int OUTPUT = 1;
  static final int REQUESTS = 2;
  static final int FRAME_BUDGET = 4;
  static final int MOVING = 8;

  /**
   * After the last response the other side may still be sending; reading it keeps TCP from reset.
   */
  private static final int LINGER_MILLIS = 1_000;

  private static final int LAST_RESPONSE_MILLIS = 5_000;

  private final Channel channel;
  private final NetworkConfig config;
  private final NetworkCounters counters;
  private final NetworkBudget outBudget;
  private final EventLoopGroup peerLoops;
  private final ResponseWriter writer;
  private final String remote;
  private final NetworkFaults faults;
  private final boolean overLimit;
  private final long openedNanos = System.nanoTime();

  private volatile Role role = Role.NEW;
  private volatile int peerBrokerId;
  private volatile boolean closing;
  private volatile int pauseReasons;
  private volatile long receivingSinceNanos;
  private volatile boolean receiving;
  private volatile int unanswered;
  private Set<Runnable> closeActions = new HashSet<>();
  private PeerTranscript challenge;

  /**
   * @param overLimit there are enough connections: answer a client's HELLO with a refusal
   */
  NettyConnection(
      Channel channel,
      NetworkConfig config,
      NetworkCounters counters,
      NetworkBudget outBudget,
      EventLoopGroup peerLoops,
      NetworkFaults faults,
      boolean overLimit) {
    this.channel = channel;
    this.config = config;
    this.counters = counters;
    this.outBudget = outBudget;
    this.peerLoops = peerLoops;
    this.faults = faults;
    this.overLimit = overLimit;
    this.remote = String.valueOf(channel.remoteAddress()).replaceFirst("^/", "");
    this.writer = new ResponseWriter(channel, outBudget, counters, this);
    channel.closeFuture().addListener(closed -> runCloseActions());
  }

  // -------------------------------------------------------------------------- as handlers see it

  @Override
  public String remote() {
    return remote;
  }

  @Override
  public Role role() {
    return role;
  }

  @Override
  public int peerBrokerId() {
    return peerBrokerId;
  }

  @Override
  public void acceptClient(String clientName) {
    if (role == Role.NEW) {
      role = Role.CLIENT;
    }
  }

  @Override
  public Set<String> certificateNames() {
    SslHandler tls = channel.pipeline().get(SslHandler.class);
    return tls == null ? null : PeerTls.peerNames(tls);
  }

  @Override
  public void challengePeer(PeerTranscript newChallenge) {
    challenge = newChallenge;
    role = Role.CHALLENGED;
  }

  @Override
  public PeerTranscript takeChallenge() {
    PeerTranscript taken = challenge;
    challenge = null;
    return taken;
  }

  @Override
  public void acceptPeer(int brokerId, PeerChannel peerChannel) {
    peerBrokerId = brokerId;
    role = Role.PEER;
    writer.hold();
    pause(MOVING);
    // Not from inside a read: the decoder may still hold bytes for this event loop.
    channel.eventLoop().execute(this::moveToPeerLoop);
  }

  private void moveToPeerLoop() {
    channel
        .deregister()
        .addListener(
            left -> {
              if (!left.isSuccess()) {
                channel.close();
                return;
              }
              peerLoops
                  .register(channel)
                  .addListener(
                      (ChannelFuture arrived) -> {
                        if (arrived.isSuccess()) {
                          writer.resume();
                          resume(MOVING);
                        } else {
                          channel.close();
                        }
                      });
            });
  }

  @Override
  public Runnable onClose(Runnable action) {
    synchronized (this) {
      if (closeActions != null) {
        closeActions.add(action);
        return () -> forget(action);
      }
    }
    action.run();
    return () -> {};
  }

  private synchronized void forget(Runnable action) {
    if (closeActions != null) {
      closeActions.remove(action);
    }
  }

  private void runCloseActions() {
    Set<Runnable> actions;
    synchronized (this) {
      actions = closeActions;
      closeActions = null;
    }
    for (Runnable action : actions) {
      try {
        action.run();
      } catch (RuntimeException fault) {
        counters.errors.record("an action at the close of a connection", fault);
      }
    }
  }

  // ------------------------------------------------------------------------------------- requests

  Channel channel() {
    return channel;
  }

  NetworkCounters counters() {
    return counters;
  }

  boolean isOverLimit() {
    return overLimit;
  }

  /** Frames before the handshake are small; asked by the decoder for each frame. */
  int maxFrameBytes() {
    return role.isAdmitted() ? config.maxFrameBytes() : NetworkConfig.HANDSHAKE_FRAME_BYTES;
  }

  /** A request goes to its handler. Peers bound their own windows and are not counted. */
  void requestStarted() {
    unanswered++;
    if (role != Role.PEER && unanswered >= config.requestsPerConnection()) {
      pause(REQUESTS);
    }
  }

  /** A client has a request unanswered, or an answer that it has not taken; any thread. */
  boolean owesClient() {
    return role != Role.PEER && (unanswered > 0 || writer.pendingBytes() > 0);
  }

  /** Requests without an answer; any thread. */
  int unanswered() {
    return unanswered;
  }

  /** Any thread. Takes over the response; a commanded fault can swallow it. */
  void send(Outgoing response) {
    if (role == Role.PEER && faults.losesTo(peerBrokerId)) {
      response.discard();
      runOnEventLoop(this::answered);
      return;
    }
    writer.send(response);
    if (channel.eventLoop().inEventLoop()) {
      pendingChanged(); // Before the next request of the same read is looked at.
    }
  }

  /** A request has no answer; any thread. */
  void noAnswer() {
    runOnEventLoop(this::answered);
  }

  @Override
  public void answered() {
    unanswered--;
    if (unanswered <= config.requestsPerConnection() * 3 / 4) {
      resume(REQUESTS);
    }
  }

  // ------------------------------------------------------------------------------- back-pressure

  void pause(int reason) {
    if ((pauseReasons & reason) == 0 && !closing) {
      counters.pauses.increment();
      pauseReasons |= reason;
      channel.config().setAutoRead(false);
    }
  }

  private void resume(int reason) {
    if ((pauseReasons & reason) != 0) {
      pauseReasons &= ~reason;
      if (pauseReasons == 0) {
        receivingSinceNanos = System.nanoTime();
        channel.config().setAutoRead(true);
      }
    }
  }

  /** The frame that waited for memory may be read on; any thread. */
  void frameGranted() {
    runOnEventLoop(() -> resume(FRAME_BUDGET));
  }

  private void runOnEventLoop(Runnable task) {
    try {
      channel.eventLoop().execute(task);
    } catch (RejectedExecutionException stopped) {
      channel.close(); // The event loops ended, and the channel with them.
    }
  }

  @Override
  public void pendingChanged() {
    long pending = writer.pendingBytes();
    boolean broker = outBudget.isOver();
    if (pending >= config.outBytesPerConnection() || broker && pending > 0) {
      pause(OUTPUT);
    } else if (pending <= config.outBytesPerConnection() / 2) {
      resume(OUTPUT);
    }
  }

  boolean isPaused() {
    return pauseReasons != 0;
  }

  long pendingBytes() {
    return writer.pendingBytes();
  }

  // ------------------------------------------------------------------------------------ its end

  /** After each read: whether half a frame is waiting for its rest. */
  void receiving(boolean halfAFrame) {
    receiving = halfAFrame;
    receivingSinceNanos = System.nanoTime();
  }

  /** Called about once a second by another thread; closes what is overdue. */
  void checkTimeouts(long nowNanos) {
    if (closing) {
      return;
    }
    long stallNanos = TimeUnit.MILLISECONDS.toNanos(config.stallMillis());
    if (!role.isAdmitted()
        && nowNanos - openedNanos > TimeUnit.MILLISECONDS.toNanos(config.handshakeMillis())) {
      close(CloseReason.HANDSHAKE_TIMEOUT);
    } else if (receiving && !isPaused() && nowNanos - receivingSinceNanos > stallNanos) {
      close(CloseReason.STALLED_REQUEST);
    } else if (writer.pendingBytes() > 0 && nowNanos - writer.progressNanos() > stallNanos) {
      close(CloseReason.STALLED_RESPONSE);
    }
  }

  /** The connection answers its last response, or is closed; what still arrives is dropped. */
  boolean isClosing() {
    return closing;
  }

  /** Sends a last response and closes; nothing that arrives from now on is looked at. */
  void closeAfter(Outgoing response) {
    closing = true;
    send(response);
    runOnEventLoop(
        () -> {
          // Read on, into the void: a reset would overtake the response.
          pauseReasons = 0;
          channel.config().setAutoRead(true);
          // The other side may never take the response.
          closeLater(LAST_RESPONSE_MILLIS);
        });
  }

  private void closeLater(int millis) {
    channel.eventLoop().schedule(() -> channel.close(), millis, TimeUnit.MILLISECONDS);
  }

  @Override
  public void closeAfterLast(CloseReason reason) {
    counters.closed(reason);
    if (channel instanceof SocketChannel socket) {
      socket.shutdownOutput();
      closeLater(LINGER_MILLIS);
    } else {
      channel.close();
    }
  }

  /** Closes at once; any thread. */
  void close(CloseReason reason) {
    if (!closing) {
      closing = true;
      counters.closed(reason);
    }
    channel.close();
  }

  @Override
  public void writeFailed(Throwable cause) {
    if (channel.isOpen()) {
      close(CloseReason.IO_ERROR);
    }
  }
}
