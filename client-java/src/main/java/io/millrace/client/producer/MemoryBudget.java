package io.millrace.client.producer;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The producer's memory: bytes that undecided records take.
 *
 * <p>Threads: any. Reserving is one compare-and-set and done a few times per batch, not per record.
 */
final class MemoryBudget {

  private final long limit;
  private final AtomicLong used = new AtomicLong();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition released = lock.newCondition();
  private volatile int waiting;
  private boolean closed;

  MemoryBudget(long limit) {
    this.limit = limit;
  }

  boolean tryReserve(long bytes) {
    long now = used.get();
    while (now + bytes <= limit) {
      if (used.compareAndSet(now, now + bytes)) {
        return true;
      }
      now = used.get();
    }
    return false;
  }

  /** Also beyond the limit: for memory that is counted elsewhere and released there next. */
  void reserve(long bytes) {
    used.addAndGet(bytes);
  }

  void release(long bytes) {
    used.addAndGet(-bytes);
    if (waiting > 0) {
      signal();
    }
  }

  private void signal() {
    lock.lock();
    try {
      released.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until so many bytes look free, for at most {@code nanos}. Returns the time left, 0 or
   * less when it is over; whoever comes back tries to reserve again.
   */
  long awaitFree(long bytes, long nanos) throws InterruptedException {
    lock.lock();
    try {
      // Announced before the look: a release after the look then sees the waiter and signals.
      waiting++;
      long left = nanos;
      while (!closed && left > 0 && used.get() + bytes > limit) {
        left = released.awaitNanos(left);
      }
      return left;
    } finally {
      waiting--;
      lock.unlock();
    }
  }

  /** Ends all waits. */
  void close() {
    lock.lock();
    try {
      closed = true;
      released.signalAll();
    } finally {
      lock.unlock();
    }
  }

  long used() {
    return used.get();
  }

  long limit() {
    return limit;
  }
}
