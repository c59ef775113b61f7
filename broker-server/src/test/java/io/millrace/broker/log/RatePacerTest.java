package io.millrace.broker.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InterruptedIOException;
import org.junit.jupiter.api.Test;

class RatePacerTest {

  private long now = 1_000;
  private final RatePacer pacer = new RatePacer(1_000_000, () -> now, nanos -> now += nanos);

  @Test
  void manyReadsTakeTheTimeOfTheirBytes() throws IOException {
    for (int i = 0; i < 100; i++) {
      pacer.beforeRead(50_000);
    }
    // The first read waits for nothing, so it is that of 99.
    assertThat(now - 1_000).isEqualTo(99L * 50_000_000);
  }

  @Test
  void idleTimeIsNotMadeUpFor() throws IOException {
    pacer.beforeRead(1);
    now += 60_000_000_000L;
    long start = now;
    pacer.beforeRead(1_000_000);
    assertThat(now).isEqualTo(start);
    pacer.beforeRead(1);
    assertThat(now - start).isEqualTo(1_000_000_000L);
  }

  @Test
  void anInterruptEndsTheReading() throws IOException {
    RatePacer interrupted =
        new RatePacer(
            1,
            () -> 0,
            nanos -> {
              throw new InterruptedException();
            });
    interrupted.beforeRead(1);
    assertThatThrownBy(() -> interrupted.beforeRead(1)).isInstanceOf(InterruptedIOException.class);
    assertThat(Thread.interrupted()).isTrue();
    assertThatThrownBy(() -> new RatePacer(0, () -> 0, nanos -> {}))
        .hasMessage("bytesPerSecond is 0, must be positive");
  }
}
