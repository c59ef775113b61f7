package io.millrace.broker.raft.transport;

import com.alipay.sofa.jraft.error.InvokeTimeoutException;
import com.alipay.sofa.jraft.error.RemotingException;
import com.alipay.sofa.jraft.rpc.InvokeCallback;
import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesResponse;
import com.alipay.sofa.jraft.rpc.RpcRequests.ErrorResponse;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.frame.MalformedFrameException;
import io.millrace.protocol.message.RaftHeader;
import io.millrace.protocol.message.RaftResponseHeader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Sends the heartbeats of all groups to one broker together: what is given within {@link
 * #WINDOW_MILLIS} leaves as one frame. With hundreds of groups frames, not bytes, are what
 * heartbeats cost.
 *
 * <p>Owns: heartbeats that wait for the end of the window or for their answer. Each ends exactly
 * once: in its answer, the loss of its frame, or its timeout, which counts from {@link #send}.
 *
 * <p>Answers come in the response to the frame, or, when a group needs longer than the others, in a
 * frame of their own ({@link #answered}). One that comes twice, or after the end, is ignored.
 *
 * <p>Threads: any; nothing blocks. Callbacks run on their own executors, those of a frame that
 * share one in a row.
 */
final class HeartbeatSender {

  static final int WINDOW_MILLIS = 5;

  /** Sends one frame; a {@link PeerNetwork} with the control connection to one broker. */
  interface Link {
    void request(
        RaftHeader header, ByteBuf payload, long timeoutMillis, PeerNetwork.ResponseHandler handler)
        throws PeerRequestException;
  }

  private static final RaftHeader HEADER =
      RaftHeader.newBuilder().setType(HeartbeatBatch.REQUESTS).build();

  private record Pending(
      long number,
      AppendEntriesRequest request,
      InvokeCallback callback,
      long timeoutMillis,
      long deadlineNanos) {}

  private final Link link;
  private final ScheduledExecutorService clock;
  private final AtomicLong numbers = new AtomicLong();
  private final Map<Long, Pending> unanswered = new ConcurrentHashMap<>();
  private List<Pending> waiting = new ArrayList<>(); // guarded by this
  private boolean closed; // guarded by this

  HeartbeatSender(Link link, ScheduledExecutorService clock) {
    this.link = link;
    this.clock = clock;
  }

  /** Takes a heartbeat over; its callback is always called, later. */
  void send(AppendEntriesRequest request, InvokeCallback callback, long timeoutMillis) {
    Pending heartbeat =
        new Pending(
            numbers.incrementAndGet(),
            request,
            callback,
            timeoutMillis,
            System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis));
    boolean first;
    boolean full;
    synchronized (this) {
      if (closed) {
        end(List.of(heartbeat), new RemotingException("the broker stops"));
        return;
      }
      waiting.add(heartbeat);
      first = waiting.size() == 1;
      full = waiting.size() == HeartbeatBatch.MAX_ITEMS;
    }
    if (full) {
      flush();
    } else if (first) {
      flushLater();
    }
  }

  private void flushLater() {
    try {
      clock.schedule(this::flush, WINDOW_MILLIS, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      flush(); // The broker stops; the frame fails, and with it the heartbeats.
    }
  }

  private void flush() {
    List<Pending> taken;
    synchronized (this) {
      taken = waiting;
      waiting = new ArrayList<>();
    }
    // All heartbeats have the same timeout, except while a setting changes.
    while (!taken.isEmpty()) {
      List<Pending> frame = new ArrayList<>(taken.size());
      List<Pending> rest = new ArrayList<>();
      for (Pending heartbeat : taken) {
        boolean fits =
            frame.size() < HeartbeatBatch.MAX_ITEMS
                && heartbeat.timeoutMillis() == taken.get(0).timeoutMillis();
        (fits ? frame : rest).add(heartbeat);
      }
      sendFrame(frame);
      taken = rest;
    }
  }

  private void sendFrame(List<Pending> heartbeats) {
    List<HeartbeatBatch.Item> items = new ArrayList<>(heartbeats.size());
    for (Pending heartbeat : heartbeats) {
      unanswered.put(heartbeat.number(), heartbeat);
      items.add(new HeartbeatBatch.Item(heartbeat.number(), heartbeat.request()));
    }
    try {
      ByteBuf payload = HeartbeatBatch.encode(PooledByteBufAllocator.DEFAULT, items);
      link.request(HEADER, payload, millisLeft(heartbeats), new SentFrame(heartbeats));
    } catch (PeerRequestException | RuntimeException e) {
      fail(heartbeats, new RemotingException(e.getMessage(), e));
    }
  }

  /** Until the first of them must end. */
  private static long millisLeft(List<Pending> heartbeats) {
    long nanos = heartbeats.get(0).deadlineNanos() - System.nanoTime();
    return Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos));
  }

  /** Takes answers that came in a frame of their own. */
  void answered(List<HeartbeatBatch.Item> answers) {
    Map<Executor, List<Runnable>> byExecutor = new IdentityHashMap<>();
    for (HeartbeatBatch.Item answer : answers) {
      Pending heartbeat = unanswered.remove(answer.number());
      if (heartbeat != null) {
        InvokeCallback callback = heartbeat.callback();
        byExecutor
            .computeIfAbsent(callback.executor(), e -> new ArrayList<>())
            .add(() -> complete(callback, answer.message()));
      }
    }
    byExecutor.forEach(HeartbeatSender::runInARow);
  }

  private static void complete(InvokeCallback callback, Message message) {
    if (message instanceof AppendEntriesResponse || message instanceof ErrorResponse) {
      callback.complete(message, null);
    } else {
      callback.complete(
          null, new RemotingException("a heartbeat was answered by " + message.getClass()));
    }
  }

  private void fail(List<Pending> heartbeats, Throwable error) {
    List<Pending> open = new ArrayList<>();
    for (Pending heartbeat : heartbeats) {
      if (unanswered.remove(heartbeat.number()) != null) {
        open.add(heartbeat);
      }
    }
    end(open, error);
  }

  private static void end(List<Pending> heartbeats, Throwable error) {
    Map<Executor, List<Runnable>> byExecutor = new IdentityHashMap<>();
    for (Pending heartbeat : heartbeats) {
      InvokeCallback callback = heartbeat.callback();
      byExecutor
          .computeIfAbsent(callback.executor(), e -> new ArrayList<>())
          .add(() -> callback.complete(null, error));
    }
    byExecutor.forEach(HeartbeatSender::runInARow);
  }

  private static void runInARow(Executor executor, List<Runnable> callbacks) {
    executor.execute(
        () -> {
          RuntimeException failed = null;
          for (Runnable callback : callbacks) {
            try {
              callback.run();
            } catch (RuntimeException e) {
              // The others must get their answers.
              if (failed == null) {
                failed = e;
              } else {
                failed.addSuppressed(e);
              }
            }
          }
          if (failed != null) {
            throw failed;
          }
        });
  }

  /** Heartbeats without an answer, for tests. */
  int unanswered() {
    return unanswered.size();
  }

  /** Ends what waits; what was sent ends with its connection. */
  void close() {
    List<Pending> left;
    synchronized (this) {
      closed = true;
      left = waiting;
      waiting = new ArrayList<>();
    }
    end(left, new RemotingException("the broker stops"));
  }

  private final class SentFrame implements PeerNetwork.ResponseHandler {
    private final List<Pending> heartbeats;

    SentFrame(List<Pending> heartbeats) {
      this.heartbeats = heartbeats;
    }

    @Override
    public void onResponse(Frame frame) {
      try {
        RaftResponseHeader header = frame.header(RaftResponseHeader.parser());
        if (header.getType() != HeartbeatBatch.ANSWERS) {
          fail(heartbeats, new RemotingException("answer of unknown type " + header.getType()));
          return;
        }
        answered(HeartbeatBatch.decode(frame.payload()));
      } catch (MalformedFrameException | InvalidProtocolBufferException e) {
        fail(heartbeats, new RemotingException("unreadable answer: " + e.getMessage(), e));
        return;
      } finally {
        frame.release();
      }
      if (heartbeats.stream().anyMatch(h -> unanswered.containsKey(h.number()))) {
        awaitLateAnswers();
      }
    }

    private void awaitLateAnswers() {
      try {
        clock.schedule(this::timeOut, millisLeft(heartbeats), TimeUnit.MILLISECONDS);
      } catch (RejectedExecutionException e) {
        fail(heartbeats, new RemotingException("the broker stops"));
      }
    }

    private void timeOut() {
      fail(
          heartbeats,
          new InvokeTimeoutException(
              "heartbeat unanswered after " + heartbeats.get(0).timeoutMillis() + " ms"));
    }

    @Override
    public void onFailure(PeerRequestException failure) {
      if (failure.isTimeout()) {
        timeOut();
      } else {
        fail(heartbeats, new RemotingException(failure.getMessage()));
      }
    }
  }
}
