package io.millrace.broker.raft.refill;

import io.millrace.broker.log.Disk;
import io.millrace.broker.log.DiskSpace;
import io.millrace.broker.log.LogListener;
import io.millrace.broker.log.SyncMark;
import io.millrace.broker.raft.ReplicaSpec;
import io.millrace.broker.raft.storage.VotesJournal;
import io.millrace.broker.raft.transport.PeerNetwork;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The refills of one broker: a few at once, and all together within a limit of bytes per second, so
 * that the others keep disk and network.
 *
 * <p>Owns: its threads, and the logs of the replicas that are refilled. Threads: any. A refill that
 * waits for a source holds no thread.
 */
public final class Refills implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Refills.class);

  private static final int AT_ONCE = 4;

  private final Disk disk;
  private final VotesJournal votes;
  private final PeerNetwork network;
  private final DiskSpace diskSpace;
  private final Throttle throttle;
  private final long leaseNanos;
  private final ScheduledThreadPoolExecutor threads;
  private final Map<String, RefillJob> jobs = new ConcurrentHashMap<>();

  /**
   * @param leaseNanos for so long a leader may count on having heard a majority, and some more
   */
  public Refills(
      int brokerId,
      Disk disk,
      VotesJournal votes,
      PeerNetwork network,
      DiskSpace diskSpace,
      long bytesPerSecond,
      long leaseNanos) {
    this.disk = disk;
    this.votes = votes;
    this.network = network;
    this.diskSpace = diskSpace;
    this.throttle = new Throttle(bytesPerSecond);
    this.leaseNanos = leaseNanos;
    AtomicInteger count = new AtomicInteger();
    threads =
        new ScheduledThreadPoolExecutor(
            AT_ONCE,
            task -> {
              Thread thread =
                  new Thread(task, "refill-" + brokerId + "-" + count.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            });
    threads.setKeepAliveTime(10, TimeUnit.SECONDS);
    threads.allowCoreThreadTimeOut(true);
    threads.setRemoveOnCancelPolicy(true);
    threads.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  /**
   * Begins to refill a replica that does not run; its health says that it must not vote.
   *
   * @param failedAbove above this mark nothing may be kept, because an fsync failed; null = none
   *     did
   * @param refilled run on a thread of the refills when its health is OK again
   */
  public void begin(
      ReplicaSpec spec, LogListener listener, SyncMark failedAbove, Runnable refilled) {
    RefillJob job =
        new RefillJob(
            disk,
            votes,
            spec,
            listener,
            failedAbove,
            new RefillPeers(network),
            diskSpace,
            throttle,
            leaseNanos);
    if (jobs.putIfAbsent(spec.name(), job) != null) {
      throw new IllegalStateException(spec.name() + " is refilled already");
    }
    LOG.info("{}: will be refilled", spec.name());
    schedule(spec.name(), job, refilled, 0);
  }

  private void schedule(String name, RefillJob job, Runnable refilled, long delayMillis) {
    if (!threads.isShutdown()) {
      threads.schedule(() -> run(name, job, refilled), delayMillis, TimeUnit.MILLISECONDS);
    }
  }

  private void run(String name, RefillJob job, Runnable refilled) {
    long again = job.attempt();
    if (again == RefillJob.DONE) {
      jobs.remove(name, job);
      refilled.run();
    } else if (again != RefillJob.HOPELESS) {
      schedule(name, job, refilled, again);
    }
  }

  /** Ends the refill of a replica, if there is one; returns when its log is closed. */
  public void stop(String name) {
    RefillJob job = jobs.remove(name);
    if (job != null) {
      job.cancel();
    }
  }

  /** Null if the replica is not refilled. */
  public RefillProgress progress(String name) {
    RefillJob job = jobs.get(name);
    return job == null ? null : job.progress();
  }

  /** The log of a replica that is refilled, for other brokers; null if it is not open. */
  public ReplicaSource.Source source(String name) {
    RefillJob job = jobs.get(name);
    return job == null ? null : job.asSource();
  }

  /** Ends all; returns when their logs are closed. */
  @Override
  public void close() {
    threads.shutdown();
    jobs.keySet().forEach(this::stop);
  }
}
