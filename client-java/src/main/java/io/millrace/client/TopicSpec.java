package io.millrace.client;

/**
 * A topic to be created. Zero and null take the cluster's default.
 *
 * @param replicas 1, 3 or 5
 * @param fsyncIntervalMillis with {@link FsyncPolicy#INTERVAL}
 */
public record TopicSpec(
    String name,
    int partitions,
    int replicas,
    FsyncPolicy fsync,
    int fsyncIntervalMillis,
    long segmentBytes,
    int maxRecordBytes) {

  public TopicSpec {
    Checks.topicName(name);
    Checks.atLeast("partitions", partitions, 0);
    Checks.atLeast("replicas", replicas, 0);
    Checks.atLeast("fsyncIntervalMillis", fsyncIntervalMillis, 0);
    Checks.atLeast("segmentBytes", segmentBytes, 0);
    Checks.atLeast("maxRecordBytes", maxRecordBytes, 0);
  }

  public static TopicSpec of(String name, int partitions, int replicas) {
    return new TopicSpec(name, partitions, replicas, null, 0, 0, 0);
  }

  public TopicSpec withFsync(FsyncPolicy fsync) {
    return new TopicSpec(
        name, partitions, replicas, fsync, fsyncIntervalMillis, segmentBytes, maxRecordBytes);
  }

  public TopicSpec withFsyncIntervalMillis(int fsyncIntervalMillis) {
    return new TopicSpec(
        name, partitions, replicas, fsync, fsyncIntervalMillis, segmentBytes, maxRecordBytes);
  }

  public TopicSpec withSegmentBytes(long segmentBytes) {
    return new TopicSpec(
        name, partitions, replicas, fsync, fsyncIntervalMillis, segmentBytes, maxRecordBytes);
  }

  public TopicSpec withMaxRecordBytes(int maxRecordBytes) {
    return new TopicSpec(
        name, partitions, replicas, fsync, fsyncIntervalMillis, segmentBytes, maxRecordBytes);
  }
}
