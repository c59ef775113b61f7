package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashSet;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Assume;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.From;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

class PlacementProperties {

  private static List<Integer> brokers(int count) {
    return IntStream.rangeClosed(1, count).boxed().toList();
  }

  private static int spread(List<Integer> brokers, IntUnaryOperator count) {
    return brokers.stream().mapToInt(b -> count.applyAsInt(b)).max().orElse(0)
        - brokers.stream().mapToInt(b -> count.applyAsInt(b)).min().orElse(0);
  }

  @Provide
  Arbitrary<Integer> replicas() {
    return Arbitraries.of(1, 3, 5);
  }

  @Property(tries = 500)
  void topicsOfOneReplicaCountAreSpreadEvenly(
      @ForAll @IntRange(min = 1, max = 12) int brokerCount,
      @ForAll("replicas") int replicas,
      @ForAll @Size(max = 20) List<@IntRange(min = 1, max = 30) Integer> topics) {
    Assume.that(replicas <= brokerCount);
    List<Integer> brokers = brokers(brokerCount);
    Placement.Load load = new Placement.Load();
    for (int partitions : topics) {
      for (List<Integer> placed : Placement.place(partitions, replicas, brokers, load)) {
        assertThat(placed).hasSize(replicas);
        assertThat(new HashSet<>(placed)).hasSize(replicas);
        assertThat(brokers).containsAll(placed);
      }
      assertThat(spread(brokers, load::replicas)).isLessThanOrEqualTo(1);
      assertThat(spread(brokers, load::leaders)).isLessThanOrEqualTo(1);
    }
  }

  @Property(tries = 500)
  void topicsOfMixedReplicaCountsStayNearlyEven(
      @ForAll @IntRange(min = 5, max = 12) int brokerCount,
      @ForAll @Size(max = 60) List<@From("replicas") Integer> partitions) {
    List<Integer> brokers = brokers(brokerCount);
    Placement.Load load = new Placement.Load();
    for (int replicas : partitions) {
      Placement.place(1, replicas, brokers, load);
      assertThat(spread(brokers, load::replicas)).isLessThanOrEqualTo(3);
      assertThat(spread(brokers, load::leaders)).isLessThanOrEqualTo(2);
    }
  }

  @Property(tries = 200)
  void theSameLoadGivesTheSamePlacement(
      @ForAll @IntRange(min = 5, max = 9) int brokerCount,
      @ForAll @Size(max = 10) List<@From("replicas") Integer> before) {
    Placement.Load one = new Placement.Load();
    Placement.Load two = new Placement.Load();
    before.forEach(replicas -> Placement.place(2, replicas, brokers(brokerCount), one));
    before.forEach(replicas -> Placement.place(2, replicas, brokers(brokerCount), two));
    assertThat(Placement.place(7, 3, brokers(brokerCount), one))
        .isEqualTo(Placement.place(7, 3, brokers(brokerCount), two));
  }

  @Example
  void twelvePartitionsOnThreeBrokersHaveFourLeadersEach() {
    Placement.Load load = new Placement.Load();
    Placement.place(12, 3, brokers(3), load);
    assertThat(brokers(3)).allSatisfy(b -> assertThat(load.leaders(b)).isEqualTo(4));
    assertThat(brokers(3)).allSatisfy(b -> assertThat(load.replicas(b)).isEqualTo(12));
  }

  @Example
  void aNewBrokerGetsTheNextPartitions() {
    Placement.Load load = new Placement.Load();
    Placement.place(30, 3, brokers(3), load);
    List<List<Integer>> placed = Placement.place(10, 3, brokers(4), load);
    assertThat(placed).allSatisfy(replicas -> assertThat(replicas.get(0)).isEqualTo(4));
  }

  @Example
  void tooFewBrokersCannotBePlacedOn() {
    assertThatThrownBy(() -> Placement.place(1, 3, brokers(2), new Placement.Load()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("3 replicas cannot be placed on 2 brokers");
  }
}
