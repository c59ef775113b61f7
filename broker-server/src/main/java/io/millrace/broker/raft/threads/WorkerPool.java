package io.millrace.broker.raft.threads;

import java.util.ArrayDeque;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs tasks that may block on as few threads as that allows: a new thread only while all others
 * are busy, and the thread that went idle last is the first to get work again.
 *
 * <p>Why not a ThreadPoolExecutor: with a queue it starts its core threads although others are
 * idle, and without one it rejects tasks at its maximum. This one queues at its maximum.
 *
 * <p>Owns: its daemon threads, which end after ten idle seconds, so a pool that lives as long as
 * the JVM need not be closed.
 *
 * <p>Threads: any. Errors: what a task throws is logged, and the thread goes on.
 */
public final class WorkerPool implements Executor {

  private static final Logger LOG = LoggerFactory.getLogger(WorkerPool.class);

  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final String name;
  private final int maxThreads;
  private final long idleNanos;
  private final ReentrantLock lock = new ReentrantLock();
  private final ArrayDeque<Runnable> waiting = new ArrayDeque<>(); // guarded by lock
  private final ArrayDeque<Worker> idle = new ArrayDeque<>(); // guarded by lock
  private final Condition allEnded = lock.newCondition();
  private int threads; // guarded by lock
  private boolean closed; // guarded by lock
  private long started; // guarded by lock

  public WorkerPool(String name, int maxThreads) {
    this(name, maxThreads, IDLE_NANOS);
  }

  WorkerPool(String name, int maxThreads, long idleNanos) {
    if (maxThreads < 1) {
      throw new IllegalArgumentException("pool " + name + " of " + maxThreads + " threads");
    }
    this.name = name;
    this.maxThreads = maxThreads;
    this.idleNanos = idleNanos;
  }

  @Override
  public void execute(Runnable task) {
    if (task == null) {
      throw new NullPointerException("task");
    }
    Worker worker;
    lock.lock();
    try {
      if (closed) {
        throw new RejectedExecutionException(name + " is closed");
      }
      worker = idle.pollLast();
      if (worker != null) {
        worker.next = task;
      } else if (threads < maxThreads) {
        threads++;
        worker = new Worker(task, name + "-" + ++started);
      } else {
        waiting.add(task);
        return;
      }
    } finally {
      lock.unlock();
    }
    if (worker.isAlive()) {
      LockSupport.unpark(worker);
    } else {
      start(worker);
    }
  }

  private void start(Worker worker) {
    try {
      worker.start();
    } catch (OutOfMemoryError noThreadLeft) {
      lock.lock();
      try {
        threads--;
        if (threads == 0) {
          throw noThreadLeft;
        }
        waiting.add(worker.next);
      } finally {
        lock.unlock();
      }
      LOG.warn("no further thread for {}: {}", name, noThreadLeft.getMessage());
    }
  }

  /**
   * Takes no further task, lets the others end, and waits for that.
   *
   * @return false if some still run
   */
  public boolean close(long timeoutMillis) throws InterruptedException {
    long nanos = TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    lock.lock();
    try {
      closed = true;
      idle.forEach(LockSupport::unpark);
      while (threads > 0 && nanos > 0) {
        nanos = allEnded.awaitNanos(nanos);
      }
      return threads == 0;
    } finally {
      lock.unlock();
    }
  }

  /** Threads alive, idle ones included. */
  public int threads() {
    lock.lock();
    try {
      return threads;
    } finally {
      lock.unlock();
    }
  }

  int idleThreads() {
    lock.lock();
    try {
      return idle.size();
    } finally {
      lock.unlock();
    }
  }

  private final class Worker extends Thread {
    /** Written under the lock while this is idle or not started; taken by this thread. */
    volatile Runnable next;

    Worker(Runnable first, String threadName) {
      super(null, null, threadName);
      next = first;
      setDaemon(true);
    }

    @Override
    public void run() {
      for (Runnable task = next; task != null; task = await()) {
        try {
          task.run();
        } catch (Throwable t) {
          LOG.error("a task of {} failed", getName(), t);
        }
      }
    }

    /** The next task, or null when this thread must end. */
    private Runnable await() {
      lock.lock();
      try {
        next = waiting.poll();
        if (next != null) {
          return next;
        }
        idle.addLast(this);
      } finally {
        lock.unlock();
      }
      long end = System.nanoTime() + idleNanos;
      while (next == null) {
        long rest = end - System.nanoTime();
        if (retire(rest <= 0)) {
          return null;
        }
        // A task may have left the flag set; with it parking would return at once.
        Thread.interrupted();
        LockSupport.parkNanos(WorkerPool.this, Math.max(rest, 1));
      }
      return next;
    }

    /** False if there is no reason to, or work was handed over meanwhile. */
    private boolean retire(boolean timeIsOver) {
      lock.lock();
      try {
        boolean ends = (timeIsOver || closed) && idle.remove(this);
        if (ends && --threads == 0) {
          allEnded.signalAll();
        }
        return ends;
      } finally {
        lock.unlock();
      }
    }
  }
}
