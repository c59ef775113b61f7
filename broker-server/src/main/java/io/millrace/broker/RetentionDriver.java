package io.millrace.broker;

import io.millrace.broker.cluster.MetadataService;
import io.millrace.broker.cluster.ReplicaId;
import io.millrace.broker.cluster.TopicEntry;
import io.millrace.broker.partition.Partition;
import io.millrace.broker.partition.Retention;
import io.millrace.broker.raft.DeleteDelay;
import io.millrace.broker.raft.Replica;
import io.millrace.broker.raft.Replicas;
import io.millrace.protocol.message.TopicSettings;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks after the begin of every log of this broker, at intervals and when one has changed: where
 * this broker leads, records past the topic's limits go; on every replica, the files below the log
 * start go. Limits, and the size and age of segments, are read from the metadata at each look.
 *
 * <p>Owns: one thread, because the work is deleting files, and one log's disk never stops another
 * log's records.
 *
 * <p>Threads: {@link #wake} from any, without blocking.
 *
 * <p>Errors: a failed look is repeated at the next interval, and told when the reason is new.
 */
final class RetentionDriver implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(RetentionDriver.class);

  /** Of a topic with a limit in bytes, so much of it may wait to be deleted. */
  private static final int WAITING_PARTS = 20;

  private static final long CLOSE_MILLIS = 10_000;

  private final LocalPartitions partitions;
  private final Replicas replicas;
  private final MetadataService metadata;
  private final RetentionTimes times;
  private final ScheduledThreadPoolExecutor thread;
  private final Set<String> woken = ConcurrentHashMap.newKeySet();

  /** Groups with a file that is to be deleted before the next look at all. */
  private final Set<String> due = ConcurrentHashMap.newKeySet();

  /** Reason of the last failed look by group; the driver's thread. */
  private final Map<String, String> failures = new ConcurrentHashMap<>();

  RetentionDriver(
      int brokerId,
      LocalPartitions partitions,
      Replicas replicas,
      MetadataService metadata,
      RetentionTimes times) {
    this.partitions = partitions;
    this.replicas = replicas;
    this.metadata = metadata;
    this.times = times;
    this.thread =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread created = new Thread(task, "retention-" + brokerId);
              created.setDaemon(true);
              return created;
            });
    thread.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    thread.setRemoveOnCancelPolicy(true);
  }

  void start() {
    partitions.onChange(this::wake);
    thread.scheduleWithFixedDelay(
        this::lookAtAll, times.checkMillis(), times.checkMillis(), TimeUnit.MILLISECONDS);
  }

  private void lookAtAll() {
    partitions.startedByGroup().forEach(this::look);
  }

  /** Looks at one log soon. */
  void wake(String group) {
    later(woken, group, 0);
  }

  /** Looks once more after a time; of several wishes in one set the first counts. */
  private void later(Set<String> waiting, String group, long delayMillis) {
    if (!waiting.add(group)) {
      return;
    }
    try {
      thread.schedule(
          () -> {
            waiting.remove(group);
            ReplicaId id = partitions.idOf(group);
            if (id != null) {
              look(group, id);
            }
          },
          delayMillis,
          TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      LOG.debug("{}: no look, the broker stops", group, e);
    }
  }

  private void look(String group, ReplicaId id) {
    try {
      Partition partition = partitions.byGroup(group);
      Replica replica = replicas.running(group);
      TopicEntry topic = metadata.state().topic(id.topicId());
      if (partition == null || replica == null || topic == null) {
        return;
      }
      TopicSettings settings = topic.settings();
      replica.log().prefix().segmentLimits(settings.getSegmentBytes(), settings.getSegmentMillis());
      partition.retain(new Retention(settings.getRetentionMillis(), settings.getRetentionBytes()));
      long dueMillis =
          replica.releaseBelow(partition.logStart(), delayFor(settings), () -> wake(group));
      if (dueMillis < times.checkMillis()) {
        later(due, group, dueMillis);
      }
      failures.remove(group);
    } catch (IOException | RuntimeException e) {
      String reason = String.valueOf(e.getMessage());
      if (!reason.equals(failures.put(group, reason))) {
        LOG.warn("{}: files below the log start stay for now: {}", group, reason, e);
      }
    }
  }

  private DeleteDelay delayFor(TopicSettings settings) {
    long limit = settings.getRetentionBytes();
    return new DeleteDelay(
        times.deleteDelayMillis(), limit == 0 ? Long.MAX_VALUE : limit / WAITING_PARTS);
  }

  /** Returns when no look is running any more, or after some seconds. */
  @Override
  public void close() {
    partitions.onChange(group -> {});
    thread.shutdown();
    try {
      if (!thread.awaitTermination(CLOSE_MILLIS, TimeUnit.MILLISECONDS)) {
        LOG.warn(
            "deleting files takes longer than {} ms; the broker stops beside it", CLOSE_MILLIS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
