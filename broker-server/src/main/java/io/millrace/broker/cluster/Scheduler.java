package io.millrace.broker.cluster;

/**
 * Clock and timers of this package, so that tests turn them by hand.
 *
 * <p>Threads: any. Tasks run on one thread and must not block.
 */
public interface Scheduler {

  /** Milliseconds of a clock that never goes back; only differences mean something. */
  long nowMillis();

  Scheduled schedule(long delayMillis, Runnable task);

  /** A task that has not run yet. */
  interface Scheduled {
    /** The task will not begin any more; it may be running. */
    void cancel();
  }
}
