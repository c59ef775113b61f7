package io.millrace.broker.partition;

import io.netty.util.Timeout;
import io.netty.util.Timer;
import io.netty.util.TimerTask;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** A timer whose time the test moves. */
final class ManualTimer implements Timer {

  private final List<Entry> entries = new ArrayList<>();
  private long nowMillis;
  private boolean stopped;

  /** Runs once, inside the next newTimeout. */
  Runnable duringNewTimeout;

  private final class Entry implements Timeout {
    private final TimerTask task;
    private final long atMillis;
    private boolean cancelled;
    private boolean expired;

    Entry(TimerTask task, long atMillis) {
      this.task = task;
      this.atMillis = atMillis;
    }

    @Override
    public Timer timer() {
      return ManualTimer.this;
    }

    @Override
    public TimerTask task() {
      return task;
    }

    @Override
    public boolean isExpired() {
      return expired;
    }

    @Override
    public boolean isCancelled() {
      return cancelled;
    }

    @Override
    public boolean cancel() {
      synchronized (ManualTimer.this) {
        cancelled = true;
        return entries.remove(this);
      }
    }
  }

  @Override
  public Timeout newTimeout(TimerTask task, long delay, TimeUnit unit) {
    Timeout timeout = add(task, delay, unit);
    Runnable now = duringNewTimeout;
    duringNewTimeout = null;
    if (now != null) {
      now.run();
    }
    return timeout;
  }

  private synchronized Timeout add(TimerTask task, long delay, TimeUnit unit) {
    if (stopped) {
      throw new IllegalStateException("the timer is stopped");
    }
    Entry entry = new Entry(task, nowMillis + unit.toMillis(delay));
    entries.add(entry);
    return entry;
  }

  @Override
  public synchronized Set<Timeout> stop() {
    stopped = true;
    return Set.of();
  }

  /** Runs what is due, outside the lock, as a real timer does. */
  void advance(long millis) {
    List<Entry> due;
    synchronized (this) {
      nowMillis += millis;
      due = entries.stream().filter(e -> e.atMillis <= nowMillis).toList();
      entries.removeAll(due);
    }
    for (Entry entry : due) {
      entry.expired = true;
      try {
        entry.task.run(entry);
      } catch (Exception e) {
        throw new AssertionError("a timer task threw", e);
      }
    }
  }

  synchronized int waiting() {
    return entries.size();
  }
}
