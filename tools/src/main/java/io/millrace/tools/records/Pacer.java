package io.millrace.tools.records;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Due times of an even rate: record n is due at start + n / rate.
 *
 * <p>Two uses: {@link #await} for traffic, which forgives a long stall instead of sending a burst,
 * and {@link #awaitOpenLoop} for measuring, which does not, so that a stall shows as latency
 * (coordinated omission would hide it).
 */
public final class Pacer {
  private static final long NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final long FORGIVEN_NANOS = NANOS_PER_SECOND;

  /** Waits until a point of {@link System#nanoTime}. */
  interface Sleeper {
    void sleepUntil(long nanoTime) throws InterruptedException;
  }

  private final double nanosPerRecord;
  private final LongSupplier clock;
  private final Sleeper sleeper;
  private long base;
  private long sent;

  /**
   * @param perSecond 0: never wait
   */
  public Pacer(double perSecond) {
    this(perSecond, System::nanoTime, Pacer::sleepUntil);
  }

  Pacer(double perSecond, LongSupplier clock, Sleeper sleeper) {
    this.nanosPerRecord = perSecond <= 0 ? 0 : NANOS_PER_SECOND / perSecond;
    this.clock = clock;
    this.sleeper = sleeper;
    this.base = clock.getAsLong();
  }

  /**
   * Waits for the next record's turn; after a stall of more than a second the schedule restarts.
   */
  public void await() throws InterruptedException {
    if (nanosPerRecord == 0) {
      return;
    }
    long due = dueNanos();
    long now = clock.getAsLong();
    if (now - due > FORGIVEN_NANOS) {
      base = now;
      sent = 0;
      due = now;
    }
    sleeper.sleepUntil(due);
    sent++;
  }

  /** Waits for the next record's turn and returns when it was due; without a rate: now. */
  public long awaitOpenLoop() throws InterruptedException {
    if (nanosPerRecord == 0) {
      return clock.getAsLong();
    }
    long due = dueNanos();
    sleeper.sleepUntil(due);
    sent++;
    return due;
  }

  private long dueNanos() {
    return base + (long) (sent * nanosPerRecord);
  }

  private static void sleepUntil(long nanoTime) throws InterruptedException {
    long left = nanoTime - System.nanoTime();
    if (left > 0) {
      TimeUnit.NANOSECONDS.sleep(left);
    }
  }
}
