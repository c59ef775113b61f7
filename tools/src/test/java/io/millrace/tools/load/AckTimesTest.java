package io.millrace.tools.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class AckTimesTest {
  private final AtomicLong now = new AtomicLong();
  private final AckTimes times = new AckTimes(now::get);

  private void at(long millis) {
    now.set(TimeUnit.MILLISECONDS.toNanos(millis));
  }

  @Test
  void theLongestGapIsBetweenAnyTwoAndAPartitionHasItsOwn() {
    at(10);
    times.acked(0, now.get());
    at(20);
    times.acked(1, now.get());
    at(320);
    times.acked(1, now.get());
    at(900);
    times.acked(1, now.get());
    at(1_000);
    times.acked(0, now.get());

    assertThat(times.summary().longestGapMillis()).isEqualTo(580);
    assertThat(times.summary().partition()).isZero();
    assertThat(times.summary().partitionGapMillis()).isEqualTo(990);
  }

  @Test
  void aGapThatNeverEndsCounts() {
    at(10);
    times.acked(0, now.get());
    at(5_010);

    times.sendingEnded();

    assertThat(times.summary().longestGapMillis()).isEqualTo(5_000);
    assertThat(times.summary().partitionGapMillis()).isEqualTo(5_000);
    assertThat(times.summary().partition()).isZero();
  }

  @Test
  void waitingForAnAcknowledgementThatDoesNotComeIsAGap() {
    at(10);
    times.acked(0, now.get());
    times.acked(1, now.get());
    at(20);
    times.sendingEnded();
    at(6_010);
    times.missed(1);
    at(7_010);
    times.missed(AckTimes.NO_PARTITION);

    assertThat(times.summary().longestGapMillis()).isEqualTo(7_000);
    assertThat(times.summary().partition()).isEqualTo(1);
    assertThat(times.summary().partitionGapMillis()).isEqualTo(6_000);
  }

  @Test
  void latencyCountsFromTheSending() {
    at(100);
    times.acked(0, TimeUnit.MILLISECONDS.toNanos(60));

    assertThat(times.summary().maxMicros()).isBetween(40_000L, 40_100L);
  }
}
