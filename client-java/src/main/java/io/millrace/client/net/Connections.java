package io.millrace.client.net;

import com.google.protobuf.Message;
import io.millrace.client.ClientConfig;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/**
 * All connections of a client, one per broker address.
 *
 * <p>Owns: the event loops and the links. Threads: any. Errors: see {@link Answer}.
 */
public final class Connections {

  private static final long SHUTDOWN_MILLIS = 10_000;

  private final ClientConfig config;
  private final ClusterIdentity cluster = new ClusterIdentity();
  private final MultiThreadIoEventLoopGroup loops;
  private final TcpConnector connector;
  private final Map<BrokerAddress, BrokerLink> links = new ConcurrentHashMap<>();
  private final List<Runnable> writableListeners = new CopyOnWriteArrayList<>();
  private volatile boolean closed;

  public Connections(ClientConfig config) {
    this.config = config;
    this.loops =
        new MultiThreadIoEventLoopGroup(
            config.ioThreads(),
            new DefaultThreadFactory("millrace-io-" + config.clientId(), true),
            NioIoHandler.newFactory());
    this.connector = new TcpConnector(config);
  }

  /**
   * Sends one request.
   *
   * @param expectedBroker the id that must answer at this address, 0 = any
   * @param payload taken over, may be null
   */
  public <R extends Message> void send(
      BrokerAddress address,
      int expectedBroker,
      Api<R> api,
      Message header,
      ByteBuf payload,
      long timeoutMillis,
      Answer<R> answer) {
    PendingRequest<R> request =
        new PendingRequest<>(api, header, payload, timeoutMillis, expectedBroker, answer);
    if (closed) {
      request.fail(new MillraceException(ErrorCode.CLIENT_CLOSED, "the client is closed"));
      return;
    }
    link(address).send(request);
  }

  /** Connects in the background, unless it is connected or failed a moment ago. */
  public void open(BrokerAddress address) {
    if (!closed) {
      link(address).open();
    }
  }

  private BrokerLink link(BrokerAddress address) {
    BrokerLink link = links.get(address);
    return link != null ? link : links.computeIfAbsent(address, this::newLink);
  }

  private BrokerLink newLink(BrokerAddress address) {
    return new BrokerLink(
        address,
        config,
        cluster,
        connector,
        (EventLoop) loops.next(),
        () -> writableListeners.forEach(Runnable::run));
  }

  /** Closes connections to addresses that no broker has any more. */
  public void retain(Collection<BrokerAddress> addresses) {
    for (Map.Entry<BrokerAddress, BrokerLink> e : links.entrySet()) {
      if (!addresses.contains(e.getKey()) && links.remove(e.getKey(), e.getValue())) {
        BrokerLink link = e.getValue();
        link.loop().execute(() -> link.shutdown("no broker has this address any more"));
      }
    }
  }

  public boolean isReady(BrokerAddress address) {
    BrokerLink link = links.get(address);
    return link != null && link.isReady();
  }

  /** Answers are owed there, and nothing was read for so long. */
  public boolean isSilent(BrokerAddress address, long nanos) {
    BrokerLink link = links.get(address);
    return link != null && link.isSilent(nanos);
  }

  public boolean isWritable(BrokerAddress address) {
    BrokerLink link = links.get(address);
    return link == null || link.isWritable();
  }

  /** What the broker there takes at most, 0 while unknown. */
  public int maxFrameBytes(BrokerAddress address) {
    BrokerLink link = links.get(address);
    return link == null ? 0 : link.maxFrameBytes();
  }

  /** Why the last connection to each of these addresses failed. */
  public Map<String, String> failures(Collection<BrokerAddress> addresses) {
    Map<String, String> reasons = new TreeMap<>();
    for (BrokerAddress address : addresses) {
      BrokerLink link = links.get(address);
      reasons.put(address.toString(), link == null ? "not tried yet" : link.lastFailure());
    }
    return reasons;
  }

  /** Called on an event loop when a connection takes bytes again, or ended. */
  public void addWritableListener(Runnable listener) {
    writableListeners.add(listener);
  }

  public void removeWritableListener(Runnable listener) {
    writableListeners.remove(listener);
  }

  public ClusterIdentity cluster() {
    return cluster;
  }

  /** For timers that must not block. */
  public EventExecutor timer() {
    return loops.next();
  }

  /** Fails open requests and ends the event loops; returns when their threads have ended. */
  public void close() {
    closed = true;
    connector.close();
    List<Future<?>> closing = new ArrayList<>();
    for (BrokerLink link : links.values()) {
      if (!link.loop().isShuttingDown()) {
        closing.add(link.loop().submit(() -> link.shutdown("the client was closed")));
      }
    }
    closing.forEach(f -> f.awaitUninterruptibly(SHUTDOWN_MILLIS));
    loops.shutdownGracefully(0, SHUTDOWN_MILLIS, TimeUnit.MILLISECONDS);
    try {
      loops.awaitTermination(SHUTDOWN_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
