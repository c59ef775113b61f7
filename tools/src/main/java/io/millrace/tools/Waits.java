package io.millrace.tools;

import java.time.Duration;

/** Bounded waits for something outside this process that sends no signal. */
public final class Waits {
  private static final long POLL_MILLIS = 20;

  /** A check that may look at files or processes. */
  public interface Check<E extends Exception> {
    boolean holds() throws E, InterruptedException;
  }

  private Waits() {}

  /** Returns whether the check held before the time was over. */
  public static <E extends Exception> boolean until(Duration limit, Check<E> check)
      throws E, InterruptedException {
    long deadline = System.nanoTime() + limit.toNanos();
    while (!check.holds()) {
      if (System.nanoTime() - deadline >= 0) {
        return false;
      }
      Thread.sleep(POLL_MILLIS);
    }
    return true;
  }
}
