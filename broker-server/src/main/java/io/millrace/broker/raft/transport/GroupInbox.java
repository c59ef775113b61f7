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
    synchronized (queue) {
      queue.add(task);
      if (running) {
        return;
      }
      running = true;
    }
    pool.execute(this::run);
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
