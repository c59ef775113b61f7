package io.millrace.tools.topic;

import io.millrace.broker.cluster.TopicSettingsRules;
import io.millrace.client.FsyncPolicy;
import io.millrace.client.TopicDescription;
import io.millrace.client.TopicSpec;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.Quantities;
import io.millrace.tools.UsageFailure;
import io.millrace.tools.Words;
import java.time.Duration;
import picocli.CommandLine.Option;

/**
 * Settings of a topic to be created. What is not said is left to the cluster's defaults; limits are
 * checked by the cluster, which names them; a zero is refused here.
 */
public final class TopicSettingsOptions {
  /** The policies by the words that users type. */
  enum Fsync {
    always(FsyncPolicy.ALWAYS),
    interval(FsyncPolicy.INTERVAL),
    os(FsyncPolicy.OS);

    private final FsyncPolicy policy;

    Fsync(FsyncPolicy policy) {
      this.policy = policy;
    }
  }

  @Option(
      names = "--partitions",
      paramLabel = "N",
      description = "Number of partitions. Default: the cluster's")
  private Integer partitions;

  @Option(
      names = "--replicas",
      paramLabel = "N",
      description = "Copies of each partition: 1, 3 or 5. Default: the cluster's")
  private Integer replicas;

  @Option(
      names = "--fsync",
      paramLabel = "POLICY",
      description = {
        "When a record is acknowledged: ${COMPLETION-CANDIDATES}. always: on disk on a majority;",
        "interval, os: written on a majority, on disk later. Default: always"
      })
  private Fsync fsync;

  @Option(
      names = "--fsync-interval",
      paramLabel = "TIME",
      converter = Quantities.DurationConverter.class,
      description = "With --fsync interval: the longest time between two syncs")
  private Duration fsyncInterval;

  @Option(
      names = "--segment-bytes",
      paramLabel = "SIZE",
      converter = Quantities.BytesConverter.class,
      description = "Size at which a new segment file is begun")
  private Long segmentBytes;

  @Option(
      names = "--max-record-bytes",
      paramLabel = "SIZE",
      converter = Quantities.BytesConverter.class,
      description = "Largest record that is accepted. Default: 1 MiB")
  private Long maxRecordBytes;

  @Option(
      names = "--retention-time",
      paramLabel = "TIME",
      converter = Quantities.DurationConverter.class,
      description = {
        "Age at which records go, as in 7d. Default: records stay until the topic or the records",
        "are deleted"
      })
  private Duration retentionTime;

  @Option(
      names = "--retention-bytes",
      paramLabel = "SIZE",
      converter = Quantities.BytesConverter.class,
      description = {
        "Bytes that each partition may hold on each of its replicas; the oldest records go, and at",
        "least four fifths stay. Default: no limit"
      })
  private Long retentionBytes;

  @Option(
      names = "--segment-time",
      paramLabel = "TIME",
      converter = Quantities.DurationConverter.class,
      description = {
        "Time after which a new segment file is begun, because only whole files go. Default: a",
        "tenth of the retention time, at most a day"
      })
  private Duration segmentTime;

  /** Refuses what can not be meant, before anybody is asked. */
  public void requireSense() {
    requireAboveZero("--partitions", partitions, "1 to " + TopicSettingsRules.MAX_PARTITIONS);
    requireAboveZero("--replicas", replicas, "1, 3 or 5");
    requireAboveZero(
        "--fsync-interval",
        millisOf(fsyncInterval),
        TopicSettingsRules.MIN_FSYNC_INTERVAL_MILLIS
            + " to "
            + TopicSettingsRules.MAX_FSYNC_INTERVAL_MILLIS
            + " ms");
    requireAboveZero(
        "--segment-bytes",
        segmentBytes,
        TopicSettingsRules.MIN_SEGMENT_BYTES + " to " + TopicSettingsRules.MAX_SEGMENT_BYTES);
    requireAboveZero(
        "--max-record-bytes",
        maxRecordBytes,
        TopicSettingsRules.MIN_MAX_RECORD_BYTES + " to " + TopicSettingsRules.MAX_MAX_RECORD_BYTES);
    String times =
        " to " + Duration.ofMillis(TopicSettingsRules.MAX_RETENTION_MILLIS).toDays() + " days";
    requireAboveZero(
        "--retention-time",
        millisOf(retentionTime),
        TopicSettingsRules.MIN_RETENTION_MILLIS + " ms" + times);
    requireAboveZero(
        "--segment-time",
        millisOf(segmentTime),
        TopicSettingsRules.MIN_SEGMENT_MILLIS + " ms" + times);
    requireAboveZero(
        "--retention-bytes",
        retentionBytes,
        TopicSettingsRules.MIN_RETENTION_BYTES + " to " + TopicSettingsRules.MAX_RETENTION_BYTES);
  }

  private static Long millisOf(Duration time) {
    return time == null ? null : time.toMillis();
  }

  public TopicSpec spec(String topic) {
    return spec(topic, 0, 0);
  }

  /** With these counts where the user gave none. */
  public TopicSpec spec(String topic, int defaultPartitions, int defaultReplicas) {
    requireSense();
    return new TopicSpec(
        topic,
        partitions == null ? defaultPartitions : partitions,
        replicas == null ? defaultReplicas : replicas,
        fsync == null ? null : fsync.policy,
        fsyncInterval == null ? 0 : asInt(fsyncInterval.toMillis()),
        segmentBytes == null ? 0 : segmentBytes,
        maxRecordBytes == null ? 0 : asInt(maxRecordBytes),
        retentionTime == null ? 0 : retentionTime.toMillis(),
        retentionBytes == null ? 0 : retentionBytes,
        segmentTime == null ? 0 : segmentTime.toMillis());
  }

  /**
   * A topic that exists must be as the options say, or a measurement would be of something else.
   */
  public void requireSame(TopicDescription topic) {
    require(partitions == null || partitions == topic.partitions().size(), topic, "--partitions");
    require(replicas == null || replicas == topic.replicas(), topic, "--replicas");
    require(fsync == null || fsync.policy == topic.fsync(), topic, "--fsync");
  }

  /** Beyond an int is beyond every limit: the cluster refuses it and names the limit. */
  private static int asInt(long value) {
    return (int) Math.min(value, Integer.MAX_VALUE);
  }

  /** On the wire 0 means "not said", so the cluster would take its default for it. */
  private static void requireAboveZero(String option, Number value, String limits) {
    if (value != null && value.longValue() <= 0) {
      throw new UsageFailure(
          option + " " + value + " is not in " + limits + "; leave it out for the default");
    }
  }

  private static void require(boolean same, TopicDescription topic, String option) {
    if (!same) {
      throw new CommandFailure(
          "topic "
              + topic.name()
              + " exists with "
              + topic.partitions().size()
              + " partitions, "
              + topic.replicas()
              + " replicas and fsync "
              + Words.of(topic.fsync())
              + ", which is not what "
              + option
              + " says; leave the option out or use another topic");
    }
  }
}
