package io.millrace.broker.raft.transport;

import io.millrace.protocol.message.PeerPingRequest;
import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Says when another broker seems dead, once per broker instead of once per group. It only hurries
 * elections that Raft still decides, so a wrong guess costs a change of leader at most.
 *
 * <p>A broker is down when its address refuses a new connection after the old one was lost (its
 * process ended), or when nothing came from it for {@link #SILENCE_MILLIS} (its host or its process
 * hangs). A broker that was never connected is not down: nobody waits for it. After a pause of this
 * very process everybody seems silent; the detector sees the late tick and starts to count anew.
 *
 * <p>Owns: the pings on the control connections. Threads: {@link #heard}, {@link #connected} and
 * {@link #refused} from any thread, never blocking; the listener is called by the event loops and
 * the timer, in turn for one broker, and must not block either.
 */
public final class FailureDetector implements AutoCloseable {

  /** Told of each change, once. */
  public interface Listener {
    void down(int brokerId, String reason);

    /** It answers, for the first time or again. */
    void up(int brokerId);
  }

  /** Sends a ping; {@link PeerNetwork} but for tests. */
  interface Pinger {
    /**
     * Does nothing if the broker is not connected.
     *
     * @param seenLife of the newest ping that came from that broker, 0 = none did
     */
    void ping(int brokerId, long life, long sentNanos, long seenLife, long seenNanos);
  }

  static final long PING_INTERVAL_MILLIS = 100;
  static final long SILENCE_MILLIS = 800;

  /** Less than a tick of the broker's timer wheel. */
  private static final long ROUNDED_UP_MILLIS = 50;

  /**
   * A broker that answered a ping sent within this time has not yet called this one silent: its own
   * count began when the ping came. Shorter than {@link #SILENCE_MILLIS}, for clocks that drift.
   */
  static final long CONTACT_MILLIS = 500;

  /** A tick that comes this late says more about this process than about the others. */
  static final long OWN_PAUSE_MILLIS = 250;

  private static final Logger LOG = LoggerFactory.getLogger(FailureDetector.class);

  private enum State {
    NEVER_SEEN,
    UP,
    DOWN
  }

  private static final class Peer {
    State state = State.NEVER_SEEN; // Guarded by the peer, as is all that is not volatile.
    long downNanos;
    long upNanos;
    volatile long heardNanos;
    long seenLife; // Of its newest ping, 0 = none came; both guarded by the peer.
    long seenNanos;
    boolean answered;
    long answeredPingNanos; // When the last answered ping was sent; guarded like answered.
  }

  /** Tells the pings of this process from those of an earlier one; never 0. */
  private final long life = 1 + ThreadLocalRandom.current().nextLong(Long.MAX_VALUE);

  private final Pinger pinger;
  private final LongSupplier nanoClock;
  private final Listener listener;
  private final Map<Integer, Peer> peers = new ConcurrentHashMap<>();
  private long lastTickNanos;
  private volatile boolean closed;
  private volatile Timeout next;

  FailureDetector(Pinger pinger, LongSupplier nanoClock, Listener listener) {
    this.pinger = pinger;
    this.nanoClock = nanoClock;
    this.listener = listener;
    this.lastTickNanos = nanoClock.getAsLong();
  }

  /** Watches the peers of a network until it is closed. */
  public static FailureDetector start(
      PeerNetwork network, HashedWheelTimer timer, Listener listener) {
    FailureDetector detector =
        new FailureDetector(
            (brokerId, life, sentNanos, seenLife, seenNanos) ->
                network.ping(
                    brokerId,
                    PeerPingRequest.newBuilder()
                        .setLife(life)
                        .setSentNanos(sentNanos)
                        .setSeenLife(seenLife)
                        .setSeenNanos(seenNanos)
                        .build()),
            System::nanoTime,
            listener);
    network.watch(detector);
    detector.schedule(timer);
    return detector;
  }

  private void schedule(HashedWheelTimer timer) {
    next =
        timer.newTimeout(
            t -> {
              if (!closed) {
                tick();
                schedule(timer);
              }
            },
            // The wheel rounds up to its next tick; asked for the whole interval it would add one.
            PING_INTERVAL_MILLIS - ROUNDED_UP_MILLIS,
            TimeUnit.MILLISECONDS);
  }

  /** Something came from this broker. */
  void heard(int brokerId) {
    Peer peer = peers.computeIfAbsent(brokerId, id -> new Peer());
    peer.heardNanos = nanoClock.getAsLong();
  }

  /** A ping of this broker came, with the newest one of this broker that it has seen. */
  void pinged(int brokerId, long itsLife, long sentNanos, long seenLife, long seenNanos) {
    heard(brokerId);
    Peer peer = peers.get(brokerId);
    synchronized (peer) {
      if (itsLife != peer.seenLife || sentNanos - peer.seenNanos > 0) {
        peer.seenLife = itsLife;
        peer.seenNanos = sentNanos;
      }
    }
    if (seenLife == life) {
      answered(brokerId, seenNanos);
    }
  }

  /** The control connection is up, the identity checked. */
  void connected(int brokerId) {
    heard(brokerId);
    Peer peer = peers.get(brokerId);
    synchronized (peer) {
      become(brokerId, peer, State.UP, "");
    }
  }

  /** The control connection was lost and its address takes no new one. */
  void refused(int brokerId) {
    Peer peer = peers.get(brokerId);
    if (peer != null) {
      synchronized (peer) {
        become(brokerId, peer, State.DOWN, "its address refuses connections");
      }
    }
  }

  /** For how long the broker has been up without a break; -1 = it is not up. Any thread. */
  public long upMillis(int brokerId) {
    Peer peer = peers.get(brokerId);
    if (peer == null) {
      return -1;
    }
    synchronized (peer) {
      return peer.state == State.UP
          ? TimeUnit.NANOSECONDS.toMillis(nanoClock.getAsLong() - peer.upNanos)
          : -1;
    }
  }

  /** A ping that was sent then was heard. */
  private void answered(int brokerId, long sentNanos) {
    Peer peer = peers.computeIfAbsent(brokerId, id -> new Peer());
    synchronized (peer) {
      if (!peer.answered || sentNanos - peer.answeredPingNanos > 0) {
        peer.answered = true;
        peer.answeredPingNanos = sentNanos;
      }
    }
  }

  /** True if that broker cannot have called this one silent yet, see {@link #CONTACT_MILLIS}. */
  boolean hasContact(int brokerId) {
    Peer peer = peers.get(brokerId);
    if (peer == null) {
      return false;
    }
    synchronized (peer) {
      long age = nanoClock.getAsLong() - peer.answeredPingNanos;
      return peer.state == State.UP
          && peer.answered
          && age < TimeUnit.MILLISECONDS.toNanos(CONTACT_MILLIS);
    }
  }

  /** Called every {@link #PING_INTERVAL_MILLIS}, by one thread. */
  void tick() {
    long now = nanoClock.getAsLong();
    boolean paused = now - lastTickNanos > TimeUnit.MILLISECONDS.toNanos(OWN_PAUSE_MILLIS);
    lastTickNanos = now;
    peers.forEach(
        (brokerId, peer) -> {
          ping(brokerId, peer, now);
          judge(brokerId, peer, now, paused);
        });
  }

  private void ping(int brokerId, Peer peer, long now) {
    long seenLife;
    long seenNanos;
    synchronized (peer) {
      seenLife = peer.seenLife;
      seenNanos = peer.seenNanos;
    }
    pinger.ping(brokerId, life, now, seenLife, seenNanos);
  }

  private void judge(int brokerId, Peer peer, long now, boolean paused) {
    synchronized (peer) {
      if (peer.state == State.DOWN) {
        if (peer.heardNanos - peer.downNanos > 0) {
          become(brokerId, peer, State.UP, "");
        }
        return;
      }
      if (paused) {
        peer.heardNanos = now;
      }
      long silence = TimeUnit.NANOSECONDS.toMillis(now - peer.heardNanos);
      if (silence >= SILENCE_MILLIS) {
        become(brokerId, peer, State.DOWN, "nothing came from it for " + silence + " ms");
      } else {
        become(brokerId, peer, State.UP, "");
      }
    }
  }

  private void become(int brokerId, Peer peer, State wanted, String reason) {
    if (closed || peer.state == wanted) {
      return;
    }
    peer.state = wanted;
    if (wanted == State.DOWN) {
      peer.downNanos = nanoClock.getAsLong();
      LOG.warn("broker {} seems down: {}", brokerId, reason);
      listener.down(brokerId, reason);
    } else {
      peer.upNanos = nanoClock.getAsLong();
      LOG.info("broker {} is up", brokerId);
      listener.up(brokerId);
    }
  }

  @Override
  public void close() {
    closed = true;
    Timeout timeout = next;
    if (timeout != null) {
      timeout.cancel();
    }
  }
}
