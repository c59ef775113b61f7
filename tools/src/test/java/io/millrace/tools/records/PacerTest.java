package io.millrace.tools.records;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class PacerTest {
  private final AtomicLong now = new AtomicLong(5);
  private final List<Long> slept = new ArrayList<>();

  private Pacer pacer(double perSecond) {
    return new Pacer(
        perSecond,
        now::get,
        until -> {
          slept.add(until - 5);
          now.set(Math.max(now.get(), until));
        });
  }

  private static long millis(long millis) {
    return TimeUnit.MILLISECONDS.toNanos(millis);
  }

  @Test
  void recordsAreDueEvenly() throws InterruptedException {
    Pacer pacer = pacer(100);

    for (int i = 0; i < 4; i++) {
      pacer.await();
    }

    assertThat(slept).containsExactly(0L, millis(10), millis(20), millis(30));
  }

  @Test
  void trafficForgivesALongStall() throws InterruptedException {
    Pacer pacer = pacer(100);
    pacer.await();
    now.addAndGet(millis(3_000));

    pacer.await();
    pacer.await();

    assertThat(slept).containsExactly(0L, millis(3_000), millis(3_010));
  }

  @Test
  void trafficCatchesUpAShortOne() throws InterruptedException {
    Pacer pacer = pacer(100);
    pacer.await();
    now.addAndGet(millis(500));

    pacer.await();
    pacer.await();

    assertThat(slept).containsExactly(0L, millis(10), millis(20));
  }

  @Test
  void measuringForgivesNothing() throws InterruptedException {
    Pacer pacer = pacer(100);
    assertThat(pacer.awaitOpenLoop()).isEqualTo(5);
    now.addAndGet(millis(3_000));

    assertThat(pacer.awaitOpenLoop()).isEqualTo(5 + millis(10));
    assertThat(pacer.awaitOpenLoop()).isEqualTo(5 + millis(20));
  }

  @Test
  void withoutARateNothingWaits() throws InterruptedException {
    Pacer pacer = pacer(0);
    pacer.await();
    now.set(77);

    assertThat(pacer.awaitOpenLoop()).isEqualTo(77);
    assertThat(slept).isEmpty();
  }
}
