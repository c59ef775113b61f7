package io.millrace.tools.topic;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class TopicsTest {
  private static final List<String> NAMES = List.of("load", "orders", "orders-dlq", "payments");

  @Test
  void theNearestNameIsTheOneOfATypingError() {
    assertThat(Topics.nearest("order", NAMES)).contains("orders");
    assertThat(Topics.nearest("Orders", NAMES)).contains("orders");
    assertThat(Topics.nearest("orders-dql", NAMES)).contains("orders-dlq");
    assertThat(Topics.nearest("paymnets", NAMES)).contains("payments");
  }

  @Test
  void aNameLikeNoOtherHasNone() {
    assertThat(Topics.nearest("clicks", NAMES)).isEmpty();
    assertThat(Topics.nearest("x", NAMES)).isEmpty();
    assertThat(Topics.nearest("orders", List.of())).isEmpty();
  }

  @Test
  void theLineSaysWhereToLook() {
    assertThat(Topics.unknown("UNKNOWN_TOPIC: topic 'order' does not exist", "order", NAMES))
        .isEqualTo(
            "UNKNOWN_TOPIC: topic 'order' does not exist; did you mean orders?"
                + " (see: bin/millrace topic list)");
  }
}
