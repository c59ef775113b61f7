package io.millrace.broker.log;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Keeps reading to a number of bytes per second, evenly: time in which nothing was read is not made
 * up for.
 *
 * <p>Threads: one. Errors: {@link InterruptedIOException} if interrupted while it waits.
 */
public final class RatePacer implements Pacer {

  /** {@link TimeUnit#sleep}, or what a test puts in its place. */
  public interface Sleeper {
    void sleepNanos(long nanos) throws InterruptedException;
  }

  private static final double NANOS_PER_SECOND = 1e9;

  private final double nanosPerByte;
  private final LongSupplier nanoClock;
  private final Sleeper sleeper;
  private long freeAtNanos;

  public RatePacer(long bytesPerSecond, LongSupplier nanoClock, Sleeper sleeper) {
    if (bytesPerSecond < 1) {
      throw new IllegalArgumentException(
          "bytesPerSecond is " + bytesPerSecond + ", must be positive");
    }
    this.nanosPerByte = NANOS_PER_SECOND / bytesPerSecond;
    this.nanoClock = nanoClock;
    this.sleeper = sleeper;
    this.freeAtNanos = nanoClock.getAsLong();
  }

  public static RatePacer ofSystem(long bytesPerSecond) {
    return new RatePacer(bytesPerSecond, System::nanoTime, TimeUnit.NANOSECONDS::sleep);
  }

  @Override
  public void beforeRead(int bytes) throws IOException {
    long now = nanoClock.getAsLong();
    long wait = freeAtNanos - now;
    freeAtNanos = Math.max(0, wait) + now + (long) (bytes * nanosPerByte);
    if (wait > 0) {
      try {
        sleeper.sleepNanos(wait);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("interrupted");
      }
    }
  }
}
