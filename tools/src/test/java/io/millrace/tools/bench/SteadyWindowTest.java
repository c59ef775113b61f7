package io.millrace.tools.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class SteadyWindowTest {
  private static long millis(long millis) {
    return TimeUnit.MILLISECONDS.toNanos(millis);
  }

  @Test
  void theWarmUpIsLeftOut() {
    var window = new SteadyWindow(2);
    window.done(millis(5_000), millis(5_000), 1_000);
    window.done(millis(6_000), millis(6_000), 1_000);
    for (int i = 1; i <= 100; i++) {
      window.done(millis(6_000 + i * 10L), millis(i), 1_024);
    }

    SteadyWindow.Result result = window.result();

    assertThat(result.records()).isEqualTo(100);
    assertThat(result.seconds()).isEqualTo(1.0);
    assertThat(result.recordsPerSecond()).isEqualTo(100.0);
    assertThat(result.mibPerSecond()).isCloseTo(100.0 / 1_024, within(1e-9));
    assertThat(result.p50Millis()).isCloseTo(50, within(0.1));
    assertThat(result.p99Millis()).isCloseTo(99, within(0.1));
    assertThat(result.maxMillis()).isCloseTo(100, within(0.1));
  }

  @Test
  void withoutWarmUpTheWindowOpensWithTheFirstSending() {
    var window = new SteadyWindow(0);
    window.done(millis(100), millis(100), 1);
    window.done(millis(1_000), millis(10), 1);

    assertThat(window.result().seconds()).isEqualTo(1.0);
    assertThat(window.result().recordsPerSecond()).isEqualTo(2.0);
  }

  @Test
  void nothingMeasuredIsZeroNotNonsense() {
    var window = new SteadyWindow(10);
    window.done(1, 1, 1);
    window.failed();

    SteadyWindow.Result result = window.result();

    assertThat(result.records()).isZero();
    assertThat(result.recordsPerSecond()).isZero();
    assertThat(result.failed()).isEqualTo(1);
  }
}
