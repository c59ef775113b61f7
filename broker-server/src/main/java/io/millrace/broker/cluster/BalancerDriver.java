package io.millrace.broker.cluster;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.IntPredicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Moves leaders one at a time, on the one broker that leads the metadata group with a majority in
 * contact.
 *
 * <p>Owns: the move in progress. A move ends when another leader is announced or after a timeout; a
 * partition that did not move is left alone for a while. After any change of leaders that is not
 * its own move it waits, so that it never works against an election or a restart.
 *
 * <p>Threads: the scheduler's; answers of the mover may come on any.
 */
public final class BalancerDriver implements LeaderDirectory.Listener, AutoCloseable {

  static final long TICK_MILLIS = 500;

  /** No leader but ours changed for so long. */
  static final long QUIET_MILLIS = 5000;

  static final long MOVE_TIMEOUT_MILLIS = 10_000;

  static final long REFUSED_PAUSE_MILLIS = 30_000;

  private static final Logger LOG = LoggerFactory.getLogger(BalancerDriver.class);

  private final MetadataGroup group;
  private final LeaderDirectory leaders;
  private final IntPredicate reachable;
  private final BooleanSupplier active;
  private final LeaderMover mover;
  private final Scheduler scheduler;

  private final Map<LeaderDirectory.Key, Long> pausedUntil = new HashMap<>();
  private Balancer.Move moving;
  private long movingSince;
  private long lastChange;
  private boolean wasActive;
  private boolean closed;
  private Scheduler.Scheduled tick;

  /**
   * @param reachable whether a broker is up; true for this one
   * @param active whether this broker is the one that balances now: the metadata leader, {@link
   *     MetadataGroup#isFresh}
   */
  public BalancerDriver(
      MetadataGroup group,
      LeaderDirectory leaders,
      IntPredicate reachable,
      BooleanSupplier active,
      LeaderMover mover,
      Scheduler scheduler) {
    this.group = group;
    this.leaders = leaders;
    this.reachable = reachable;
    this.active = active;
    this.mover = mover;
    this.scheduler = scheduler;
  }

  public void start() {
    leaders.addListener(this);
    synchronized (this) {
      lastChange = scheduler.nowMillis();
      tick = scheduler.schedule(TICK_MILLIS, this::tick);
    }
  }

  @Override
  public void leadersChanged() {
    synchronized (this) {
      if (moving != null && leaderNow(moving) != moving.from()) {
        // 0 = the old one stepped down, the new one is not announced yet.
        if (leaderNow(moving) != 0) {
          moving = null;
        }
      } else {
        lastChange = scheduler.nowMillis();
      }
    }
  }

  private int leaderNow(Balancer.Move move) {
    return leaders.leader(move.key().topicId(), move.key().partition()).broker();
  }

  private void tick() {
    Balancer.Move next;
    synchronized (this) {
      if (closed) {
        return;
      }
      tick = scheduler.schedule(TICK_MILLIS, this::tick);
      next = nextMove(scheduler.nowMillis());
      if (next == null) {
        return;
      }
      moving = next;
      movingSince = scheduler.nowMillis();
    }
    LOG.info("moves the leader of {} from broker {} to {}", next.key(), next.from(), next.to());
    mover.move(next).whenComplete((answer, failure) -> answered(next, answer, failure));
  }

  private Balancer.Move nextMove(long now) {
    if (!active.getAsBoolean()) {
      wasActive = false;
      moving = null;
      return null;
    }
    if (!wasActive) {
      // What this broker knows of leaders may be from before it became the one that balances.
      wasActive = true;
      lastChange = now;
    }
    if (moving != null && now - movingSince >= MOVE_TIMEOUT_MILLIS) {
      giveUp("no other leader was announced within " + MOVE_TIMEOUT_MILLIS + " ms");
    }
    if (moving != null || now - lastChange < QUIET_MILLIS) {
      return null;
    }
    pausedUntil.values().removeIf(until -> until <= now);
    return Balancer.decide(led()).orElse(null);
  }

  private List<Balancer.Led> led() {
    List<Balancer.Led> led = new ArrayList<>();
    for (TopicEntry topic : group.state().topics()) {
      for (int p = 0; p < topic.partitions().size(); p++) {
        List<ReplicaEntry> replicas = topic.partitions().get(p).replicas();
        LeaderDirectory.Key key = new LeaderDirectory.Key(topic.id(), p);
        int leader = leaders.leader(topic.id(), p).broker();
        if (leader != 0) {
          boolean movable =
              !pausedUntil.containsKey(key)
                  && replicas.stream().allMatch(r -> r.started() && reachable.test(r.broker()));
          led.add(
              new Balancer.Led(
                  key, leader, replicas.stream().map(ReplicaEntry::broker).toList(), movable));
        }
      }
    }
    return led;
  }

  private void answered(Balancer.Move move, LeaderMover.Answer answer, Throwable failure) {
    synchronized (this) {
      if (!move.equals(moving)) {
        return;
      }
      if (failure != null) {
        giveUp(String.valueOf(failure));
      } else if (!answer.begun()) {
        giveUp(answer.reason());
      }
    }
  }

  private void giveUp(String reason) {
    LOG.info("the leader of {} was not moved: {}", moving.key(), reason);
    pausedUntil.put(moving.key(), scheduler.nowMillis() + REFUSED_PAUSE_MILLIS);
    moving = null;
  }

  @Override
  public void close() {
    leaders.removeListener(this);
    synchronized (this) {
      closed = true;
      if (tick != null) {
        tick.cancel();
      }
    }
  }
}
