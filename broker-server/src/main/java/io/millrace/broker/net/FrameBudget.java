package io.millrace.broker.net;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Memory for frames that are being received. A connection reserves the whole frame before it reads
 * on, so frames that have begun always come to their end; reserving piece by piece could leave
 * every connection with half a frame and no budget for the other half.
 *
 * <p>Owns: the queue of connections that wait, first come first served; each waits with at most one
 * frame. Threads: any; a grant that had to wait is announced on the thread that released.
 */
final class FrameBudget {

  private final long limit;
  private final Deque<Grant> waiting = new ArrayDeque<>();
  private long used;

  FrameBudget(long limit) {
    this.limit = limit;
  }

  /** One reservation; {@link #release} gives it back, or leaves the queue. */
  final class Grant {

    private final long bytes;
    private final Runnable onGranted;
    private State state = State.WAITING;

    private Grant(long bytes, Runnable onGranted) {
      this.bytes = bytes;
      this.onGranted = onGranted;
    }

    boolean isGranted() {
      synchronized (FrameBudget.this) {
        return state == State.GRANTED;
      }
    }

    /** Idempotent. */
    void release() {
      FrameBudget.this.release(this);
    }
  }

  private enum State {
    WAITING,
    GRANTED,
    RELEASED
  }

  /**
   * Reserves, or queues up.
   *
   * @param bytes at most the limit: larger frames were refused by their length
   * @param onGranted called once, only when the answer is a grant that waits
   */
  synchronized Grant reserve(long bytes, Runnable onGranted) {
    Grant grant = new Grant(Math.min(bytes, limit), onGranted);
    if (waiting.isEmpty() && used + grant.bytes <= limit) {
      used += grant.bytes;
      grant.state = State.GRANTED;
    } else {
      waiting.add(grant);
    }
    return grant;
  }

  private void release(Grant released) {
    Deque<Grant> granted = new ArrayDeque<>();
    synchronized (this) {
      switch (released.state) {
        case GRANTED -> used -= released.bytes;
        case WAITING -> waiting.remove(released);
        case RELEASED -> {
          return;
        }
      }
      released.state = State.RELEASED;
      while (!waiting.isEmpty() && used + waiting.peek().bytes <= limit) {
        Grant next = waiting.poll();
        used += next.bytes;
        next.state = State.GRANTED;
        granted.add(next);
      }
    }
    granted.forEach(grant -> grant.onGranted.run());
  }

  synchronized long used() {
    return used;
  }

  long limit() {
    return limit;
  }

  synchronized int waitingCount() {
    return waiting.size();
  }
}
