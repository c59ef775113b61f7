package io.millrace.tools.bench.failover;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class AckGapsTest {
  private static AckGaps gaps(long fault, long warmUp, long end, long... acks) {
    return AckGaps.around(acks, fault, warmUp, end);
  }

  @Test
  void theGapThatTheFaultFallsIntoCountsFromItsBeginning() {
    AckGaps gaps = gaps(105, 0, 220, 0, 10, 20, 100, 180, 190, 220);

    assertThat(gaps).isEqualTo(new AckGaps(80, -5, 80, false));
  }

  @Test
  void aGapThatBeginsAfterTheFaultCountsToo() {
    // Receipts that were on their way come after the fault; then nothing for long.
    AckGaps gaps = gaps(105, 0, 1_010, 100, 110, 115, 1_000, 1_010);

    assertThat(gaps).isEqualTo(new AckGaps(885, 10, 0, false));
  }

  @Test
  void gapsOfTheWarmUpAreNotUsual() {
    AckGaps gaps = gaps(1_000, 100, 1_010, 0, 90, 95, 120, 160, 995, 1_005);

    // 0 to 90 and 95 to 120 begin within the first 100; 120 to 160 and 160 to 995 do not.
    assertThat(gaps.longestBeforeNanos()).isEqualTo(835);
    assertThat(gaps.longestNanos()).isEqualTo(10);
    assertThat(gaps(1_000, 100, 1_010, 0, 90, 995, 1_005).longestBeforeNanos()).isZero();
  }

  @Test
  void orderDoesNotMatter() {
    assertThat(gaps(100, 0, 300, 300, 90, 101, 50))
        .isEqualTo(gaps(100, 0, 300, 50, 90, 101, 300))
        .isEqualTo(new AckGaps(199, 1, 40, false));
  }

  @Test
  void withoutAnAcknowledgementAfterTheFaultTheGapIsOpen() {
    assertThat(gaps(100, 0, 5_100, 80, 90)).isEqualTo(new AckGaps(5_010, -10, 10, true));
    assertThat(gaps(100, 0, 5_100)).isEqualTo(new AckGaps(5_000, 0, 0, true));
  }

  @Test
  void theClockMayBeNegativeOrOverflow() {
    long[] acks = LongStream.of(-10, 0, 3, 90, 100).map(at -> Long.MAX_VALUE - 5 + at).toArray();

    AckGaps gaps = AckGaps.around(acks, Long.MAX_VALUE, 0, Long.MAX_VALUE - 5 + 100);

    assertThat(gaps).isEqualTo(new AckGaps(87, -2, 10, false));
  }
}
