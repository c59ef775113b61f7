package io.millrace.broker.raft.transport;

import com.alipay.sofa.jraft.error.RaftError;
import com.alipay.sofa.jraft.rpc.RpcRequests.ErrorResponse;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import io.millrace.broker.raft.threads.WorkerPool;
import io.millrace.protocol.message.RaftHeader;
import io.millrace.protocol.message.RaftResponseHeader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where the Raft messages of authenticated peers come in.
 *
 * <p>Owns: a small pool shared by all groups. Requests of one group run one after the other in
 * their order of arrival, which keeps the pipeline of a sender's entries intact; groups do not wait
 * for each other.
 *
 * <p>Threads: {@link #handle} is called on event loops and never blocks. It consumes the payload.
 */
public final class PeerRequests implements AutoCloseable {

  /** Sends one response on the connection on which the request came; any thread, once. */
  public interface Responder {
    /** Consumes the payload, which may be null. */
    void respond(RaftResponseHeader header, ByteBuf payload);
  }

  private static final Logger LOG = LoggerFactory.getLogger(PeerRequests.class);

  /**
   * Votes wait for the votes journal, which stores those that wait together with one sync: so
   * elections of many groups at once need many threads, for a short time.
   */
  private static final int MAX_THREADS = 64;

  private static final long CLOSE_MILLIS = 2000;

  private final IntConsumer heard;
  private final WorkerPool pool;
  private final Map<String, GroupInbox> inboxes = new ConcurrentHashMap<>();
  private final HeartbeatReceiver heartbeats;
  private final LateAnswers late;
  private final LongAdder parsed = new LongAdder();

  /**
   * @param heard told of every broker from which a request comes
   * @param clock runs short actions after a few milliseconds
   */
  public PeerRequests(
      int brokerId, IntConsumer heard, ScheduledExecutorService clock, LateAnswers late) {
    this.heard = heard;
    // What waits is bounded by the senders' windows: the in-flight limit per group and sender.
    this.pool = new WorkerPool("raft-in-" + brokerId, MAX_THREADS);
    this.heartbeats = new HeartbeatReceiver(inboxes::get, pool, clock, late);
    this.late = late;
  }

  /** Lets a group receive; until {@link #remove} its peers can reach it. */
  public void add(String groupId, RaftMessageHandler handler) {
    GroupInbox previous = inboxes.putIfAbsent(groupId, new GroupInbox(handler, pool));
    if (previous != null) {
      throw new IllegalStateException("group " + groupId + " receives already");
    }
  }

  /** Stops a group from receiving; what it accepted before still runs. */
  public void remove(String groupId) {
    inboxes.remove(groupId);
  }

  /** Something of this broker came, a Raft message or not. */
  public void heard(int sender) {
    heard.accept(sender);
  }

  /**
   * Handles one request.
   *
   * @param sender broker id that the connection was authenticated as
   */
  public void handle(int sender, RaftHeader header, ByteBuf payload, Responder responder) {
    heard(sender);
    if (header.getType() == HeartbeatBatch.REQUESTS) {
      handleHeartbeats(sender, payload, responder);
      return;
    }
    if (header.getType() == HeartbeatBatch.ANSWERS) {
      takeLateAnswers(sender, payload, responder);
      return;
    }
    RaftMessageType type = RaftMessageType.of(header.getType());
    if (type == null || type.code() >= RaftMessageType.REQUEST_VOTE_RESPONSE.code()) {
      payload.release();
      refuse(responder, "Raft message of unknown type " + header.getType());
      return;
    }
    GroupInbox inbox = inboxes.get(header.getGroup());
    if (inbox == null) {
      payload.release();
      respond(responder, notHere(header.getGroup()));
      return;
    }
    inbox.execute(() -> parseAndHandle(inbox.handler(), sender, type, payload, responder));
  }

  /** Raft messages that were parsed since the start, readable or not. */
  public long parsedCount() {
    return parsed.sum();
  }

  private void handleHeartbeats(int sender, ByteBuf payload, Responder responder) {
    try {
      parsed.add(heartbeats.handle(sender, payload, responder));
    } catch (InvalidProtocolBufferException e) {
      refuse(responder, "unreadable frame of heartbeats: " + e.getMessage());
    } finally {
      payload.release();
    }
  }

  private void takeLateAnswers(int sender, ByteBuf payload, Responder responder) {
    try {
      late.take(sender, payload);
      responder.respond(
          RaftResponseHeader.newBuilder().setType(HeartbeatBatch.ANSWERS).build(), null);
    } catch (InvalidProtocolBufferException e) {
      refuse(responder, "unreadable answers to heartbeats: " + e.getMessage());
    } finally {
      payload.release();
    }
  }

  static ErrorResponse notHere(String group) {
    return ErrorResponse.newBuilder()
        .setErrorCode(RaftError.ENOENT.getNumber())
        .setErrorMsg("group " + group + " does not run on this broker")
        .build();
  }

  private void parseAndHandle(
      RaftMessageHandler handler,
      int sender,
      RaftMessageType type,
      ByteBuf payload,
      Responder responder) {
    // JRaft can answer through its closure and then throw, when the node is shutting down.
    AtomicBoolean answered = new AtomicBoolean();
    Responder once =
        (header, response) -> {
          if (answered.compareAndSet(false, true)) {
            responder.respond(header, response);
          } else {
            response.release();
          }
        };
    try {
      parsed.increment();
      Message request = RaftMessages.decode(type, payload);
      // The handler copies every entry before it returns, so the payload can go then.
      handler.handle(sender, request, response -> respond(once, response));
    } catch (InvalidProtocolBufferException e) {
      refuse(once, "unreadable " + type + ": " + e.getMessage());
    } catch (IllegalStateException e) {
      // JRaft's way to say that the node is shutting down.
      LOG.debug("{} for a replica that stops", type, e);
      refuse(once, "the replica is stopping");
    } finally {
      payload.release();
    }
  }

  private static void respond(Responder responder, Message response) {
    RaftMessageType type = RaftMessageType.of(response);
    if (type == null) {
      throw new IllegalStateException("no response type for " + response.getClass());
    }
    responder.respond(
        RaftResponseHeader.newBuilder().setType(type.code()).build(),
        RaftMessages.encode(PooledByteBufAllocator.DEFAULT, response));
  }

  private static void refuse(Responder responder, String text) {
    respond(
        responder,
        ErrorResponse.newBuilder()
            .setErrorCode(RaftError.EINVAL.getNumber())
            .setErrorMsg(text)
            .build());
  }

  /** Waits up to two seconds for what runs. */
  @Override
  public void close() throws InterruptedException {
    pool.close(CLOSE_MILLIS);
  }
}
