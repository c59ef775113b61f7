package io.millrace.broker.cluster;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the {@link Reconciler} on every metadata change and, slowly, without one.
 *
 * <p>Owns: one daemon thread, ended by {@link #close}.
 */
public final class ReconcilerThread implements MetadataGroup.Listener, AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(ReconcilerThread.class);

  private static final long PAUSE_AFTER_FAULT_MILLIS = 1000;
  private static final long CLOSE_WAIT_MILLIS = 10_000;

  private final Reconciler reconciler;
  private final MetadataGroup group;
  private final Thread thread;
  // At most a few permits: a pass takes all of them.
  private final Semaphore wanted = new Semaphore(1);
  private volatile boolean closed;

  public ReconcilerThread(Reconciler reconciler, MetadataGroup group, String threadName) {
    this.reconciler = reconciler;
    this.group = group;
    thread = new Thread(this::run, threadName);
    thread.setDaemon(true);
  }

  public void start() {
    group.addListener(this);
    thread.start();
  }

  /** Asks for a pass soon, from any thread. */
  public void wake() {
    if (wanted.availablePermits() == 0) {
      wanted.release();
    }
  }

  @Override
  public void metadataChanged() {
    wake();
  }

  private void run() {
    long pauseMillis = 0;
    while (!closed) {
      try {
        if (wanted.tryAcquire(pauseMillis, TimeUnit.MILLISECONDS)) {
          wanted.drainPermits();
        }
        if (!closed) {
          pauseMillis = reconciler.runPass();
        }
      } catch (InterruptedException e) {
        LOG.warn("the reconciler was interrupted and ends", e);
        return;
      } catch (RuntimeException e) {
        LOG.error("a pass of the reconciler failed", e);
        pauseMillis = PAUSE_AFTER_FAULT_MILLIS;
      }
    }
  }

  /** Ends the thread after its present step; replicas stay as they are. */
  @Override
  public void close() {
    closed = true;
    group.removeListener(this);
    reconciler.stop();
    wanted.release();
    try {
      thread.join(CLOSE_WAIT_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (thread.isAlive()) {
      LOG.warn("the reconciler is still busy {} ms after close", CLOSE_WAIT_MILLIS);
    }
  }
}
