package io.millrace.broker.raft.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.millrace.broker.raft.transport.NetworkFaults.Flow;
import io.millrace.broker.raft.transport.NetworkFaults.Link;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.IntRange;

class NetworkFaultsProperties {

  @Provide
  Arbitrary<Flow> flows() {
    return Combinators.combine(
            Arbitraries.of(true, false),
            Arbitraries.integers().between(0, NetworkFaults.MAX_DELAY_MILLIS),
            Arbitraries.integers().between(0, NetworkFaults.MAX_DELAY_MILLIS),
            Arbitraries.of(0.0, 100.0))
        .as(Flow::new);
  }

  /** Each direction of each link is decided by its own flow alone. */
  @Property
  void aMessageMeetsTheFaultsOfItsDirectionAndPeer(
      @ForAll("flows") Flow to, @ForAll("flows") Flow from, @ForAll long seed) {
    NetworkFaults faults = new NetworkFaults(new Random(seed)::nextDouble);
    faults.set(2, new Link(to, from));
    assertThat(faults.losesTo(2)).isEqualTo(alwaysLost(to));
    assertThat(faults.losesFrom(2)).isEqualTo(alwaysLost(from));
    assertThatIsLate(faults.delayNanosTo(2), to);
    assertThatIsLate(faults.delayNanosFrom(2), from);
    assertThatIsSound(faults, 3);
    boolean sound = to.equals(Flow.SOUND) && from.equals(Flow.SOUND);
    assertThat(faults.inForce()).isEqualTo(sound ? Map.of() : Map.of(2, new Link(to, from)));

    faults.heal();
    assertThatIsSound(faults, 2);
    assertThat(faults.inForce()).isEmpty();
    assertThat(faults.isActive()).isFalse();
  }

  private static boolean alwaysLost(Flow flow) {
    return flow.dropped() || flow.lossPercent() == 100;
  }

  private static void assertThatIsLate(long delayNanos, Flow flow) {
    long least = TimeUnit.MILLISECONDS.toNanos(flow.latencyMillis());
    assertThat(delayNanos)
        .isBetween(least, least + TimeUnit.MILLISECONDS.toNanos(flow.jitterMillis()));
  }

  private static void assertThatIsSound(NetworkFaults faults, int peer) {
    assertThat(faults.losesTo(peer)).isFalse();
    assertThat(faults.losesFrom(peer)).isFalse();
    assertThat(faults.delayNanosTo(peer)).isZero();
    assertThat(faults.delayNanosFrom(peer)).isZero();
  }

  @Property(tries = 50)
  void theStatedShareIsLost(@ForAll @DoubleRange(max = 100) double percent, @ForAll long seed) {
    NetworkFaults faults = new NetworkFaults(new Random(seed)::nextDouble);
    Flow lossy = new Flow(false, 0, 0, percent);
    faults.set(2, new Link(lossy, Flow.SOUND));
    faults.set(3, new Link(Flow.SOUND, lossy));
    assertThat(lostPercent(faults::losesTo, 2)).isCloseTo(percent, within(3.0));
    assertThat(lostPercent(faults::losesFrom, 3)).isCloseTo(percent, within(3.0));
    assertThat(lostPercent(faults::losesFrom, 2)).isZero();
    assertThat(lostPercent(faults::losesTo, 3)).isZero();
  }

  private static double lostPercent(IntPredicate loses, int peer) {
    int lost = 0;
    for (int i = 0; i < 10_000; i++) {
      lost += loses.test(peer) ? 1 : 0;
    }
    return lost / 100.0;
  }

  @Property(tries = 50)
  void jitterSpreadsOverItsWholeRange(
      @ForAll @IntRange(min = 1, max = 1000) int jitterMillis, @ForAll long seed) {
    NetworkFaults faults = new NetworkFaults(new Random(seed)::nextDouble);
    faults.set(2, new Link(new Flow(false, 5, jitterMillis, 0), Flow.SOUND));
    double sum = 0;
    for (int i = 0; i < 10_000; i++) {
      sum += faults.delayNanosTo(2) / 1e6;
    }
    assertThat(sum / 10_000).isCloseTo(5 + jitterMillis / 2.0, within(jitterMillis * 0.05));
  }

  @Example
  void whatIsReplacedIsGone() {
    NetworkFaults faults = new NetworkFaults();
    faults.isolateFrom(2);
    faults.isolateFrom(3);
    faults.replace(Map.of(3, new Link(Flow.CUT, Flow.SOUND)));
    assertThatIsSound(faults, 2);
    assertThat(faults.losesTo(3)).isTrue();
    assertThat(faults.losesFrom(3)).isFalse();
    assertThat(faults).hasToString("to broker 3: dropped, from it: sound");
  }

  @Example
  void aBrokerThatEndsIsCutOffFromWhoComesLaterToo() {
    NetworkFaults faults = new NetworkFaults();
    faults.isolateFromAll();
    assertThat(faults.losesTo(17)).isTrue();
    assertThat(faults.losesFrom(17)).isTrue();
    assertThat(faults.isActive()).isTrue();
  }

  @Example
  void valuesOutOfRangeAreRefusedWithTheLimit() {
    assertThatThrownBy(() -> new Flow(false, 10_001, 0, 0))
        .hasMessage("latency of 10001 ms is not in 0 to 10000 ms");
    assertThatThrownBy(() -> new Flow(false, 0, -1, 0))
        .hasMessage("jitter of -1 ms is not in 0 to 10000 ms");
    assertThatThrownBy(() -> new Flow(false, 0, 0, 100.5))
        .hasMessage("loss of 100.5 % is not in 0 to 100 %");
    assertThatThrownBy(() -> new Flow(false, 0, 0, Double.NaN))
        .hasMessage("loss of NaN % is not in 0 to 100 %");
  }
}
