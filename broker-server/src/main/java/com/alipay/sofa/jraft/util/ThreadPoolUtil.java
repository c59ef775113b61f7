package com.alipay.sofa.jraft.util;

import io.millrace.broker.raft.threads.InPlaceOfJRaft;
import io.millrace.broker.raft.threads.TickTimer;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionHandler;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Millrace's class under JRaft's name, with the methods that JRaft calls: builds pools that queue
 * instead of rejecting, whose threads end when idle.
 *
 * <p>Why: JRaft sends heartbeats and wakes replicators on pools without a queue. Each task that
 * comes while all threads are busy starts another thread, and the first beyond the maximum is
 * rejected, after which that follower gets no heartbeats, or no entries, for good (sofa-jraft
 * #1271). And each group allocates a queue of 10,000 places for a pool that it hardly uses. What
 * can be queued is bounded by what the groups have in flight.
 */
public final class ThreadPoolUtil implements InPlaceOfJRaft {

  /** Of a pool that JRaft would let grow; its tasks are short. */
  static final int MAX_THREADS = 8;

  private static final RejectedExecutionHandler ABORT = new ThreadPoolExecutor.AbortPolicy();

  private ThreadPoolUtil() {}

  public static PoolBuilder newBuilder() {
    return new PoolBuilder();
  }

  public static ScheduledPoolBuilder newScheduledBuilder() {
    return new ScheduledPoolBuilder();
  }

  public static ThreadPoolExecutor newThreadPool(
      String poolName,
      boolean enableMetric,
      int coreThreads,
      int maximumThreads,
      long keepAliveSeconds,
      BlockingQueue<Runnable> workQueue,
      ThreadFactory threadFactory) {
    return newThreadPool(
        poolName,
        enableMetric,
        coreThreads,
        maximumThreads,
        keepAliveSeconds,
        workQueue,
        threadFactory,
        ABORT);
  }

  public static ThreadPoolExecutor newThreadPool(
      String poolName,
      boolean enableMetric,
      int coreThreads,
      int maximumThreads,
      long keepAliveSeconds,
      BlockingQueue<Runnable> workQueue,
      ThreadFactory threadFactory,
      RejectedExecutionHandler rejectedHandler) {
    // A pool with a queue never grows beyond its core threads unless the queue is full.
    int threads =
        workQueue instanceof SynchronousQueue
            ? Math.min(maximumThreads, MAX_THREADS)
            : Math.max(1, coreThreads);
    ThreadPoolExecutor pool =
        new LogThreadPoolExecutor(
            threads,
            threads,
            Math.max(1, keepAliveSeconds),
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            threadFactory,
            rejectedHandler,
            poolName) {
          /** Heartbeats, which timers begin: the timer's thread is as good and awake already. */
          @Override
          public void execute(Runnable task) {
            if (!TickTimer.afterThisTask(task)) {
              super.execute(task);
            }
          }
        };
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  public static ScheduledThreadPoolExecutor newScheduledThreadPool(
      String poolName, boolean enableMetric, int coreThreads, ThreadFactory threadFactory) {
    return newScheduledThreadPool(poolName, enableMetric, coreThreads, threadFactory, ABORT);
  }

  public static ScheduledThreadPoolExecutor newScheduledThreadPool(
      String poolName,
      boolean enableMetric,
      int coreThreads,
      ThreadFactory threadFactory,
      RejectedExecutionHandler rejectedHandler) {
    return new LogScheduledThreadPoolExecutor(
        coreThreads, threadFactory, rejectedHandler, poolName);
  }

  /** Collects what a pool needs. */
  public static final class PoolBuilder {
    private String name = "";
    private int core = 1;
    private int maximum = 1;
    private long keepAlive = 1;
    private BlockingQueue<Runnable> queue;
    private ThreadFactory factory;
    private RejectedExecutionHandler rejected = ABORT;

    public PoolBuilder poolName(String poolName) {
      name = poolName;
      return this;
    }

    public PoolBuilder enableMetric(Boolean unused) {
      return this;
    }

    public PoolBuilder coreThreads(Integer coreThreads) {
      core = coreThreads;
      return this;
    }

    public PoolBuilder maximumThreads(Integer maximumThreads) {
      maximum = maximumThreads;
      return this;
    }

    public PoolBuilder keepAliveSeconds(Long keepAliveSeconds) {
      keepAlive = keepAliveSeconds;
      return this;
    }

    public PoolBuilder workQueue(BlockingQueue<Runnable> workQueue) {
      queue = workQueue;
      return this;
    }

    public PoolBuilder threadFactory(ThreadFactory threadFactory) {
      factory = threadFactory;
      return this;
    }

    public PoolBuilder rejectedHandler(RejectedExecutionHandler rejectedHandler) {
      rejected = rejectedHandler;
      return this;
    }

    public ThreadPoolExecutor build() {
      return newThreadPool(name, false, core, maximum, keepAlive, queue, factory, rejected);
    }
  }

  /** Collects what a pool with a clock needs. */
  public static final class ScheduledPoolBuilder {
    private String name = "";
    private int core = 1;
    private ThreadFactory factory;
    private RejectedExecutionHandler rejected = ABORT;

    public ScheduledPoolBuilder poolName(String poolName) {
      name = poolName;
      return this;
    }

    public ScheduledPoolBuilder enableMetric(Boolean unused) {
      return this;
    }

    public ScheduledPoolBuilder coreThreads(Integer coreThreads) {
      core = coreThreads;
      return this;
    }

    public ScheduledPoolBuilder threadFactory(ThreadFactory threadFactory) {
      factory = threadFactory;
      return this;
    }

    public ScheduledPoolBuilder rejectedHandler(RejectedExecutionHandler rejectedHandler) {
      rejected = rejectedHandler;
      return this;
    }

    public ScheduledThreadPoolExecutor build() {
      return newScheduledThreadPool(name, false, core, factory, rejected);
    }
  }
}
