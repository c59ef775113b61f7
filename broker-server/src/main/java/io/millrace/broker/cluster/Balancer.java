package io.millrace.broker.cluster;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Decides which leader should move next so that leaders are spread evenly. Pure.
 *
 * <p>A move is worth making if it evens the counts (the giving broker leads at least two more), or,
 * with a difference of one, if it brings the leader to its preferred broker. The first kind lowers
 * the sum of the squared counts, the second keeps it and raises the number of preferred leaders: so
 * a series of moves always ends, and never undoes itself.
 */
public final class Balancer {

  private Balancer() {}

  /**
   * A partition that has a leader.
   *
   * @param replicas brokers, the preferred leader first
   * @param movable all replicas are up and in sync and nothing forbids a move now
   */
  public record Led(LeaderDirectory.Key key, int leader, List<Integer> replicas, boolean movable) {}

  public record Move(LeaderDirectory.Key key, int from, int to) {}

  /** The best next move, or empty if leaders are as even as single moves can make them. */
  public static Optional<Move> decide(Collection<Led> partitions) {
    Map<Integer, Integer> counts = new HashMap<>();
    partitions.forEach(p -> counts.merge(p.leader(), 1, Integer::sum));
    Move best = null;
    long bestScore = 0;
    for (Led partition : partitions) {
      if (!partition.movable()) {
        continue;
      }
      for (int to : partition.replicas()) {
        long score = score(partition, to, counts);
        if (score > bestScore
            || (score == bestScore && best != null && isBefore(partition, to, best))) {
          bestScore = score;
          best = new Move(partition.key(), partition.leader(), to);
        }
      }
    }
    return Optional.ofNullable(best);
  }

  /** 0 = not worth it. */
  private static long score(Led partition, int to, Map<Integer, Integer> counts) {
    if (to == partition.leader()) {
      return 0;
    }
    int difference = counts.get(partition.leader()) - counts.getOrDefault(to, 0);
    boolean preferred = to == partition.replicas().get(0);
    boolean fromPreferred = partition.leader() == partition.replicas().get(0);
    if (difference >= 2) {
      return 4L * difference + (preferred ? 2 : 0) + (fromPreferred ? 0 : 1);
    }
    return difference == 1 && preferred ? 1 : 0;
  }

  private static boolean isBefore(Led partition, int to, Move best) {
    int byKey = partition.key().compareTo(best.key());
    return byKey < 0 || (byKey == 0 && to < best.to());
  }
}
