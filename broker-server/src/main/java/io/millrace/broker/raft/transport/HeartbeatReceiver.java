package io.millrace.broker.raft.transport;

import com.alipay.sofa.jraft.error.RaftError;
import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.ErrorResponse;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import io.millrace.protocol.message.RaftResponseHeader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes frames of heartbeats apart and puts the answers together.
 *
 * <p>Each heartbeat goes through its group's inbox, and so through the same checks and in the same
 * order as if it had come alone; groups are not held up by others beyond {@link #GROUPS_PER_RUN}
 * that share a run on the pool. The response leaves when all groups have answered, or {@link
 * #WINDOW_MILLIS} after the request came; what comes later leaves in frames of its own, collected
 * for as long again.
 *
 * <p>Threads: {@link #handle} on event loops, never blocking; answers on any.
 */
final class HeartbeatReceiver {

  private static final Logger LOG = LoggerFactory.getLogger(HeartbeatReceiver.class);

  static final int WINDOW_MILLIS = 5;

  /** A group whose node is busy delays the heartbeats of so many others, and no more. */
  static final int GROUPS_PER_RUN = 8;

  private final Function<String, GroupInbox> inboxes;
  private final Executor pool;
  private final ScheduledExecutorService clock;
  private final LateAnswers late;

  HeartbeatReceiver(
      Function<String, GroupInbox> inboxes,
      Executor pool,
      ScheduledExecutorService clock,
      LateAnswers late) {
    this.inboxes = inboxes;
    this.pool = pool;
    this.clock = clock;
    this.late = late;
  }

  /**
   * Handles one frame; does not consume the payload.
   *
   * @param sender broker id that the connection was authenticated as
   * @return number of heartbeats in it
   */
  int handle(int sender, ByteBuf payload, PeerRequests.Responder responder)
      throws InvalidProtocolBufferException {
    List<HeartbeatBatch.Item> items = HeartbeatBatch.decode(payload);
    Answers answers = new Answers(sender, items.size(), responder);
    List<Runnable> runs = new ArrayList<>(GROUPS_PER_RUN);
    for (HeartbeatBatch.Item item : items) {
      Runnable run = enqueue(sender, item, answers);
      if (run != null) {
        runs.add(run);
      }
      if (runs.size() == GROUPS_PER_RUN) {
        execute(runs);
        runs = new ArrayList<>(GROUPS_PER_RUN);
      }
    }
    if (!runs.isEmpty()) {
      execute(runs);
    }
    answers.startWindow();
    return items.size();
  }

  private void execute(List<Runnable> runs) {
    pool.execute(() -> runs.forEach(Runnable::run));
  }

  /** What must be run on the pool so that the heartbeat is handled; null = that is seen to. */
  private Runnable enqueue(int sender, HeartbeatBatch.Item item, Answers answers) {
    Consumer once = new Consumer(item.number(), answers);
    if (!HeartbeatBatch.isHeartbeat(item.message())) {
      once.accept(error(RaftError.EINVAL, "a message in a frame of heartbeats is none"));
      return null;
    }
    AppendEntriesRequest request = (AppendEntriesRequest) item.message();
    GroupInbox inbox = inboxes.apply(request.getGroupId());
    if (inbox == null) {
      once.accept(PeerRequests.notHere(request.getGroupId()));
      return null;
    }
    return inbox.add(() -> handle(inbox.handler(), sender, request, once));
  }

  private static void handle(
      RaftMessageHandler handler, int sender, AppendEntriesRequest request, Consumer once) {
    try {
      handler.handle(sender, request, once::accept);
    } catch (IllegalStateException e) {
      // JRaft's way to say that the node is shutting down.
      LOG.debug("heartbeat for a replica that stops", e);
      once.accept(error(RaftError.EINVAL, "the replica is stopping"));
    } catch (RuntimeException e) {
      // The other heartbeats of the frame must not wait for this one's answer.
      LOG.error("heartbeat of {} failed", request.getGroupId(), e);
      once.accept(error(RaftError.EINTERNAL, "the heartbeat failed: " + e));
    }
  }

  private static ErrorResponse error(RaftError error, String text) {
    return ErrorResponse.newBuilder().setErrorCode(error.getNumber()).setErrorMsg(text).build();
  }

  /** Takes the one answer of a heartbeat: JRaft can answer, and then throw when it shuts down. */
  private static final class Consumer {
    private final long number;
    private final Answers answers;
    private final AtomicBoolean answered = new AtomicBoolean();

    Consumer(long number, Answers answers) {
      this.number = number;
      this.answers = answers;
    }

    void accept(Message answer) {
      if (answered.compareAndSet(false, true)) {
        answers.add(new HeartbeatBatch.Item(number, answer));
      }
    }
  }

  /** The answers to one frame. */
  private final class Answers {
    private final int sender;
    private final PeerRequests.Responder responder;
    private int missing; // guarded by this
    private List<HeartbeatBatch.Item> ready; // guarded by this
    private boolean responded; // guarded by this

    Answers(int sender, int missing, PeerRequests.Responder responder) {
      this.sender = sender;
      this.missing = missing;
      this.responder = responder;
      this.ready = new ArrayList<>(missing);
    }

    void startWindow() {
      synchronized (this) {
        if (responded) {
          return;
        }
        if (missing == 0) { // An empty frame.
          respond();
          return;
        }
      }
      later(this::windowOver);
    }

    void add(HeartbeatBatch.Item answer) {
      synchronized (this) {
        ready.add(answer);
        missing--;
        if (!responded) {
          if (missing == 0) {
            respond();
          }
          return;
        }
        if (ready.size() > 1) {
          return; // The first of them has set the timer.
        }
      }
      later(this::sendLate);
    }

    private synchronized void windowOver() {
      if (!responded) {
        respond();
      }
    }

    private void respond() {
      responded = true;
      responder.respond(
          RaftResponseHeader.newBuilder().setType(HeartbeatBatch.ANSWERS).build(), encodeReady());
    }

    private void sendLate() {
      ByteBuf payload;
      synchronized (this) {
        payload = encodeReady();
      }
      late.send(sender, payload);
    }

    private ByteBuf encodeReady() {
      ByteBuf payload = HeartbeatBatch.encode(PooledByteBufAllocator.DEFAULT, ready);
      ready = new ArrayList<>();
      return payload;
    }

    private void later(Runnable action) {
      try {
        clock.schedule(action, WINDOW_MILLIS, TimeUnit.MILLISECONDS);
      } catch (RejectedExecutionException e) {
        LOG.debug("answers to heartbeats are dropped: the broker stops");
      }
    }
  }
}
