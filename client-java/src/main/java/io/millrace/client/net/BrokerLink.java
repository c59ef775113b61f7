package io.millrace.client.net;

import com.google.protobuf.Message;
import io.millrace.client.ClientConfig;
import io.millrace.client.internal.Ticks;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.frame.Frames;
import io.millrace.protocol.frame.MalformedFrameException;
import io.millrace.protocol.message.HelloResponse;
import io.millrace.protocol.message.ResponseContext;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The requests to one broker address and the connection that carries them, opened on demand and
 * again after a failure.
 *
 * <p>Owns: the channel, the requests without an answer, the requests that wait for the greeting.
 * They are bounded by their senders: the producer by its memory, reader and admin by one request
 * each. A received frame is released here, after its answer was handled.
 *
 * <p>Threads: everything happens on one event loop; send may be called from any thread.
 *
 * <p>Errors: while a failed connection waits for its next try, requests fail at once as UNREACHABLE
 * (not done). A connection that was silent for the whole timeout of a request is closed, because
 * behind it may be a machine that is gone.
 */
final class BrokerLink {

  private static final Logger LOG = LoggerFactory.getLogger(BrokerLink.class);

  /** A shorter silence says nothing about the machine behind it. */
  private static final long MIN_SILENT_MILLIS = 1_000;

  private enum State {
    IDLE,
    CONNECTING,
    GREETING,
    READY,
    CLOSED
  }

  private final BrokerAddress address;
  private final ClientConfig config;
  private final ClusterIdentity cluster;
  private final Connector connector;
  private final EventLoop loop;
  private final Runnable onWritable;
  private final Backoff backoff;

  private State state = State.IDLE;
  private Channel channel;
  private final Map<Integer, PendingRequest<?>> pending = new HashMap<>();
  private final ArrayDeque<PendingRequest<?>> waiting = new ArrayDeque<>();
  private int nextCorrelation = 1;
  private int failures;
  private long notBeforeNanos;
  private long lastReadNanos;

  /** Since when an answer is owed and nothing at all was read; NEVER = no answer is owed. */
  private volatile long silentSinceNanos = Ticks.NEVER;

  private volatile int brokerId;
  private volatile int maxFrameBytes;
  private volatile boolean writable = true;
  private volatile boolean ready;
  private volatile String lastFailure = "not tried yet";

  BrokerLink(
      BrokerAddress address,
      ClientConfig config,
      ClusterIdentity cluster,
      Connector connector,
      EventLoop loop,
      Runnable onWritable) {
    this.address = address;
    this.config = config;
    this.cluster = cluster;
    this.connector = connector;
    this.loop = loop;
    this.onWritable = onWritable;
    this.backoff = new Backoff(config.reconnectBackoffMillis(), config.reconnectBackoffMaxMillis());
  }

  String lastFailure() {
    return ready ? "connected" : lastFailure;
  }

  boolean isReady() {
    return ready;
  }

  /** Answers are owed and nothing was read for so long: it may be paused, or its machine gone. */
  boolean isSilent(long nanos) {
    long since = silentSinceNanos;
    return since != Ticks.NEVER && Ticks.now() - since > nanos;
  }

  /** False while more bytes wait for the socket than are useful. */
  boolean isWritable() {
    return writable;
  }

  /** What the broker takes at most, 0 before the greeting. */
  int maxFrameBytes() {
    return maxFrameBytes;
  }

  void send(PendingRequest<?> request) {
    try {
      loop.execute(() -> start(request));
    } catch (RejectedExecutionException e) {
      request.fail(new MillraceException(ErrorCode.CLIENT_CLOSED, "the client is closed"));
    }
  }

  /** Connects when there is no connection and the pause after a failure is over; any thread. */
  void open() {
    try {
      loop.execute(
          () -> {
            if (state == State.IDLE && (failures == 0 || Ticks.now() >= notBeforeNanos)) {
              connect();
            }
          });
    } catch (RejectedExecutionException e) {
      LOG.trace("{} is not opened: the client is closed", address);
    }
  }

  private void start(PendingRequest<?> request) {
    request.startedNanos = Ticks.now();
    switch (state) {
      case CLOSED -> request.failConnection(address, lastFailure);
      case READY -> write(request);
      case CONNECTING, GREETING -> enqueue(request);
      case IDLE -> {
        if (failures > 0 && Ticks.now() < notBeforeNanos) {
          request.failConnection(address, lastFailure);
        } else {
          enqueue(request);
          connect();
        }
      }
    }
  }

  private void enqueue(PendingRequest<?> request) {
    waiting.add(request);
    request.timeout =
        loop.schedule(
            () -> {
              if (waiting.remove(request)) {
                request.failConnection(
                    address, "no connection within " + request.timeoutMillis + " ms");
              }
            },
            request.timeoutMillis,
            TimeUnit.MILLISECONDS);
  }

  private void connect() {
    state = State.CONNECTING;
    lastFailure = failures == 0 ? "no answer yet" : lastFailure;
    connector.connect(address, loop, new LinkHandler(this)).addListener(this::connected);
  }

  private void connected(Future<? super Channel> connecting) {
    if (!connecting.isSuccess()) {
      if (state == State.CONNECTING) {
        disconnected(Reasons.of(connecting.cause()));
      }
      return;
    }
    Channel opened = (Channel) connecting.getNow();
    if (state != State.CONNECTING) {
      opened.close();
      return;
    }
    channel = opened;
    state = State.GREETING;
    lastReadNanos = Ticks.now();
    PendingRequest<HelloResponse> request =
        new PendingRequest<>(
            Api.HELLO,
            Hello.request(config, cluster),
            null,
            config.connectTimeoutMillis(),
            0,
            new Greeting(opened));
    request.startedNanos = Ticks.now();
    write(request);
  }

  private final class Greeting implements Answer<HelloResponse> {
    private final Channel greeted;

    Greeting(Channel greeted) {
      this.greeted = greeted;
    }

    @Override
    public void done(HelloResponse hello, ByteBuf payload) {
      String refusal = Hello.refusal(hello, cluster);
      if (refusal != null) {
        close(greeted, refusal);
        return;
      }
      brokerId = hello.getBrokerId();
      maxFrameBytes = hello.getMaxFrameBytes();
      state = State.READY;
      ready = true;
      LOG.debug("connected to broker {} at {}", brokerId, address);
      List<PendingRequest<?>> queued = new ArrayList<>(waiting);
      waiting.clear();
      for (PendingRequest<?> request : queued) {
        request.timeout.cancel(false);
        if (state == State.READY) {
          write(request);
        } else {
          request.failConnection(address, lastFailure);
        }
      }
    }

    @Override
    public void failed(MillraceException failure) {
      close(greeted, "greeting failed: " + failure.getMessage());
    }
  }

  private <R extends Message> void write(PendingRequest<R> request) {
    if (request.expectedBroker != 0 && brokerId != 0 && request.expectedBroker != brokerId) {
      request.failConnection(
          address, "broker " + brokerId + " answers there, not " + request.expectedBroker);
      return;
    }
    request.correlation = nextCorrelation++;
    ByteBuf frame;
    try {
      frame =
          Frames.encode(
              channel.alloc(),
              request.api.kind(),
              false,
              request.correlation,
              request.header,
              request.takePayload());
    } catch (RuntimeException e) {
      LOG.error("encoding {} failed", request.api.kind(), e);
      request.fail(
          new MillraceException(ErrorCode.INVALID_ARGUMENT, "request cannot be encoded", e));
      return;
    }
    pending.put(request.correlation, request);
    if (silentSinceNanos == Ticks.NEVER) {
      silentSinceNanos = Ticks.now();
    }
    request.timeout =
        loop.schedule(() -> timedOut(request), request.timeoutMillis, TimeUnit.MILLISECONDS);
    ChannelFuture write = channel.writeAndFlush(frame);
    request.write = write;
  }

  private void timedOut(PendingRequest<?> request) {
    if (pending.remove(request.correlation) == null) {
      return;
    }
    boolean silent = lastReadNanos < request.startedNanos;
    request.fail(
        new MillraceException(
            request.maybeSent() ? ErrorCode.REQUEST_TIMEOUT : ErrorCode.UNREACHABLE,
            "no answer to "
                + request.api.kind()
                + " from "
                + address
                + " within "
                + request.timeoutMillis
                + " ms"));
    if (silent && request.timeoutMillis >= MIN_SILENT_MILLIS && channel != null) {
      close(channel, "silent for " + request.timeoutMillis + " ms");
    }
  }

  void received(Channel from, Frame frame) {
    if (from != channel) {
      return;
    }
    lastReadNanos = Ticks.now();
    PendingRequest<?> request = frame.isResponse() ? pending.remove(frame.correlation()) : null;
    if (request == null) {
      if (!frame.isResponse()) {
        close(channel, "it sent a request instead of a response");
      }
      return;
    }
    silentSinceNanos = pending.isEmpty() ? Ticks.NEVER : lastReadNanos;
    finish(request, frame);
  }

  private <R extends Message> void finish(PendingRequest<R> request, Frame frame) {
    R response;
    try {
      response = frame.header(request.api.parser());
    } catch (MalformedFrameException e) {
      pending.put(request.correlation, request);
      close(channel, "unreadable answer: " + e.getMessage());
      return;
    }
    ResponseContext context = request.api.context().apply(response);
    if (request.api != Api.HELLO) {
      failures = 0;
    }
    if (context.hasError() && context.getError().getCode() != 0) {
      request.fail(new BrokerErrorException(context, address));
    } else {
      request.finish(response, frame.payload());
    }
  }

  void writabilityChanged(Channel from) {
    if (from == channel) {
      writable = from.isWritable();
      if (writable) {
        onWritable.run();
      }
    }
  }

  void closed(Channel from, String reason) {
    if (from == channel) {
      disconnected(reason);
    }
  }

  private void close(Channel target, String reason) {
    target.close();
    if (target == channel) {
      disconnected(reason);
    }
  }

  private void disconnected(String reason) {
    lastFailure = reason;
    channel = null;
    ready = false;
    silentSinceNanos = Ticks.NEVER;
    writable = true;
    if (state != State.CLOSED) {
      state = State.IDLE;
      notBeforeNanos = Ticks.now() + backoff.nanos(failures);
      failures++;
      LOG.debug("connection to {} failed ({} in a row): {}", address, failures, reason);
    }
    List<PendingRequest<?>> failed = new ArrayList<>(pending.values());
    pending.clear();
    failed.addAll(waiting);
    waiting.clear();
    failed.sort((a, b) -> Long.compare(a.startedNanos, b.startedNanos));
    for (PendingRequest<?> request : failed) {
      request.failConnection(address, reason);
    }
    onWritable.run();
  }

  /** Fails what is left; no request is taken afterwards. */
  void shutdown(String reason) {
    if (state == State.CLOSED) {
      return;
    }
    state = State.CLOSED;
    Channel open = channel;
    if (open != null) {
      open.close();
    }
    disconnected(reason);
  }

  EventLoop loop() {
    return loop;
  }
}
