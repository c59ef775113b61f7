package io.millrace.broker.raft.transport;

import com.google.protobuf.Message;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.frame.FrameDecoder;
import io.millrace.protocol.frame.Frames;
import io.millrace.protocol.message.PeerChannel;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.flush.FlushConsolidationHandler;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One outgoing connection to one peer, kept open for as long as this broker runs.
 *
 * <p>Owns: the channel and the requests in flight on it. Buffers: {@link #send} consumes its
 * payload whatever happens; a response frame belongs to the request's handler.
 *
 * <p>Threads: state changes on its event loop; {@link #send} from any thread, never blocking.
 */
final class PeerConnection {

  private static final Logger LOG = LoggerFactory.getLogger(PeerConnection.class);

  private static final int CONNECT_TIMEOUT_MILLIS = 1000;
  private static final int HANDSHAKE_TIMEOUT_MILLIS = 2000;
  private static final int HANDSHAKE_FRAME_BYTES = 4 * 1024;
  private static final int FIRST_PAUSE_MILLIS = 20;
  private static final int MAX_PAUSE_MILLIS = 500;

  /** Requests are small or bounded by the replicators' window; this only stops a runaway. */
  private static final int MAX_IN_FLIGHT = 65_536;

  /** What the owner wants to know; called on the event loop, must not block. */
  interface Events {
    void ready();

    /** Nobody listens at the address: the other process is not there. */
    void refused();

    /** A response came. */
    void heard();
  }

  private enum State {
    DISCONNECTED,
    CONNECTING,
    HANDSHAKING,
    READY,
    CLOSED
  }

  private final PeerNetwork.LocalIdentity identity;
  private final int brokerId;
  private final PeerChannel kindOfChannel;
  private final PeerNetwork.AddressBook addresses;
  private final PeerNetwork.PeerCheck check;
  private final PeerCredentials credentials;
  private final EventLoop eventLoop;
  private final HashedWheelTimer timer;
  private final NetworkFaults faults;
  private final int maxFrameBytes;
  private final Events events;
  private final AtomicInteger correlations = new AtomicInteger();
  private final Map<Integer, InFlight> inFlight = new ConcurrentHashMap<>();
  private volatile State state = State.DISCONNECTED;
  private volatile Channel channel;
  private int pauseMillis = FIRST_PAUSE_MILLIS;
  private volatile String lastFailure = "";
  private String loggedFailure = "";

  private static final class InFlight {
    final PeerNetwork.ResponseHandler handler;
    volatile Timeout timeout;

    InFlight(PeerNetwork.ResponseHandler handler) {
      this.handler = handler;
    }
  }

  PeerConnection(
      PeerNetwork.LocalIdentity identity,
      int brokerId,
      PeerChannel kindOfChannel,
      PeerNetwork.AddressBook addresses,
      PeerNetwork.PeerCheck check,
      PeerCredentials credentials,
      EventLoop eventLoop,
      HashedWheelTimer timer,
      NetworkFaults faults,
      int maxFrameBytes,
      Events events) {
    this.identity = identity;
    this.brokerId = brokerId;
    this.kindOfChannel = kindOfChannel;
    this.addresses = addresses;
    this.check = check;
    this.credentials = credentials;
    this.eventLoop = eventLoop;
    this.timer = timer;
    this.faults = faults;
    this.maxFrameBytes = maxFrameBytes;
    this.events = events;
  }

  void start() {
    eventLoop.execute(this::connect);
  }

  boolean isReady() {
    return state == State.READY;
  }

  /** Forgets the pause after failed attempts, for instance because the address changed. */
  void reconnectNow() {
    eventLoop.execute(
        () -> {
          pauseMillis = FIRST_PAUSE_MILLIS;
          connect();
        });
  }

  void close() {
    eventLoop.execute(
        () -> {
          transitionTo(State.CLOSED, "broker stops");
          Channel open = channel;
          if (open != null) {
            open.close();
          }
          failAll("the broker stops");
        });
  }

  /** Sends what has no answer, if the connection is up; whether it arrives nobody knows. */
  void tell(ApiKind kind, Message header) {
    Channel target = channel;
    if (state == State.READY && target != null && !faults.losesTo(brokerId)) {
      target.writeAndFlush(
          Frames.encode(target.alloc(), kind, false, correlations.incrementAndGet(), header, null),
          target.voidPromise());
    }
  }

  void send(
      ApiKind kind,
      Message header,
      ByteBuf payload,
      long timeoutNanos,
      PeerNetwork.ResponseHandler handler)
      throws PeerRequestException {
    Channel target = channel;
    if (state != State.READY || target == null) {
      release(payload);
      throw PeerRequestException.notSent("not connected to broker " + brokerId);
    }
    if (inFlight.size() >= MAX_IN_FLIGHT) {
      release(payload);
      throw PeerRequestException.notSent(
          inFlight.size() + " requests to broker " + brokerId + " are unanswered already");
    }
    write(target, kind, header, payload, timeoutNanos, new ContainedHandler(brokerId, handler));
  }

  private void write(
      Channel target,
      ApiKind kind,
      Message header,
      ByteBuf payload,
      long timeoutNanos,
      PeerNetwork.ResponseHandler handler) {
    int correlation = correlations.incrementAndGet();
    InFlight request = new InFlight(handler);
    inFlight.put(correlation, request);
    request.timeout =
        timer.newTimeout(
            t -> fail(correlation, PeerRequestException.timedOut(timeoutText(kind, timeoutNanos))),
            timeoutNanos,
            TimeUnit.NANOSECONDS);
    if (faults.losesTo(brokerId)) {
      release(payload);
      return;
    }
    ByteBuf frame = Frames.encode(target.alloc(), kind, false, correlation, header, payload);
    target
        .writeAndFlush(frame)
        .addListener(
            written -> {
              if (!written.isSuccess()) {
                fail(
                    correlation,
                    PeerRequestException.lost(
                        "write to broker " + brokerId + " failed: " + written.cause()));
              }
            });
    // The channel can have died between the check of the state and the entry into the map.
    if (!target.isActive()) {
      fail(correlation, PeerRequestException.lost("connection to broker " + brokerId + " closed"));
    }
  }

  private String timeoutText(ApiKind kind, long timeoutNanos) {
    return kind
        + " to broker "
        + brokerId
        + " unanswered after "
        + TimeUnit.NANOSECONDS.toMillis(timeoutNanos)
        + " ms";
  }

  private void fail(int correlation, PeerRequestException failure) {
    InFlight request = inFlight.remove(correlation);
    if (request != null) {
      cancelTimeout(request);
      request.handler.onFailure(failure);
    }
  }

  private void failAll(String why) {
    for (Integer correlation : inFlight.keySet()) {
      fail(correlation, PeerRequestException.lost(why));
    }
  }

  private static void cancelTimeout(InFlight request) {
    Timeout timeout = request.timeout;
    if (timeout != null) {
      timeout.cancel();
    }
  }

  private static void release(ByteBuf payload) {
    if (payload != null) {
      payload.release();
    }
  }

  // ------------------------------------------------------------------ connecting, on the event
  // loop

  private void connect() {
    if (state != State.DISCONNECTED) {
      return;
    }
    if (credentials.secret() == null) {
      retryLater("this broker has no secret of a cluster; set cluster.secret.file");
      return;
    }
    InetSocketAddress address = addresses.addressOf(brokerId);
    if (address == null) {
      retryLater("its address is not known yet");
      return;
    }
    transitionTo(State.CONNECTING, address.toString());
    lastFailure = "";
    Bootstrap bootstrap =
        new Bootstrap()
            .group(eventLoop)
            .channel(NioSocketChannel.class)
            .option(ChannelOption.TCP_NODELAY, true)
            .option(ChannelOption.SO_KEEPALIVE, true)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MILLIS)
            .handler(new Initializer());
    bootstrap
        .connect(address)
        .addListener(
            (ChannelFuture connected) -> {
              if (!connected.isSuccess()) {
                transitionTo(State.DISCONNECTED, "connect failed");
                if (isRefusal(connected.cause())) {
                  events.refused();
                }
                retryLater(String.valueOf(connected.cause().getMessage()));
              } else if (state == State.CLOSED) {
                connected.channel().close();
              } else {
                handshake(connected.channel());
              }
            });
  }

  /** A connect that times out is a ConnectException as well, and says less. */
  private static boolean isRefusal(Throwable cause) {
    return cause instanceof ConnectException && !(cause instanceof ConnectTimeoutException);
  }

  private void handshake(Channel opened) {
    channel = opened;
    transitionTo(State.HANDSHAKING, opened.remoteAddress().toString());
    long timeoutNanos = TimeUnit.MILLISECONDS.toNanos(HANDSHAKE_TIMEOUT_MILLIS);
    new OutgoingHandshake(identity, brokerId, kindOfChannel, credentials.secret(), check)
        .begin(
            opened.pipeline().get(SslHandler.class),
            (kind, request, handler) -> write(opened, kind, request, null, timeoutNanos, handler),
            refusal -> {
              if (refusal == null) {
                ready(opened);
              } else {
                refuse(opened, refusal);
              }
            });
  }

  private void refuse(Channel opened, String why) {
    noteFailure(why);
    opened.close();
  }

  /** The first reason is the cause; what follows from it is not told. */
  private void noteFailure(String why) {
    if (lastFailure.isEmpty()) {
      lastFailure = why;
    }
  }

  private void ready(Channel opened) {
    pauseMillis = FIRST_PAUSE_MILLIS;
    lastFailure = "";
    loggedFailure = "";
    transitionTo(State.READY, "handshake done");
    if (kindOfChannel == PeerChannel.PEER_CONTROL) {
      LOG.info("connected to broker {} at {}", brokerId, opened.remoteAddress());
    }
    events.ready();
  }

  private void disconnected(Channel gone) {
    if (channel != gone) {
      return;
    }
    channel = null;
    failAll("connection to broker " + brokerId + " was lost");
    if (state != State.CLOSED) {
      boolean wasReady = state == State.READY;
      if (wasReady && kindOfChannel == PeerChannel.PEER_CONTROL) {
        LOG.warn("lost the connection to broker {}", brokerId);
      }
      transitionTo(State.DISCONNECTED, "connection lost");
      retryLater(wasReady ? "connection lost" : lastFailure);
    }
  }

  private void retryLater(String why) {
    // Not the first attempts: brokers that start together refuse each other for a moment.
    if (pauseMillis == MAX_PAUSE_MILLIS && !why.isEmpty() && !why.equals(loggedFailure)) {
      loggedFailure = why;
      LOG.info("broker {} ({}) is not reachable: {}", brokerId, kindOfChannel, why);
    }
    int pause = pauseMillis;
    pauseMillis = Math.min(MAX_PAUSE_MILLIS, pauseMillis * 2);
    eventLoop.schedule(this::connect, pause, TimeUnit.MILLISECONDS);
  }

  private void transitionTo(State next, String why) {
    if (state == State.CLOSED) {
      return;
    }
    if (LOG.isDebugEnabled()) {
      LOG.debug("broker {} {}: {} -> {} ({})", brokerId, kindOfChannel, state, next, why);
    }
    state = next;
  }

  private final class Initializer extends ChannelInitializer<SocketChannel> {
    @Override
    protected void initChannel(SocketChannel created) {
      if (credentials.requiresTls()) {
        SslHandler tls = credentials.tls().newClient(created.alloc());
        tls.setHandshakeTimeoutMillis(HANDSHAKE_TIMEOUT_MILLIS);
        created.pipeline().addLast(tls);
      }
      created
          .pipeline()
          .addLast(new FlushConsolidationHandler(64, true))
          // Until it has proven who it is, the other side is a stranger too.
          .addLast(new FrameDecoder(() -> isReady() ? maxFrameBytes : HANDSHAKE_FRAME_BYTES))
          .addLast(new PeerFaultHandler(faults, () -> brokerId))
          .addLast(new Responses());
    }
  }

  private final class Responses extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      Frame frame = (Frame) message;
      if (!frame.isResponse()) {
        frame.release();
        return;
      }
      if (isReady()) {
        events.heard(); // Not of a stranger at that address.
      }
      InFlight request = inFlight.remove(frame.correlation());
      if (request == null) {
        frame.release(); // It timed out meanwhile.
        return;
      }
      cancelTimeout(request);
      request.handler.onResponse(frame);
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      disconnected(context.channel());
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      noteFailure(PeerTls.rootCause(cause));
      context.close();
    }
  }
}
