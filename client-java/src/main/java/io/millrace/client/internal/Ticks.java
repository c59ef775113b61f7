package io.millrace.client.internal;

/** Monotonic time in nanoseconds, never negative, so that plain comparison is right. */
public final class Ticks {

  /** Later than any time: never. */
  public static final long NEVER = Long.MAX_VALUE;

  private static final long ORIGIN = System.nanoTime();

  private Ticks() {}

  public static long now() {
    return System.nanoTime() - ORIGIN;
  }
}
