package io.millrace.broker.cluster;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Chooses brokers for the replicas of new partitions. Pure: the same load gives the same placement.
 *
 * <p>The preferred leader comes first: the broker with the fewest preferred leaders. The other
 * replicas go where the fewest replicas are, among equals to brokers with more preferred leaders,
 * because one with fewer is about to be chosen as a leader. So topics of one replica count keep
 * both counts within 1 over equal brokers; {@code PlacementProperties} proves that, and a bound of
 * 3 for mixed counts.
 */
public final class Placement {

  private Placement() {}

  /** How many replicas and preferred leaders each broker has; changed as placement goes on. */
  public static final class Load {
    private final Map<Integer, Integer> replicas = new HashMap<>();
    private final Map<Integer, Integer> leaders = new HashMap<>();

    public static Load of(Collection<TopicEntry> topics) {
      Load load = new Load();
      for (TopicEntry topic : topics) {
        for (PartitionEntry partition : topic.partitions()) {
          load.add(partition.replicas().stream().map(ReplicaEntry::broker).toList());
        }
      }
      return load;
    }

    /** Counts one partition whose preferred leader comes first. */
    public void add(List<Integer> brokers) {
      brokers.forEach(broker -> replicas.merge(broker, 1, Integer::sum));
      leaders.merge(brokers.get(0), 1, Integer::sum);
    }

    public int replicas(int broker) {
      return replicas.getOrDefault(broker, 0);
    }

    public int leaders(int broker) {
      return leaders.getOrDefault(broker, 0);
    }
  }

  /**
   * Places new partitions and adds them to the load.
   *
   * @return for each partition its brokers, the preferred leader first
   * @throws IllegalArgumentException if there are fewer brokers than replicas
   */
  public static List<List<Integer>> place(
      int partitions, int replicas, Collection<Integer> brokers, Load load) {
    if (replicas < 1 || replicas > brokers.size()) {
      throw new IllegalArgumentException(
          replicas + " replicas cannot be placed on " + brokers.size() + " brokers");
    }
    List<List<Integer>> placed = new ArrayList<>(partitions);
    for (int p = 0; p < partitions; p++) {
      List<Integer> chosen = placeOne(replicas, brokers, load);
      load.add(chosen);
      placed.add(chosen);
    }
    return placed;
  }

  private static List<Integer> placeOne(int replicas, Collection<Integer> brokers, Load load) {
    Comparator<Integer> byLeaders =
        replicas == 1
            // Leader and only replica at once: no later choice evens out the replicas.
            ? Comparator.<Integer>comparingInt(b -> load.replicas(b) + load.leaders(b))
                .thenComparingInt(load::leaders)
            : Comparator.<Integer>comparingInt(load::leaders).thenComparingInt(load::replicas);
    int leader = brokers.stream().min(byLeaders.thenComparing(b -> b)).orElseThrow();
    List<Integer> chosen = new ArrayList<>(replicas);
    chosen.add(leader);
    brokers.stream()
        .filter(b -> b != leader)
        .sorted(
            Comparator.<Integer>comparingInt(load::replicas)
                .thenComparingInt(b -> -load.leaders(b))
                .thenComparing(b -> b))
        .limit(replicas - 1L)
        .forEach(chosen::add);
    return chosen;
  }
}
