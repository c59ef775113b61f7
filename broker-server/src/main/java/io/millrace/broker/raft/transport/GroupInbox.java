package io.millrace.broker.raft.transport;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;

/**
 * Runs the requests of one group in their order of arrival on a shared pool, one at a time.
 *
 * <p>Threads: any.
 */
final class GroupInbox {

  /** Tasks of one group in a row before other groups get the thread. */
  private static final int RUN_LENGTH = 16;

  private final RaftMessageHandler handler;
  private final Executor pool;
  private final Queue<Runnable> queue = new ArrayDeque<>();
  private boolean running;

  GroupInbox(RaftMessageHandler handler, Executor pool) {
    this.handler = handler;
    this.pool = pool;
  }

  RaftMessageHandler handler() {
    return handler;
  }

  void execute(Runnable task) {
    Runnable run = add(task);
    if (run != null) {
      pool.execute(run);
    }
  }

  /**
   * Adds a task at the end.
   *
   * @return what the caller must run on the pool, so that a caller with tasks for many groups needs
   *     one turn there; null = a run is under way already
   */
  Runnable add(Runnable task) {
    synchronized (queue) {
      queue.add(task);
      if (running) {
        return null;
      }
      running = true;
    }
    return this::run;
  }

  private void run() {
    for (int i = 0; i < RUN_LENGTH; i++) {
      Runnable task;
      synchronized (queue) {
        task = queue.poll();
        if (task == null) {
          running = false;
          return;
        }
      }
      try {
        task.run();
      } catch (RuntimeException | Error e) {
        Thread thread = Thread.currentThread();
        thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
      }
    }
    pool.execute(this::run);
  }
}
