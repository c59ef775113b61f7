package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.cluster.Balancer.Led;
import io.millrace.broker.cluster.Balancer.Move;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.stream.IntStream;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

class BalancerProperties {

  private static LeaderDirectory.Key key(int partition) {
    return new LeaderDirectory.Key(new UUID(7, 1), partition);
  }

  private static Led led(int partition, int leader, Integer... replicas) {
    return new Led(key(partition), leader, List.of(replicas), true);
  }

  private static Map<Integer, Integer> counts(List<Led> partitions) {
    Map<Integer, Integer> counts = new HashMap<>();
    partitions.forEach(p -> counts.merge(p.leader(), 1, Integer::sum));
    return counts;
  }

  private static long squares(List<Led> partitions) {
    return counts(partitions).values().stream().mapToLong(c -> (long) c * c).sum();
  }

  private static long preferred(List<Led> partitions) {
    return partitions.stream().filter(p -> p.leader() == p.replicas().get(0)).count();
  }

  /** Partitions as placement makes them, led by whoever won the election. */
  private static List<Led> elected(int brokers, int replicas, int partitions, Random random) {
    List<List<Integer>> placed =
        Placement.place(
            partitions,
            replicas,
            IntStream.rangeClosed(1, brokers).boxed().toList(),
            new Placement.Load());
    List<Led> led = new ArrayList<>();
    for (int p = 0; p < partitions; p++) {
      List<Integer> brokersOf = placed.get(p);
      led.add(new Led(key(p), brokersOf.get(random.nextInt(replicas)), brokersOf, true));
    }
    return led;
  }

  private static void apply(List<Led> partitions, Move move) {
    partitions.replaceAll(
        p -> p.key().equals(move.key()) ? new Led(p.key(), move.to(), p.replicas(), true) : p);
  }

  @Property(tries = 500)
  void aSeriesOfMovesEndsAndNeverUndoesItself(
      @ForAll @IntRange(min = 3, max = 7) int brokers,
      @ForAll @IntRange(min = 1, max = 60) int partitions,
      @ForAll long seed) {
    List<Led> led = elected(brokers, 3, partitions, new Random(seed));
    int moves = 0;
    for (Optional<Move> next = Balancer.decide(led); next.isPresent(); ) {
      Move move = next.get();
      Led before = led.stream().filter(p -> p.key().equals(move.key())).findFirst().orElseThrow();
      assertThat(before.leader()).isEqualTo(move.from());
      assertThat(before.replicas()).contains(move.to());
      assertThat(move.to()).isNotEqualTo(move.from());
      long squares = squares(led);
      long preferred = preferred(led);
      apply(led, move);
      assertThat(squares(led) < squares || (squares(led) == squares && preferred(led) > preferred))
          .isTrue();
      assertThat(++moves).isLessThan(1000);
      next = Balancer.decide(led);
    }
  }

  @Property(tries = 300)
  void onThreeBrokersLeadersEndUpWithinOne(
      @ForAll @IntRange(min = 1, max = 60) int partitions, @ForAll long seed) {
    List<Led> led = elected(3, 3, partitions, new Random(seed));
    for (Optional<Move> next = Balancer.decide(led); next.isPresent(); ) {
      apply(led, next.get());
      next = Balancer.decide(led);
    }
    int most =
        IntStream.rangeClosed(1, 3).map(b -> counts(led).getOrDefault(b, 0)).max().getAsInt();
    int least =
        IntStream.rangeClosed(1, 3).map(b -> counts(led).getOrDefault(b, 0)).min().getAsInt();
    assertThat(most - least).isLessThanOrEqualTo(1);
  }

  @Example
  void theMostUnevenPairGoesFirst() {
    List<Led> led =
        List.of(led(0, 1, 2, 1, 3), led(1, 1, 1, 2, 3), led(2, 1, 3, 2, 1), led(3, 2, 2, 1, 3));
    assertThat(Balancer.decide(led)).contains(new Move(key(2), 1, 3));
  }

  @Example
  void withOneMoreTheLeaderGoesHome() {
    assertThat(Balancer.decide(List.of(led(0, 1, 2, 1, 3)))).contains(new Move(key(0), 1, 2));
    assertThat(Balancer.decide(List.of(led(0, 2, 2, 1, 3)))).isEmpty();
    // A swap would make counts uneven in between.
    assertThat(Balancer.decide(List.of(led(0, 1, 2, 1, 3), led(1, 2, 1, 2, 3)))).isEmpty();
  }

  @Example
  void whatMayNotMoveStillCounts() {
    Led fixed = new Led(key(0), 1, List.of(1, 2, 3), false);
    assertThat(Balancer.decide(List.of(fixed))).isEmpty();
    assertThat(Balancer.decide(List.of(fixed, led(1, 1, 1, 2, 3))))
        .contains(new Move(key(1), 1, 2));
  }

  @Example
  void nothingToDoWithoutLeaders() {
    assertThat(Balancer.decide(List.of())).isEmpty();
    assertThat(Balancer.decide(List.of(led(0, 1, 1)))).isEmpty();
  }
}
