package io.millrace.client.net;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Waiting times that double from first to most, each with 20 % jitter, so that many clients do not
 * come back in step.
 */
public record Backoff(long firstMillis, long mostMillis) {

  private static final double JITTER = 0.2;
  private static final int MAX_SHIFT = 30;

  /**
   * @param attempt 0 for the first wait
   */
  public long nanos(int attempt) {
    long millis = Math.min(mostMillis, firstMillis << Math.min(attempt, MAX_SHIFT));
    double factor = 1 - JITTER + 2 * JITTER * ThreadLocalRandom.current().nextDouble();
    return (long) (TimeUnit.MILLISECONDS.toNanos(millis) * factor);
  }
}
