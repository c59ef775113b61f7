package io.millrace.broker.raft.threads;

import com.lmax.disruptor.EventFactory;
import com.lmax.disruptor.EventHandler;
import com.lmax.disruptor.ExceptionHandler;
import com.lmax.disruptor.Sequence;
import com.lmax.disruptor.SequenceBarrier;
import com.lmax.disruptor.WaitStrategy;
import com.lmax.disruptor.dsl.Disruptor;
import com.lmax.disruptor.dsl.EventHandlerGroup;
import com.lmax.disruptor.dsl.ProducerType;
import java.util.concurrent.Executor;

/**
 * A disruptor with one event handler that has no thread: see {@link RingPump}. JRaft makes four per
 * group; with a thread each, a broker of 1,000 partitions would have thousands that wait.
 */
public final class PooledDisruptor<T> extends Disruptor<T> {

  private final Wakeup wakeup;
  private final Executor pool;
  private RingPump<T> pump;

  public PooledDisruptor(
      EventFactory<T> events, int ringSize, ProducerType producers, Executor pool) {
    this(events, ringSize, producers, pool, new Wakeup());
  }

  // The constructor with an executor is deprecated because a pool may be too small for consumers
  // that never leave; ours leaves.
  @SuppressWarnings("deprecation")
  private PooledDisruptor(
      EventFactory<T> events, int ringSize, ProducerType producers, Executor pool, Wakeup wakeup) {
    super(events, ringSize, (Executor) Runnable::run, producers, wakeup);
    this.wakeup = wakeup;
    this.pool = pool;
  }

  @Override
  @SuppressWarnings({"unchecked", "varargs"})
  public EventHandlerGroup<T> handleEventsWith(EventHandler<? super T>... handlers) {
    if (handlers.length != 1 || pump != null) {
      throw new IllegalArgumentException("a pooled disruptor has exactly one handler");
    }
    pump = new RingPump<>(getRingBuffer(), handlers[0], pool);
    wakeup.pump = pump;
    return handleEventsWith(pump);
  }

  @Override
  public void setDefaultExceptionHandler(ExceptionHandler<? super T> exceptionHandler) {
    super.setDefaultExceptionHandler(exceptionHandler);
    pump.setExceptionHandler(exceptionHandler);
  }

  /** Where a ring tells that something was published. Nobody ever waits here. */
  private static final class Wakeup implements WaitStrategy {
    private volatile RingPump<?> pump;

    @Override
    public long waitFor(
        long sequence, Sequence cursor, Sequence dependent, SequenceBarrier barrier) {
      return dependent.get();
    }

    @Override
    public void signalAllWhenBlocking() {
      RingPump<?> target = pump;
      if (target != null) {
        target.signal();
      }
    }
  }
}
