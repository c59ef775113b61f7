package io.millrace.broker.net;

import io.millrace.broker.api.Handlers;
import io.millrace.broker.raft.transport.NetworkFaults;
import io.millrace.broker.raft.transport.PeerFaultHandler;
import io.millrace.broker.raft.transport.PeerTls;
import io.millrace.protocol.frame.FrameDecoder;
import io.millrace.protocol.message.Gauge;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.flow.FlowControlHandler;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The one port of a broker, for clients and other brokers.
 *
 * <p>Owns: the listening socket, the accepted connections, three groups of event loops (accept and
 * timeouts; clients; peers), and the budgets of bytes in and out.
 *
 * <p>Threads: {@link #start} and {@link #close} by the broker's main thread, the rest any. A
 * connection begins on a client loop and moves to a peer loop when it has proven to be a broker, so
 * that no client delays a vote.
 *
 * <p>Errors: {@link IOException} with one line when the address cannot be bound.
 */
public final class NettyServer implements AutoCloseable {

  private static final int BACKLOG = 1024;
  private static final int MAX_SWEEP_MILLIS = 1_000;
  private static final int FIRST_READ_BYTES = 2 * 1024;
  private static final int MAX_READ_BYTES = 64 * 1024;
  private static final int CLOSE_SECONDS = 5;
  private static final long DRAIN_POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** Connections beyond max.connections that live until their HELLO, to be told; also peers. */
  private static final int SURPLUS_CONNECTIONS = 64;

  private final NetworkConfig config;
  private final Handlers handlers;
  private final NetworkCounters counters;
  private final NetworkFaults faults;
  private final PeerTls peerTls;
  private final ByteBufAllocator allocator;
  private final FrameBudget clientInBudget;
  private final FrameBudget peerInBudget;
  private final NetworkBudget outBudget;
  private final EventLoopGroup acceptLoop;
  private final EventLoopGroup clientLoops;
  private final EventLoopGroup peerLoops;
  private final Set<NettyConnection> connections = ConcurrentHashMap.newKeySet();
  private volatile boolean shuttingDown;
  private volatile Channel listening;

  /**
   * @param name part of the names of the threads
   */
  public NettyServer(
      NetworkConfig config, Handlers handlers, NetworkCounters counters, String name) {
    this(config, handlers, counters, name, new NetworkFaults(), null);
  }

  /**
   * @param faults in the network to other brokers, that somebody commands
   * @param peerTls for connections that begin with TLS; null = such a connection is garbage
   */
  public NettyServer(
      NetworkConfig config,
      Handlers handlers,
      NetworkCounters counters,
      String name,
      NetworkFaults faults,
      PeerTls peerTls) {
    this(config, handlers, counters, name, faults, peerTls, ByteBufAllocator.DEFAULT);
  }

  NettyServer(
      NetworkConfig config,
      Handlers handlers,
      NetworkCounters counters,
      String name,
      NetworkFaults faults,
      PeerTls peerTls,
      ByteBufAllocator allocator) {
    this.peerTls = peerTls;
    this.allocator = allocator;
    this.config = config;
    this.handlers = handlers;
    this.counters = counters;
    this.faults = faults;
    this.clientInBudget = new FrameBudget(config.inBytes());
    this.peerInBudget = new FrameBudget(config.inBytes());
    this.outBudget = new NetworkBudget("network.out.bytes", config.outBytes());
    this.acceptLoop = loops(1, "net-accept-" + name);
    this.clientLoops = loops(config.clientThreads(), "net-client-" + name);
    this.peerLoops = loops(config.peerThreads(), "net-peer-" + name);
  }

  private static EventLoopGroup loops(int threads, String name) {
    return new MultiThreadIoEventLoopGroup(
        threads, new DefaultThreadFactory(name), NioIoHandler.newFactory());
  }

  /** Binds and accepts. Returns the bound address: the port is the real one. */
  public InetSocketAddress start(InetSocketAddress address) throws IOException {
    ServerBootstrap bootstrap =
        new ServerBootstrap()
            .group(acceptLoop, clientLoops)
            .channel(NioServerSocketChannel.class)
            .option(ChannelOption.SO_REUSEADDR, true)
            .option(ChannelOption.SO_BACKLOG, BACKLOG)
            .childOption(ChannelOption.ALLOCATOR, allocator)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childOption(ChannelOption.SO_KEEPALIVE, true)
            .childOption(
                ChannelOption.RECVBUF_ALLOCATOR,
                new AdaptiveRecvByteBufAllocator(256, FIRST_READ_BYTES, MAX_READ_BYTES))
            .childHandler(new Initializer());
    ChannelFuture bound = bootstrap.bind(address).awaitUninterruptibly();
    if (!bound.isSuccess()) {
      throw new IOException(
          "cannot listen on "
              + address.getHostString()
              + ":"
              + address.getPort()
              + ": "
              + bound.cause().getMessage()
              + "; stop what uses that address, or set another listen",
          bound.cause());
    }
    listening = bound.channel();
    int sweepMillis =
        Math.max(
            10,
            Math.min(
                MAX_SWEEP_MILLIS, Math.min(config.handshakeMillis(), config.stallMillis()) / 4));
    acceptLoop.scheduleWithFixedDelay(
        this::checkTimeouts, sweepMillis, sweepMillis, TimeUnit.MILLISECONDS);
    return (InetSocketAddress) bound.channel().localAddress();
  }

  /** Client requests are answered with SHUTTING_DOWN from now on; brokers are still served. */
  public void beginShutdown() {
    shuttingDown = true;
  }

  /** Unanswered requests of all connections. */
  public int unanswered() {
    return connections.stream().mapToInt(NettyConnection::unanswered).sum();
  }

  /**
   * Begins the shutdown and waits until every request of a client is answered and every answer
   * taken, at most so long. False: something was still open.
   */
  public boolean drain(long maxMillis) {
    beginShutdown();
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(maxMillis);
    while (connections.stream().anyMatch(NettyConnection::owesClient)) {
      if (System.nanoTime() - deadline >= 0) {
        return false;
      }
      LockSupport.parkNanos(DRAIN_POLL_NANOS);
    }
    return true;
  }

  public int connectionCount() {
    return connections.size();
  }

  public NetworkCounters counters() {
    return counters;
  }

  /** Budgets and counters for the broker's status. */
  public List<Gauge> gauges() {
    List<Gauge> gauges = new ArrayList<>();
    gauges.add(
        NetworkCounters.gauge("net.connections", connections.size(), config.maxConnections()));
    gauges.add(
        NetworkCounters.gauge("network.in.bytes", clientInBudget.used(), clientInBudget.limit()));
    gauges.add(
        NetworkCounters.gauge("network.in.peer.bytes", peerInBudget.used(), peerInBudget.limit()));
    gauges.add(NetworkCounters.gauge(outBudget.name(), outBudget.used(), outBudget.limit()));
    gauges.add(NetworkCounters.gauge("net.unanswered", unanswered(), 0));
    gauges.addAll(counters.gauges());
    return gauges;
  }

  /** Stops listening, closes every connection and ends the event loops. */
  @Override
  public void close() {
    shuttingDown = true;
    if (listening != null) {
      listening.close().awaitUninterruptibly(CLOSE_SECONDS, TimeUnit.SECONDS);
    }
    connections.forEach(connection -> connection.close(CloseReason.SHUTDOWN));
    List<EventLoopGroup> groups = List.of(acceptLoop, clientLoops, peerLoops);
    groups.forEach(group -> group.shutdownGracefully(0, CLOSE_SECONDS, TimeUnit.SECONDS));
    groups.forEach(
        group -> group.terminationFuture().awaitUninterruptibly(CLOSE_SECONDS, TimeUnit.SECONDS));
  }

  private void checkTimeouts() {
    long now = System.nanoTime();
    connections.forEach(connection -> connection.checkTimeouts(now));
  }

  private final class Initializer extends ChannelInitializer<SocketChannel> {
    @Override
    protected void initChannel(SocketChannel channel) {
      counters.accepted.increment();
      int open = connections.size();
      if (open >= config.maxConnections() + SURPLUS_CONNECTIONS) {
        counters.closed(CloseReason.TOO_MANY_CONNECTIONS);
        channel.close();
        return;
      }
      NettyConnection connection =
          new NettyConnection(
              channel,
              config,
              counters,
              outBudget,
              peerLoops,
              faults,
              open >= config.maxConnections());
      connections.add(connection);
      channel.closeFuture().addListener(closed -> connections.remove(connection));
      addHandlers(channel, connection);
    }
  }

  void addHandlers(Channel channel, NettyConnection connection) {
    FrameDecoder decoder = new FrameDecoder(connection::maxFrameBytes);
    if (peerTls != null) {
      channel.pipeline().addLast(new TlsDetector(peerTls));
    }
    channel
        .pipeline()
        .addLast(new InboundGate(connection, decoder, clientInBudget, peerInBudget, counters))
        .addLast(decoder)
        .addLast(new PeerFaultHandler(faults, connection::peerBrokerId))
        // Keeps decoded frames back while the connection is paused.
        .addLast(new FlowControlHandler())
        .addLast(new RequestDispatcher(connection, handlers, counters, () -> shuttingDown));
  }
}
