package io.millrace.broker.cluster;

import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The real {@link Scheduler}.
 *
 * <p>Owns: one daemon thread, ended by {@link #close}.
 *
 * <p>Errors: what a task throws is logged; other tasks go on. Tasks scheduled after close never
 * run.
 */
public final class ThreadScheduler implements Scheduler, AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(ThreadScheduler.class);
  private static final Scheduled NEVER = () -> {};

  private final ScheduledThreadPoolExecutor executor;

  public ThreadScheduler(String threadName) {
    executor =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, threadName);
              thread.setDaemon(true);
              return thread;
            });
    // Deadlines are cancelled far more often than they pass.
    executor.setRemoveOnCancelPolicy(true);
    executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  @Override
  public long nowMillis() {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
  }

  @Override
  public Scheduled schedule(long delayMillis, Runnable task) {
    try {
      Future<?> future =
          executor.schedule(() -> run(task), Math.max(0, delayMillis), TimeUnit.MILLISECONDS);
      return () -> future.cancel(false);
    } catch (RejectedExecutionException e) {
      LOG.debug("a timer was set after the scheduler was closed");
      return NEVER;
    }
  }

  private static void run(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException e) {
      LOG.error("a timer task failed", e);
    }
  }

  @Override
  public void close() {
    executor.shutdownNow();
  }
}
