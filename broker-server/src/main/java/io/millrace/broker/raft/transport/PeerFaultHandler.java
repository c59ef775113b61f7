package io.millrace.broker.raft.transport;

import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.frame.MalformedFrameException;
import io.millrace.protocol.message.PeerHelloRequest;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;

/**
 * Carries {@link NetworkFaults} out on one connection between brokers, at either end: swallows what
 * arrives, and keeps back what arrives and what leaves. Stands behind the frame decoder. What is
 * swallowed on its way out never gets here: its sender asks {@link NetworkFaults#losesTo} for the
 * whole message, which can be several writes.
 *
 * <p>Order: in each direction nothing overtakes a message that is late, whatever the jitter, and
 * also after the faults have ended.
 *
 * <p>Owns: the messages that are late and the promises of their writes; released and failed when
 * the connection closes. Their number is bounded by what peers leave unanswered.
 *
 * <p>Threads: the event loop of the connection, which is never held up. When the connection moves
 * to another event loop its late messages go along.
 */
public final class PeerFaultHandler extends ChannelDuplexHandler {

  private record Late(Object message, ChannelPromise promiseOrNull, long dueNanos) {}

  private final NetworkFaults faults;
  private final IntSupplier peer;
  private final LongSupplier nanoClock;
  private final Line arriving = new Line(false);
  private final Line leaving = new Line(true);

  /** The broker that a PEER_HELLO on this connection named, before that was checked; 0 = none. */
  private int namedPeer;

  /**
   * @param peer id of the broker at the other side, 0 while it is not known or for a client
   */
  public PeerFaultHandler(NetworkFaults faults, IntSupplier peer) {
    this(faults, peer, System::nanoTime);
  }

  PeerFaultHandler(NetworkFaults faults, IntSupplier peer, LongSupplier nanoClock) {
    this.faults = faults;
    this.peer = peer;
    this.nanoClock = nanoClock;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    if (arriving.isEmpty() && !faults.isActive()) {
      ctx.fireChannelRead(message);
      return;
    }
    noteHello(message);
    int from = peerId();
    if (from != 0 && faults.losesFrom(from)) {
      ReferenceCountUtil.release(message);
      return;
    }
    long delayNanos = from == 0 ? 0 : faults.delayNanosFrom(from);
    if (delayNanos == 0 && arriving.isEmpty()) {
      ctx.fireChannelRead(message);
    } else {
      arriving.add(ctx, message, null, delayNanos);
    }
  }

  @Override
  public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
    int to = leaving.isEmpty() && !faults.isActive() ? 0 : peerId();
    long delayNanos = to == 0 ? 0 : faults.delayNanosTo(to);
    if (delayNanos == 0 && leaving.isEmpty()) {
      ctx.write(message, promise);
    } else {
      leaving.add(ctx, message, promise, delayNanos);
    }
  }

  /** A handshake is lost or late too, and it alone says whose it is. */
  private void noteHello(Object message) {
    if (namedPeer == 0
        && message instanceof Frame frame
        && frame.kind() == ApiKind.PEER_HELLO
        && !frame.isResponse()) {
      try {
        namedPeer = frame.header(PeerHelloRequest.parser()).getBrokerId();
      } catch (MalformedFrameException unreadable) {
        namedPeer = 0; // Goes on to the handshake, which refuses it with the reason.
      }
    }
  }

  private int peerId() {
    int known = peer.getAsInt();
    return known != 0 ? known : namedPeer;
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    discardAll();
    ctx.fireChannelInactive();
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    discardAll();
  }

  private void discardAll() {
    arriving.discard();
    leaving.discard();
  }

  /** The late messages of one direction, first in first out. */
  private final class Line {

    private final boolean outward;
    private final Queue<Late> late = new ArrayDeque<>();
    private long lastDueNanos;
    private boolean scheduled;

    Line(boolean outward) {
      this.outward = outward;
    }

    boolean isEmpty() {
      return late.isEmpty();
    }

    void add(
        ChannelHandlerContext ctx, Object message, ChannelPromise promiseOrNull, long delayNanos) {
      long due = nanoClock.getAsLong() + delayNanos;
      if (!late.isEmpty() && due - lastDueNanos < 0) {
        due = lastDueNanos;
      }
      lastDueNanos = due;
      late.add(new Late(message, promiseOrNull, due));
      scheduleNext(ctx);
    }

    private void scheduleNext(ChannelHandlerContext ctx) {
      if (scheduled || late.isEmpty()) {
        return;
      }
      long waitNanos = Math.max(0, late.peek().dueNanos() - nanoClock.getAsLong());
      try {
        ctx.executor().schedule(() -> deliverDue(ctx), waitNanos, TimeUnit.NANOSECONDS);
        scheduled = true;
      } catch (RejectedExecutionException stopping) {
        discard(); // The event loops end, and the connection with them.
      }
    }

    private void deliverDue(ChannelHandlerContext ctx) {
      if (!ctx.executor().inEventLoop()) {
        // The connection moved meanwhile.
        try {
          ctx.executor().execute(() -> deliverDue(ctx));
        } catch (RejectedExecutionException stopping) {
          discard();
        }
        return;
      }
      scheduled = false;
      boolean delivered = false;
      while (!late.isEmpty() && late.peek().dueNanos() - nanoClock.getAsLong() <= 0) {
        Late next = late.poll();
        delivered = true;
        if (outward) {
          ctx.write(next.message(), next.promiseOrNull());
        } else {
          ctx.fireChannelRead(next.message());
        }
      }
      if (delivered && outward) {
        ctx.flush();
      } else if (delivered) {
        ctx.fireChannelReadComplete();
      }
      scheduleNext(ctx);
    }

    void discard() {
      for (Late next = late.poll(); next != null; next = late.poll()) {
        ReferenceCountUtil.release(next.message());
        if (next.promiseOrNull() != null) {
          next.promiseOrNull().tryFailure(new ClosedChannelException());
        }
      }
    }
  }
}
