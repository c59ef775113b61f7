package io.millrace.broker.net;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bytes in use of one kind, with a limit that the users of the budget respect: {@link #charge}
 * never refuses, since what is charged exists already; over the limit its owners stop making more.
 * Threads: any.
 */
public final class NetworkBudget {

  private final String name;
  private final long limit;
  private final AtomicLong used = new AtomicLong();

  public NetworkBudget(String name, long limit) {
    this.name = name;
    this.limit = limit;
  }

  void charge(long bytes) {
    used.addAndGet(bytes);
  }

  void release(long bytes) {
    used.addAndGet(-bytes);
  }

  boolean isOver() {
    return used.get() > limit;
  }

  public String name() {
    return name;
  }

  public long used() {
    return used.get();
  }

  public long limit() {
    return limit;
  }
}
