package io.millrace.tools;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class BrokerWatchTest {
  private static final Instant START = Instant.parse("2026-01-31T08:00:00Z");

  private final List<CompletableFuture<String>> asked = new ArrayList<>();
  private Instant now = START;
  private final BrokerWatch watch =
      new BrokerWatch(
          () -> {
            asked.add(new CompletableFuture<>());
            return asked.get(asked.size() - 1);
          },
          () -> now);

  @Test
  void aQuestionWithoutAnAnswerIsSilence() {
    watch.look();
    now = START.plusSeconds(10);
    asked.get(0).complete("here");
    now = START.plusSeconds(13);
    assertThat(watch.silentSince()).isEmpty();
    watch.look();
    assertThat(watch.silentSince()).isEmpty();

    now = START.plusSeconds(30);
    watch.look();

    assertThat(watch.silentSince()).contains(START.plusSeconds(13));
    assertThat(watch.silence()).startsWith("no broker answers since ");
    assertThat(asked).hasSize(2);
  }

  @Test
  void afterAFailureItIsAskedAgainAndAnAnswerEndsTheSilence() {
    watch.look();
    now = START.plusSeconds(30);
    asked.get(0).completeExceptionally(new IllegalStateException("nobody there"));
    assertThat(watch.silentSince()).contains(START);

    watch.look();
    asked.get(1).complete("back");

    assertThat(watch.silentSince()).isEmpty();
    assertThat(watch.silence()).isEmpty();
  }
}
