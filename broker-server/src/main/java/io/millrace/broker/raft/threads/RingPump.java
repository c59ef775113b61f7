package io.millrace.broker.raft.threads;

import com.lmax.disruptor.EventHandler;
import com.lmax.disruptor.EventPoller;
import com.lmax.disruptor.EventPoller.PollState;
import com.lmax.disruptor.EventProcessor;
import com.lmax.disruptor.ExceptionHandler;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.Sequence;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one consumer of a ring, without a thread of its own: a published event brings it to a shared
 * pool, where it handles what there is and leaves.
 *
 * <p>Threads: {@link #signal} any. The handler is called by one thread at a time, in order; what it
 * wrote is visible to the thread that calls it next.
 *
 * <p>Errors: as with the stock consumer, an event whose handler throws is told to the exception
 * handler and skipped.
 */
final class RingPump<T> implements EventProcessor {

  private static final Logger LOG = LoggerFactory.getLogger(RingPump.class);

  /** Batches in a row before other rings get the thread. */
  private static final int RUN_BATCHES = 16;

  private final EventPoller<T> poller;
  private final EventHandler<? super T> handler;
  private final Executor pool;
  private final EventPoller.Handler<T> oneEvent = this::handle;
  // Signals that no run has answered yet. Whoever raises it from 0 brings the pump to the pool, and
  // only a run that takes it back to 0 leaves, so there is one run at a time and no signal is lost.
  // A counter and not a flag: both sides change it by read-modify-write, which orders the event's
  // publication, a plain ordered store, before the read that decides.
  private final AtomicInteger signals = new AtomicInteger();
  private volatile ExceptionHandler<? super T> exceptions;
  private volatile boolean running;

  RingPump(RingBuffer<T> ring, EventHandler<? super T> handler, Executor pool) {
    this.poller = ring.newPoller();
    this.handler = handler;
    this.pool = pool;
  }

  void setExceptionHandler(ExceptionHandler<? super T> exceptionHandler) {
    exceptions = exceptionHandler;
  }

  /** Something was published. */
  void signal() {
    if (running && signals.getAndIncrement() == 0) {
      boolean accepted = false;
      try {
        pool.execute(this::pump);
        accepted = true;
      } finally {
        if (!accepted) {
          signals.set(0); // The next event tries again.
        }
      }
    }
  }

  private void pump() {
    int answered = signals.get();
    do {
      int batches = 0;
      while (running && poll() == PollState.PROCESSING) {
        if (++batches == RUN_BATCHES) {
          pool.execute(this::pump); // The count stays above 0, so nobody else does.
          return;
        }
      }
      // An event that is claimed and not yet published is signalled by its publisher.
      answered = signals.addAndGet(-answered);
    } while (answered != 0);
  }

  private PollState poll() {
    try {
      return poller.poll(oneEvent);
    } catch (Exception e) {
      throw new IllegalStateException("handlers do not throw through the poller", e);
    }
  }

  private boolean handle(T event, long sequence, boolean endOfBatch) {
    try {
      handler.onEvent(event, sequence, endOfBatch);
    } catch (Throwable failure) {
      tell(failure, sequence, event);
    }
    return true;
  }

  private void tell(Throwable failure, long sequence, T event) {
    ExceptionHandler<? super T> told = exceptions;
    try {
      if (told != null) {
        told.handleEventException(failure, sequence, event);
      } else {
        LOG.error("the handler of event {} failed", sequence, failure);
      }
    } catch (RuntimeException e) {
      // The ring must go on: this is the only consumer.
      e.addSuppressed(failure);
      LOG.error("the exception handler of event {} failed", sequence, e);
    }
  }

  // ------------------------------------------------------------------------------- EventProcessor

  @Override
  public Sequence getSequence() {
    return poller.getSequence();
  }

  /** Begins to consume; called once, by the disruptor's start. */
  @Override
  public void run() {
    running = true;
    signal();
  }

  @Override
  public void halt() {
    running = false;
  }

  @Override
  public boolean isRunning() {
    return running;
  }
}
