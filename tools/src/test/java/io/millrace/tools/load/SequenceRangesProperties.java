package io.millrace.tools.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

class SequenceRangesProperties {
  private static final int HIGHEST = 30;

  @Property(tries = 500)
  void holdsWhatAPlainSetHolds(
      @ForAll List<@IntRange(min = -HIGHEST, max = HIGHEST) Integer> steps) {
    var ranges = new SequenceRanges();
    Set<Long> plain = new HashSet<>();
    // A negative step removes, so that ranges are split as well.
    for (int step : steps) {
      long number = Math.abs(step);
      if (step < 0) {
        ranges.remove(number);
        plain.remove(number);
      } else {
        ranges.add(number);
        plain.add(number);
      }
      for (long each = 0; each <= HIGHEST; each++) {
        assertThat(ranges.contains(each))
            .as("%d after %s", each, steps)
            .isEqualTo(plain.contains(each));
      }
    }
  }

  @Example
  void numbersInARowAreOneRange() {
    var ranges = new SequenceRanges();
    for (long number = 0; number < 100_000; number++) {
      ranges.add(number);
    }

    assertThat(ranges.ranges()).isEqualTo(1);
  }
}
