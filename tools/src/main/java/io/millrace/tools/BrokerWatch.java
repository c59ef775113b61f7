package io.millrace.tools;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

/**
 * Knows since when no broker answers, by asking for something small now and then.
 *
 * <p>Threads: {@link #look} on one thread; the rest from any.
 */
public final class BrokerWatch {
  /** Shorter silences are those of an election or of a broker passed over for the next. */
  static final Duration SILENT_AFTER = Duration.ofSeconds(3);

  private static final Duration INTERVAL = Duration.ofMillis(900);

  private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss");

  private final Supplier<CompletableFuture<?>> question;
  private final Supplier<Instant> clock;
  private CompletableFuture<?> asked = CompletableFuture.completedFuture(null);
  private Instant askedAt = Instant.EPOCH;

  /** When the first question since the last answer was asked; null: none is open. */
  private final AtomicReference<Instant> unanswered = new AtomicReference<>();

  /**
   * @param question fails, or stays without an answer, while no broker can be asked
   */
  public BrokerWatch(Supplier<CompletableFuture<?>> question, Supplier<Instant> clock) {
    this.question = question;
    this.clock = clock;
  }

  /** Asks again unless the last question is open or just asked; does not wait for the answer. */
  public void look() {
    Instant now = clock.get();
    if (!asked.isDone() || now.isBefore(askedAt.plus(INTERVAL))) {
      return;
    }
    askedAt = now;
    unanswered.compareAndSet(null, now);
    asked = question.get();
    asked.whenComplete(
        (answer, failure) -> {
          if (failure == null) {
            unanswered.set(null);
          }
        });
  }

  /** Since when nobody answers, if that is long. */
  public Optional<Instant> silentSince() {
    Instant since = unanswered.get();
    return since != null && Duration.between(since, clock.get()).compareTo(SILENT_AFTER) > 0
        ? Optional.of(since)
        : Optional.empty();
  }

  /** For people, on their clock; empty while brokers answer. */
  public String silence() {
    return silentSince()
        .map(
            since ->
                "no broker answers since "
                    + TIME.format(
                        since.truncatedTo(ChronoUnit.SECONDS).atZone(ZoneId.systemDefault())))
        .orElse("");
  }
}
