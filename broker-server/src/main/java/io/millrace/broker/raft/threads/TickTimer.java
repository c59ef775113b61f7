package io.millrace.broker.raft.threads;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.Delayed;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A timer for many tasks that need no precision: they start at ticks, long delays only at every
 * so-and-so-many, so that the heartbeats and election timers of hundreds of groups fall due
 * together and cost one wake-up; with nothing to do in a tick nobody wakes.
 *
 * <p>Owns: the tasks that wait, and one daemon thread, started with the first task, which lives as
 * long as the JVM.
 *
 * <p>Threads: any. Tasks run on the given pool, some of a tick one after the other, so a task that
 * blocks delays at most {@link #TASKS_PER_RUN} others.
 *
 * <p>Errors: what a task throws is logged.
 */
public final class TickTimer {

  private static final Logger LOG = LoggerFactory.getLogger(TickTimer.class);

  /** Delays from here on are long. */
  static final long LONG_DELAY_MILLIS = 200;

  /** What waits for the end of the task that runs on this thread. */
  private static final ThreadLocal<Deque<Runnable>> AFTERWARDS = new ThreadLocal<>();

  /** Tasks of a tick that share a run on the pool. */
  static final int TASKS_PER_RUN = 8;

  private final String threadName;
  private final long tickNanos;
  private final Executor pool;
  private final long beginning = System.nanoTime();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition earlier = lock.newCondition();
  private final TreeMap<Long, List<Task>> byTick = new TreeMap<>(); // guarded by lock
  private boolean started; // guarded by lock

  TickTimer(String threadName, long tickMillis, Executor pool) {
    this.threadName = threadName;
    this.tickNanos = TimeUnit.MILLISECONDS.toNanos(tickMillis);
    this.pool = pool;
  }

  /**
   * Runs the action once, at the first tick that is not before the delay has passed.
   *
   * @param longTicks with a long delay the first tick of so many
   */
  Task schedule(Runnable action, long delay, TimeUnit unit, int longTicks) {
    long dueNanos = System.nanoTime() - beginning + Math.max(0, unit.toNanos(delay));
    Task task = new Task(action, dueNanos);
    int ticks = unit.toMillis(delay) >= LONG_DELAY_MILLIS ? longTicks : 1;
    long grain = ticks * tickNanos;
    long tick = (dueNanos + grain - 1) / grain * ticks;
    lock.lock();
    try {
      if (!started) {
        started = true;
        Thread thread = new Thread(this::run, threadName);
        thread.setDaemon(true);
        thread.start();
      }
      boolean first = byTick.isEmpty() || tick < byTick.firstKey();
      byTick.computeIfAbsent(tick, t -> new ArrayList<>()).add(task);
      if (first) {
        earlier.signal();
      }
    } finally {
      lock.unlock();
    }
    return task;
  }

  private void run() {
    while (true) {
      try {
        start(awaitTick());
      } catch (InterruptedException e) {
        // Nobody has a reason to interrupt it, and without it no group elects a leader.
        LOG.warn("{} was interrupted and goes on", threadName);
      } catch (RuntimeException | Error e) {
        LOG.error("{} could not start the tasks of a tick", threadName, e);
      }
    }
  }

  private List<Task> awaitTick() throws InterruptedException {
    lock.lock();
    try {
      while (true) {
        if (byTick.isEmpty()) {
          earlier.await();
        } else {
          long waitNanos = byTick.firstKey() * tickNanos - (System.nanoTime() - beginning);
          if (waitNanos <= 0) {
            return byTick.pollFirstEntry().getValue();
          }
          earlier.awaitNanos(waitNanos);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  private void start(List<Task> due) {
    due.removeIf(Task::isCancelled);
    for (int from = 0; from < due.size(); from += TASKS_PER_RUN) {
      List<Task> some = due.subList(from, Math.min(due.size(), from + TASKS_PER_RUN));
      pool.execute(() -> runAll(some));
    }
  }

  private static void runAll(List<Task> tasks) {
    Deque<Runnable> after = new ArrayDeque<>();
    AFTERWARDS.set(after);
    try {
      for (Task task : tasks) {
        task.run();
        for (Runnable next = after.poll(); next != null; next = after.poll()) {
          runContained(next);
        }
      }
    } finally {
      AFTERWARDS.remove();
    }
  }

  private static void runContained(Runnable action) {
    try {
      action.run();
    } catch (RuntimeException | Error e) {
      LOG.error("what a timer's task left to do failed", e);
    }
  }

  /**
   * Runs something on this thread when the present task of a timer is over, and so holds no lock
   * any more; a group's heartbeat timer hands its heartbeat to another thread only for that.
   *
   * @return false if this is no thread of a timer
   */
  public static boolean afterThisTask(Runnable action) {
    Deque<Runnable> after = AFTERWARDS.get();
    return after != null && after.add(action);
  }

  /**
   * One scheduled action; also what JRaft's schedulers hand out. Other than with a plain FutureTask
   * cancelling fails once the action has begun: JRaft decides by it who goes on.
   */
  final class Task extends FutureTask<Object> implements ScheduledFuture<Object> {
    private final long dueNanos;
    private final AtomicBoolean claimed = new AtomicBoolean();

    private Task(Runnable action, long dueNanos) {
      super(action, null);
      this.dueNanos = dueNanos;
    }

    @Override
    public void run() {
      if (claimed.compareAndSet(false, true)) {
        super.run();
      }
    }

    @Override
    protected void setException(Throwable failure) {
      LOG.error("a task of {} failed", threadName, failure);
      super.setException(failure);
    }

    boolean isStarted() {
      return claimed.get() && !isCancelled();
    }

    /** False if it has started, or was cancelled before. A running task is never interrupted. */
    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
      return claimed.compareAndSet(false, true) && super.cancel(false);
    }

    @Override
    public long getDelay(TimeUnit unit) {
      return unit.convert(dueNanos - (System.nanoTime() - beginning), TimeUnit.NANOSECONDS);
    }

    @Override
    public int compareTo(Delayed other) {
      return Long.compare(getDelay(TimeUnit.NANOSECONDS), other.getDelay(TimeUnit.NANOSECONDS));
    }
  }
}
