package io.millrace.broker.raft.refill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ThrottleTest {

  private long now = TimeUnit.SECONDS.toNanos(5);
  private long slept;
  private final Throttle throttle =
      new Throttle(
          1000,
          () -> now,
          nanos -> {
            now += nanos;
            slept += nanos;
          });

  @Test
  void letsSoManyBytesPassPerSecond() throws InterruptedException {
    for (int i = 0; i < 20; i++) {
      throttle.acquire(500, () -> false);
    }
    // The last 500 have not been paid yet.
    assertThat(TimeUnit.NANOSECONDS.toMillis(slept)).isEqualTo(9500);
  }

  @Test
  void whatWasNotUsedIsLost() throws InterruptedException {
    throttle.acquire(1000, () -> false);
    now += TimeUnit.SECONDS.toNanos(60);
    throttle.acquire(1000, () -> false);
    assertThat(slept).isZero();
    throttle.acquire(1, () -> false);
    assertThat(TimeUnit.NANOSECONDS.toMillis(slept)).isEqualTo(1000);
  }

  @Test
  void nobodyWaitsForWhatIsOver() throws InterruptedException {
    throttle.acquire(1_000_000, () -> false);
    throttle.acquire(1, () -> slept >= TimeUnit.SECONDS.toNanos(2));
    assertThat(TimeUnit.NANOSECONDS.toMillis(slept)).isBetween(2000L, 2100L);
  }

  @Test
  void refusesToStandStill() {
    assertThatThrownBy(() -> new Throttle(0)).hasMessageContaining("0 bytes per second");
  }
}
