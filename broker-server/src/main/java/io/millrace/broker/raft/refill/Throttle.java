package io.millrace.broker.raft.refill;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/**
 * Holds work to so many bytes per second, all users together; what was not used in the last second
 * is lost.
 *
 * <p>Threads: any; {@link #acquire} blocks.
 */
final class Throttle {

  /** Sleeps; {@link TimeUnit#sleep} but for tests. */
  interface Sleeper {
    void sleepNanos(long nanos) throws InterruptedException;
  }

  /** What a stop of the broker waits for at most; before a large segment the whole is minutes. */
  private static final long LONGEST_NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  private final long bytesPerSecond;
  private final LongSupplier nanoClock;
  private final Sleeper sleeper;
  private final ReentrantLock lock = new ReentrantLock();
  private long freeAtNanos; // guarded by lock

  Throttle(long bytesPerSecond) {
    this(bytesPerSecond, System::nanoTime, TimeUnit.NANOSECONDS::sleep);
  }

  Throttle(long bytesPerSecond, LongSupplier nanoClock, Sleeper sleeper) {
    if (bytesPerSecond < 1) {
      throw new IllegalArgumentException(bytesPerSecond + " bytes per second");
    }
    this.bytesPerSecond = bytesPerSecond;
    this.nanoClock = nanoClock;
    this.sleeper = sleeper;
    this.freeAtNanos = nanoClock.getAsLong();
  }

  /** Returns when so many bytes may be moved, or soon after {@code over} says that none will be. */
  void acquire(long bytes, BooleanSupplier over) throws InterruptedException {
    long costNanos = (long) ((double) bytes / bytesPerSecond * TimeUnit.SECONDS.toNanos(1));
    long waitNanos;
    lock.lock();
    try {
      long now = nanoClock.getAsLong();
      if (freeAtNanos - now < 0) {
        freeAtNanos = now;
      }
      waitNanos = freeAtNanos - now;
      freeAtNanos += costNanos;
    } finally {
      lock.unlock();
    }
    while (waitNanos > 0 && !over.getAsBoolean()) {
      long nap = Math.min(waitNanos, LONGEST_NAP_NANOS);
      sleeper.sleepNanos(nap);
      waitNanos -= nap;
    }
  }
}
