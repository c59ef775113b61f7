package io.millrace.broker.partition;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bytes of all partitions of a broker that are proposed and not yet applied. They live on the heap
 * until then, so this is what keeps a broker with slow followers from running out of memory.
 *
 * <p>Threads: any.
 */
public final class AppendBudget {

  private final long limitBytes;
  private final AtomicLong usedBytes = new AtomicLong();

  public AppendBudget(long limitBytes) {
    if (limitBytes < 1) {
      throw new IllegalArgumentException(
          "append budget is " + limitBytes + " bytes; it must be at least 1");
    }
    this.limitBytes = limitBytes;
  }

  /** Takes the bytes, or nothing. A batch larger than the whole budget passes when it is alone. */
  boolean tryAcquire(long bytes) {
    for (long used = usedBytes.get(); ; used = usedBytes.get()) {
      if (used != 0 && used + bytes > limitBytes) {
        return false;
      }
      if (usedBytes.compareAndSet(used, used + bytes)) {
        return true;
      }
    }
  }

  void release(long bytes) {
    usedBytes.addAndGet(-bytes);
  }

  public long usedBytes() {
    return usedBytes.get();
  }

  public long limitBytes() {
    return limitBytes;
  }
}
