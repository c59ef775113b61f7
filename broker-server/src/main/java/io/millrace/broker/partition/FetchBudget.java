package io.millrace.broker.partition;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What all fetches of a broker may use: bytes of answers that are not sent yet, and fetches that
 * wait.
 *
 * <p>Threads: any.
 */
public final class FetchBudget {

  public static final long DEFAULT_MAX_RESPONSE_BYTES = 256L * 1024 * 1024;
  public static final int DEFAULT_MAX_WAITING = 10_000;

  private final long maxResponseBytes;
  private final int maxWaiting;
  private final AtomicLong responseBytes = new AtomicLong();
  private final AtomicInteger waiting = new AtomicInteger();

  public FetchBudget(long maxResponseBytes, int maxWaiting) {
    if (maxResponseBytes < 1 || maxWaiting < 0) {
      throw new IllegalArgumentException(
          "fetch budget is "
              + maxResponseBytes
              + " bytes and "
              + maxWaiting
              + " waiting fetches; it must be at least 1 and 0");
    }
    this.maxResponseBytes = maxResponseBytes;
    this.maxWaiting = maxWaiting;
  }

  public static FetchBudget defaults() {
    return new FetchBudget(DEFAULT_MAX_RESPONSE_BYTES, DEFAULT_MAX_WAITING);
  }

  /** Takes the bytes, or nothing. An answer larger than the whole budget passes when alone. */
  boolean tryTakeBytes(long bytes) {
    for (long used = responseBytes.get(); ; used = responseBytes.get()) {
      if (used != 0 && used + bytes > maxResponseBytes) {
        return false;
      }
      if (responseBytes.compareAndSet(used, used + bytes)) {
        return true;
      }
    }
  }

  void releaseBytes(long bytes) {
    responseBytes.addAndGet(-bytes);
  }

  boolean tryWait() {
    if (waiting.incrementAndGet() > maxWaiting) {
      waiting.decrementAndGet();
      return false;
    }
    return true;
  }

  void endWait() {
    waiting.decrementAndGet();
  }

  public long responseBytes() {
    return responseBytes.get();
  }

  public long maxResponseBytes() {
    return maxResponseBytes;
  }

  /** Fetches that wait now. */
  public int waiting() {
    return waiting.get();
  }

  public int maxWaiting() {
    return maxWaiting;
  }
}
