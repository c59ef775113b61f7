package io.millrace.tools.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class DistributionTest {
  @Test
  void ofOneFigureIsThatFigure() {
    assertThat(Distribution.of(List.of(7))).isEqualTo(new Distribution(1, 7, 7, 7, 7));
  }

  @Test
  void theMedianOfAnEvenCountIsTheMeanOfTheTwoInTheMiddle() {
    assertThat(Distribution.of(List.of(40.0, 10.0, 20.0, 30.0)))
        .isEqualTo(new Distribution(4, 10, 25, 40, 40));
  }

  @Test
  void ninetyPercentOfTwentyDoNotExceedTheEighteenth() {
    List<Integer> figures = IntStream.rangeClosed(1, 20).boxed().toList();

    assertThat(Distribution.of(figures)).isEqualTo(new Distribution(20, 1, 10.5, 18, 20));
  }

  @Test
  void nothingHasNoDistribution() {
    assertThatThrownBy(() -> Distribution.of(List.<Integer>of()))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
