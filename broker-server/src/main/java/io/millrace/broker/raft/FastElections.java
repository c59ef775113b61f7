package io.millrace.broker.raft;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.BiPredicate;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shortens the election timeout where it is known that nobody leads: of the groups that a dead
 * broker led, of replicas that start, and of leaderless groups when a broker comes back. Raft stays
 * as it is: a follower still asks with a pre-vote, and others that hear the old leader still
 * refuse.
 *
 * <p>Split votes are avoided by rank: all replicas forget the leader equally early, so that they
 * grant a pre-vote, but the one of rank 0 asks first and each further one later. With many groups
 * the timeouts grow, so that elections come one after the other and not all at the same moment.
 *
 * <p>Owns: its scheduler. Threads: {@link #leaderDown} and {@link #leaderUp} from any thread, never
 * blocking; the work takes locks of nodes and runs on the scheduler.
 */
final class FastElections implements AutoCloseable {

  /** Enough for a heartbeat that is on its way from a leader that lives after all. */
  private static final int FIRST_TIMEOUT_MILLIS = 60;

  /** What one more election costs the broker, about. */
  private static final int MILLIS_PER_GROUP = 2;

  /** Longer than a pre-vote and a vote need, so that a lower rank is done before. */
  private static final int RANK_DELAY_MILLIS = 200;

  /** A replica that starts gives the leader time to find it. */
  private static final int START_TIMEOUT_MILLIS = 300;

  private static final int NOBODY = 0;
  private static final int CHECK_MILLIS = 100;

  /** Then the groups go back to their own timeouts, whatever is the reason. */
  private static final int GIVE_UP_MILLIS = 5000;

  private static final Logger LOG = LoggerFactory.getLogger(FastElections.class);

  private record Hurry(int deadBroker, long sinceNanos) {}

  private final Supplier<Collection<Replica>> replicas;
  private final ScheduledExecutorService scheduler;
  private final Map<Replica, Hurry> hurried = new LinkedHashMap<>(); // Guarded by itself.

  FastElections(Supplier<Collection<Replica>> replicas, ScheduledExecutorService scheduler) {
    this.replicas = replicas;
    this.scheduler = scheduler;
  }

  /** This broker seems dead: the groups that it led, or that have no leader now, shall elect. */
  void leaderDown(int brokerId) {
    run(() -> hurry(brokerId, FIRST_TIMEOUT_MILLIS));
  }

  /** It was not dead, or is back: groups that wait for a majority may have one now. */
  void leaderUp(int brokerId) {
    run(
        () -> {
          settle(brokerId);
          hurry(NOBODY, START_TIMEOUT_MILLIS);
        });
  }

  /**
   * A replica that starts usually finds a leader; if not, it need not wait long for an election.
   */
  void started(Replica replica) {
    run(() -> hurry(List.of(replica), NOBODY, START_TIMEOUT_MILLIS));
  }

  private void run(Runnable task) {
    try {
      scheduler.execute(task);
    } catch (RejectedExecutionException e) {
      LOG.debug("no early election, the broker stops", e);
    }
  }

  private void hurry(int deadBroker, int firstTimeoutMillis) {
    List<Replica> affected = new ArrayList<>();
    for (Replica replica : replicas.get()) {
      if (replica.isLeaderless() || (deadBroker != NOBODY && replica.leader() == deadBroker)) {
        affected.add(replica);
      }
    }
    // The same order on every broker, so that the replicas of a group are ready together.
    affected.sort(Comparator.comparing(Replica::name));
    if (!affected.isEmpty()) {
      LOG.info("{} groups without a leader elect early", affected.size());
    }
    hurry(affected, deadBroker, firstTimeoutMillis);
  }

  private void hurry(List<Replica> affected, int deadBroker, int firstTimeoutMillis) {
    long now = System.nanoTime();
    synchronized (hurried) {
      boolean checking = !hurried.isEmpty();
      int timeout = firstTimeoutMillis + hurried.size() * MILLIS_PER_GROUP;
      for (Replica replica : affected) {
        int rank = rank(replica, deadBroker);
        replica.hurryElection(timeout, timeout + rank * RANK_DELAY_MILLIS);
        hurried.put(replica, new Hurry(deadBroker, now));
        timeout += MILLIS_PER_GROUP;
      }
      if (!checking && !hurried.isEmpty()) {
        scheduler.schedule(this::check, CHECK_MILLIS, TimeUnit.MILLISECONDS);
      }
    }
  }

  /** Differs from group to group, so that the load of a dead broker is shared. */
  private static int rank(Replica replica, int deadBroker) {
    List<Integer> survivors = new ArrayList<>(replica.memberBrokers());
    survivors.remove(Integer.valueOf(deadBroker));
    int first = Math.floorMod(replica.name().hashCode(), survivors.size());
    return Math.floorMod(survivors.indexOf(replica.brokerId()) - first, survivors.size());
  }

  private void check() {
    synchronized (hurried) {
      long now = System.nanoTime();
      unhurry((replica, hurry) -> isOver(replica, hurry, now));
      if (!hurried.isEmpty()) {
        scheduler.schedule(this::check, CHECK_MILLIS, TimeUnit.MILLISECONDS);
      }
    }
  }

  private static boolean isOver(Replica replica, Hurry hurry, long now) {
    int leader = replica.leader();
    return now - hurry.sinceNanos() > TimeUnit.MILLISECONDS.toNanos(GIVE_UP_MILLIS)
        || (leader != NOBODY && leader != hurry.deadBroker())
        // A short timeout also means a short lease, so a leader must not keep it.
        || replica.isLeader();
  }

  private void settle(int brokerId) {
    synchronized (hurried) {
      unhurry((replica, hurry) -> hurry.deadBroker() == brokerId);
    }
  }

  private void unhurry(BiPredicate<Replica, Hurry> which) {
    hurried
        .entrySet()
        .removeIf(
            entry -> {
              boolean over = which.test(entry.getKey(), entry.getValue());
              if (over) {
                entry.getKey().unhurryElection();
              }
              return over;
            });
  }

  @Override
  public void close() {
    scheduler.shutdownNow();
  }
}
