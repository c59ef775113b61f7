package io.millrace.broker.partition;

import io.millrace.broker.log.DiskSpace;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Bytes of all partitions of a broker that are proposed and not yet applied. They live on the heap
 * until then, so this is what keeps a broker with slow followers from running out of memory. The
 * disk that they are written to is asked here too.
 *
 * <p>Threads: any.
 */
public final class AppendBudget {

  private final long limitBytes;
  private final DiskSpace diskSpaceOrNull;
  private final AtomicLong usedBytes = new AtomicLong();

  /** Without a look at the disk. */
  public AppendBudget(long limitBytes) {
    this(limitBytes, null);
  }

  public AppendBudget(long limitBytes, DiskSpace diskSpaceOrNull) {
    if (limitBytes < 1) {
      throw new IllegalArgumentException(
          "append budget is " + limitBytes + " bytes; it must be at least 1");
    }
    this.limitBytes = limitBytes;
    this.diskSpaceOrNull = diskSpaceOrNull;
  }

  /** Why the disk takes no such batch now, in words; null if it does. */
  String diskRefusal(int bytes) {
    DiskSpace space = diskSpaceOrNull;
    return space == null || space.admits(bytes)
        ? null
        : space.freeBytes()
            + " bytes are free, and below "
            + space.limits().lowBytes()
            + " (disk.low.bytes) no records are taken; delete records or topics, or add space";
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
