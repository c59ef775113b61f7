package io.millrace.broker.raft.transport;

import java.util.Collections;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;

/**
 * Faults between this broker and its peers that somebody commands, to test or to learn: messages in
 * one direction or both are swallowed, late, or lost by chance. Connections stay open, as in a
 * network that swallows packets; nothing here closes one.
 *
 * <p>Owns: the faults in force, in memory only, so a restart ends them. {@link PeerFaultHandler}
 * carries them out on what arrives and on what is late, the senders on what is lost before it
 * leaves.
 *
 * <p>Threads: any. A reader sees the faults of before a change or those after it, whole.
 */
public final class NetworkFaults {

  /**
   * Longest latency, and longest jitter. Both together stay below the 30 s after which a server
   * takes a response for stalled and closes the connection, which would be another fault.
   */
  public static final int MAX_DELAY_MILLIS = 10_000;

  private static final double MAX_PERCENT = 100;

  /**
   * What happens to messages in one direction.
   *
   * @param dropped every message is swallowed
   * @param latencyMillis each message is late by this much
   * @param jitterMillis ... and by up to so much more, at random; the order stays
   * @param lossPercent of the messages are swallowed, at random
   */
  public record Flow(boolean dropped, int latencyMillis, int jitterMillis, double lossPercent) {

    public static final Flow SOUND = new Flow(false, 0, 0, 0);
    public static final Flow CUT = new Flow(true, 0, 0, 0);

    public Flow {
      delay("latency", latencyMillis);
      delay("jitter", jitterMillis);
      // Written so that NaN is refused.
      if (!(lossPercent >= 0 && lossPercent <= MAX_PERCENT)) {
        throw new IllegalArgumentException("loss of " + lossPercent + " % is not in 0 to 100 %");
      }
    }

    private static void delay(String what, int millis) {
      if (millis < 0 || millis > MAX_DELAY_MILLIS) {
        throw new IllegalArgumentException(
            what + " of " + millis + " ms is not in 0 to " + MAX_DELAY_MILLIS + " ms");
      }
    }

    @Override
    public String toString() {
      if (dropped) {
        return "dropped";
      }
      if (equals(SOUND)) {
        return "sound";
      }
      return String.format(
          Locale.ROOT, "%d ms + 0..%d ms, %s %% lost", latencyMillis, jitterMillis, lossPercent);
    }
  }

  /**
   * Both directions between this broker and one peer.
   *
   * @param to from this broker to the peer
   * @param from from the peer to this broker
   */
  public record Link(Flow to, Flow from) {

    public static final Link CUT = new Link(Flow.CUT, Flow.CUT);

    boolean isSound() {
      return to.equals(Flow.SOUND) && from.equals(Flow.SOUND);
    }
  }

  private final DoubleSupplier random;
  private volatile Map<Integer, Link> links = Map.of();
  private volatile boolean isolatedFromAll;

  public NetworkFaults() {
    this(() -> ThreadLocalRandom.current().nextDouble());
  }

  /**
   * @param random values from 0 to below 1
   */
  NetworkFaults(DoubleSupplier random) {
    this.random = random;
  }

  /**
   * Puts these faults in the place of all that were in force; a peer that is not named has none.
   */
  public synchronized void replace(Map<Integer, Link> faults) {
    TreeMap<Integer, Link> kept = new TreeMap<>(faults);
    kept.values().removeIf(Link::isSound);
    links = Collections.unmodifiableMap(kept);
  }

  /** Adds to the faults in force, or changes those of this peer. */
  public synchronized void set(int brokerId, Link link) {
    Map<Integer, Link> changed = new TreeMap<>(links);
    changed.put(brokerId, link);
    replace(changed);
  }

  /** Drops every message to and from this peer until {@link #heal}. */
  public void isolateFrom(int brokerId) {
    set(brokerId, Link.CUT);
  }

  /** Drops every message to and from every peer, also those that come later; for a broker's end. */
  public void isolateFromAll() {
    isolatedFromAll = true;
  }

  /** Removes all faults. What is late then still arrives late, so that the order stays. */
  public synchronized void heal() {
    isolatedFromAll = false;
    links = Map.of();
  }

  /** The faults in force by peer, without those of {@link #isolateFromAll}. */
  public Map<Integer, Link> inForce() {
    return links;
  }

  /** False: no peer has a fault. */
  boolean isActive() {
    return isolatedFromAll || !links.isEmpty();
  }

  /** Decides whether a message to the peer, about to be sent, is swallowed. */
  public boolean losesTo(int brokerId) {
    return isActive() && loses(to(brokerId));
  }

  /** Decides whether a message from the peer, just arrived, is swallowed. */
  public boolean losesFrom(int brokerId) {
    return isActive() && loses(from(brokerId));
  }

  long delayNanosTo(int brokerId) {
    return delayNanos(to(brokerId));
  }

  long delayNanosFrom(int brokerId) {
    return delayNanos(from(brokerId));
  }

  private Flow to(int brokerId) {
    Link link = links.get(brokerId);
    return link == null ? Flow.SOUND : link.to();
  }

  private Flow from(int brokerId) {
    Link link = links.get(brokerId);
    return link == null ? Flow.SOUND : link.from();
  }

  private boolean loses(Flow flow) {
    return isolatedFromAll
        || flow.dropped()
        || flow.lossPercent() > 0 && random.getAsDouble() * MAX_PERCENT < flow.lossPercent();
  }

  private long delayNanos(Flow flow) {
    long fixed = TimeUnit.MILLISECONDS.toNanos(flow.latencyMillis());
    return flow.jitterMillis() == 0
        ? fixed
        : fixed
            + (long) (random.getAsDouble() * TimeUnit.MILLISECONDS.toNanos(flow.jitterMillis()));
  }

  /** One line, for logs. */
  @Override
  public String toString() {
    StringJoiner all = new StringJoiner("; ").setEmptyValue("none");
    links.forEach(
        (peer, link) ->
            all.add("to broker " + peer + ": " + link.to() + ", from it: " + link.from()));
    return all.toString();
  }
}
