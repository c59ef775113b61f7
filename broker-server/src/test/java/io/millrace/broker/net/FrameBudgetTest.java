package io.millrace.broker.net;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class FrameBudgetTest {

  private final FrameBudget budget = new FrameBudget(100);
  private final List<String> granted = new ArrayList<>();

  private FrameBudget.Grant reserve(String name, long bytes) {
    return budget.reserve(bytes, () -> granted.add(name));
  }

  @Test
  void grantsAtOnceWhatFits() {
    FrameBudget.Grant a = reserve("a", 60);
    FrameBudget.Grant b = reserve("b", 40);
    assertThat(a.isGranted()).isTrue();
    assertThat(b.isGranted()).isTrue();
    assertThat(budget.used()).isEqualTo(100);
    assertThat(granted).isEmpty();
    a.release();
    a.release();
    b.release();
    assertThat(budget.used()).isZero();
  }

  @Test
  void servesThoseWhoWaitInOrderAlsoWhenALaterOneWouldFit() {
    FrameBudget.Grant first = reserve("first", 90);
    FrameBudget.Grant large = reserve("large", 80);
    FrameBudget.Grant small = reserve("small", 5);
    assertThat(large.isGranted()).isFalse();
    assertThat(small.isGranted()).isFalse();
    first.release();
    assertThat(granted).containsExactly("large", "small");
    assertThat(budget.used()).isEqualTo(85);
    assertThat(budget.waitingCount()).isZero();
  }

  @Test
  void whoLeavesTheQueueLetsTheNextIn() {
    FrameBudget.Grant first = reserve("first", 90);
    FrameBudget.Grant large = reserve("large", 80);
    FrameBudget.Grant small = reserve("small", 5);
    large.release();
    assertThat(granted).containsExactly("small");
    assertThat(small.isGranted()).isTrue();
    first.release();
    small.release();
    assertThat(budget.used()).isZero();
  }

  @Test
  void aFrameAsLargeAsTheBudgetGetsThroughAlone() {
    FrameBudget.Grant whole = reserve("whole", 100);
    FrameBudget.Grant next = reserve("next", 100);
    whole.release();
    assertThat(next.isGranted()).isTrue();
    next.release();
    assertThat(budget.used()).isZero();
    assertThat(granted).containsExactly("next");
  }
}
