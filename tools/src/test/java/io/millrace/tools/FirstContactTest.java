package io.millrace.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.client.error.UnreachableException;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class FirstContactTest {
  private final AtomicLong now = new AtomicLong();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();
  private final FirstContact contact =
      new FirstContact(
          List.of("h:1", "h:2"),
          Duration.ofSeconds(30),
          new Progress(
              new Terminal(
                  InputStream.nullInputStream(),
                  new PrintStream(new ByteArrayOutputStream()),
                  new PrintStream(err, true),
                  false,
                  Map.of()),
              false),
          now::get);

  private FirstContact.Attempt failing(Map<String, String> reasons) {
    return timeoutMillis -> {
      now.addAndGet(TimeUnit.MILLISECONDS.toNanos(timeoutMillis));
      throw new UnreachableException("nobody", reasons);
    };
  }

  private long nowMillis() {
    return TimeUnit.NANOSECONDS.toMillis(now.get());
  }

  @Test
  void refusedEverywhereEndsSoonAndSaysTheHint() {
    var refused = failing(Map.of("h:1", "connection refused", "h:2", "connection refused"));

    assertThatThrownBy(() -> contact.await(refused, "no cluster is recorded in /home"))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("h:1 (connection refused), h:2 (connection refused)")
        .hasMessageEndingWith("; no cluster is recorded in /home");
    assertThat(nowMillis()).isBetween(5_000L, 5_500L);
    assertThat(err.toString()).isEqualToIgnoringNewLines("waiting for h:1, h:2...");
  }

  @Test
  void aSilentAddressIsWaitedForAsLongAsARequestMayTake() {
    var silent = failing(Map.of("h:1", "connection refused", "h:2", "no answer to the connect"));

    assertThatThrownBy(() -> contact.await(silent, "")).isInstanceOf(CommandFailure.class);
    assertThat(nowMillis()).isBetween(30_000L, 30_500L);
  }

  @Test
  void anAnswerEndsTheWait() {
    contact.await(timeoutMillis -> {}, "");

    assertThat(err.toString()).isEmpty();
  }
}
