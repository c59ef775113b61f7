package io.millrace.client.internal;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The one thread on which futures of the application complete, so that a slow callback never stalls
 * the network.
 *
 * <p>Owns: the thread, which lives while there is something to complete. The queue is bounded by
 * what may be undecided: the producer gives memory back only after its futures are complete.
 */
public final class Callbacks {

  private static final long IDLE_SECONDS = 10;

  private final ThreadPoolExecutor executor;
  private volatile Thread thread;

  public Callbacks(String clientId) {
    executor =
        new ThreadPoolExecutor(
            1,
            1,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            task -> {
              Thread created = new Thread(task, "millrace-callback-" + clientId);
              created.setDaemon(true);
              thread = created;
              return created;
            });
    executor.allowCoreThreadTimeOut(true);
  }

  /** In order of the calls. After close it runs on the caller's thread: nothing may stay open. */
  public void execute(Runnable task) {
    try {
      executor.execute(task);
    } catch (RejectedExecutionException e) {
      task.run();
    }
  }

  public boolean onCallbackThread() {
    return Thread.currentThread() == thread;
  }

  /** Lets what is queued run, and waits for it unless this is the callback thread itself. */
  public void close(long timeoutMillis) {
    executor.shutdown();
    if (onCallbackThread()) {
      return;
    }
    try {
      executor.awaitTermination(timeoutMillis, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
