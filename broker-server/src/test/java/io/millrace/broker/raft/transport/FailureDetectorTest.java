package io.millrace.broker.raft.transport;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class FailureDetectorTest {

  private final List<String> events = new ArrayList<>();
  private final Set<Integer> answering = new HashSet<>();
  private final List<Integer> pinged = new ArrayList<>();
  private final Map<Integer, List<Long>> lastSeen = new HashMap<>();
  private long ownLife;
  private long nowNanos = Long.MAX_VALUE - TimeUnit.SECONDS.toNanos(1); // The clock wraps round.
  private final FailureDetector detector =
      new FailureDetector(
          this::ping,
          () -> nowNanos,
          new FailureDetector.Listener() {
            @Override
            public void down(int brokerId, String reason) {
              events.add("down " + brokerId + ": " + reason);
            }

            @Override
            public void up(int brokerId) {
              events.add("up " + brokerId);
            }
          });

  private void ping(int brokerId, long life, long sentNanos, long seenLife, long seenNanos) {
    pinged.add(brokerId);
    ownLife = life;
    lastSeen.put(brokerId, List.of(seenLife, seenNanos));
    if (answering.contains(brokerId)) {
      detector.heard(brokerId);
    }
  }

  private void ticks(int count) {
    for (int i = 0; i < count; i++) {
      passMillis(FailureDetector.PING_INTERVAL_MILLIS);
      detector.tick();
    }
  }

  private void passMillis(long millis) {
    nowNanos += TimeUnit.MILLISECONDS.toNanos(millis);
  }

  private void connected(int... brokers) {
    for (int broker : brokers) {
      answering.add(broker);
      detector.connected(broker);
      assertThat(events).endsWith("up " + broker);
    }
  }

  @Test
  void aBrokerThatAnswersStaysUp() {
    connected(2, 3);
    assertThat(events).containsExactly("up 2", "up 3");
    events.clear();
    ticks(100);
    assertThat(events).isEmpty();
    assertThat(pinged).hasSize(200).containsOnly(2, 3);
  }

  @Test
  void aSilentBrokerIsDownOnce() {
    connected(2, 3);
    events.clear();
    ticks(5);
    answering.remove(2);
    ticks(7);
    assertThat(events).isEmpty();
    ticks(30);
    assertThat(events).containsExactly("down 2: nothing came from it for 800 ms");
  }

  @Test
  void anyRequestOfItCountsAsALifeSign() {
    connected(2);
    events.clear();
    answering.remove(2);
    for (int i = 0; i < 50; i++) {
      ticks(5);
      detector.heard(2);
    }
    assertThat(events).isEmpty();
  }

  @Test
  void aSilentBrokerThatIsHeardAgainIsUp() {
    connected(2);
    events.clear();
    answering.remove(2);
    ticks(20);
    answering.add(2);
    ticks(2);
    assertThat(events).containsExactly("down 2: nothing came from it for 800 ms", "up 2");
  }

  @Test
  void aRefusedConnectionIsDownAtOnceAndUntilItIsConnected() {
    connected(2);
    events.clear();
    ticks(3);
    detector.refused(2);
    detector.refused(2);
    answering.remove(2);
    ticks(5); // It was heard shortly before it went; that is no life sign.
    assertThat(events).containsExactly("down 2: its address refuses connections");
    passMillis(30);
    connected(2);
    ticks(5);
    assertThat(events).containsExactly("down 2: its address refuses connections", "up 2");
  }

  @Test
  void theTimeUpBeginsAnewAfterEachBreak() {
    assertThat(detector.upMillis(2)).isEqualTo(-1);
    connected(2);
    assertThat(detector.upMillis(2)).isZero();
    ticks(30);
    assertThat(detector.upMillis(2)).isEqualTo(30 * FailureDetector.PING_INTERVAL_MILLIS);
    answering.remove(2);
    ticks(10);
    assertThat(events).last().asString().startsWith("down 2");
    assertThat(detector.upMillis(2)).isEqualTo(-1);
    answering.add(2);
    ticks(10);
    assertThat(events).last().isEqualTo("up 2");
    assertThat(detector.upMillis(2)).isBetween(1L, 10 * FailureDetector.PING_INTERVAL_MILLIS);
  }

  @Test
  void nobodyWaitsForABrokerThatWasNeverThere() {
    detector.refused(2);
    ticks(50);
    assertThat(events).isEmpty();
    assertThat(pinged).isEmpty();
  }

  @Test
  void afterAPauseOfThisProcessTheOthersAreGivenTimeAgain() {
    connected(2, 3);
    events.clear();
    ticks(5);
    answering.clear();
    passMillis(60_000);
    ticks(7);
    assertThat(events).isEmpty();
    answering.add(2);
    ticks(5);
    assertThat(events).containsExactly("down 3: nothing came from it for 800 ms");
  }

  @Test
  void aPauseBringsNoDeadBrokerBack() {
    connected(2);
    events.clear();
    answering.clear();
    ticks(10);
    passMillis(60_000);
    ticks(3);
    assertThat(events).containsExactly("down 2: nothing came from it for 800 ms");
  }

  @Test
  void closedItSaysNothing() {
    connected(2);
    events.clear();
    answering.clear();
    detector.close();
    ticks(20);
    detector.refused(2);
    assertThat(events).isEmpty();
  }

  @Test
  void contactLastsHalfASecondFromTheSendingOfAnAnsweredPing() {
    connected(2);
    assertThat(detector.hasContact(2)).isFalse(); // Heard, but no ping was answered.
    ticks(1);
    long sentNanos = nowNanos;
    passMillis(200);
    detector.pinged(2, 9, 1000, ownLife, sentNanos);
    // Pings of two connections come in any order.
    detector.pinged(2, 9, 900, ownLife, sentNanos - 1_000_000);
    passMillis(299);
    assertThat(detector.hasContact(2)).isTrue();
    passMillis(1);
    assertThat(detector.hasContact(2)).isFalse();
    assertThat(detector.hasContact(3)).isFalse();
  }

  @Test
  void aBrokerThatIsDownIsNotInContact() {
    connected(2);
    ticks(1);
    detector.pinged(2, 9, 1000, ownLife, nowNanos);
    assertThat(detector.hasContact(2)).isTrue();
    detector.refused(2);
    assertThat(detector.hasContact(2)).isFalse();
  }

  /** It may have seen pings of the process that was here before; those prove nothing. */
  @Test
  void onlyPingsOfThisLifeCount() {
    connected(2);
    ticks(1);
    detector.pinged(2, 9, 1000, ownLife + 1, nowNanos);
    assertThat(detector.hasContact(2)).isFalse();
    detector.pinged(2, 9, 1100, 0, 0);
    assertThat(detector.hasContact(2)).isFalse();
  }

  @Test
  void aPingCarriesTheNewestOneOfTheOther() {
    connected(2);
    ticks(1);
    assertThat(lastSeen.get(2)).containsExactly(0L, 0L);
    detector.pinged(2, 9, 5000, 0, 0);
    detector.pinged(2, 9, 4000, 0, 0);
    ticks(1);
    assertThat(lastSeen.get(2)).containsExactly(9L, 5000L);
    detector.pinged(2, 10, 30, 0, 0); // Started anew, perhaps on another machine.
    ticks(1);
    assertThat(lastSeen.get(2)).containsExactly(10L, 30L);
  }
}
