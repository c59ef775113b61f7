package io.millrace.client;

/**
 * A topic to be created. Zero and null take the cluster's default.
 *
 * @param replicas 1, 3 or 5
 * @param fsyncIntervalMillis with {@link FsyncPolicy#INTERVAL}
 * @param retentionMillis age at which records go; default: they stay
 * @param retentionBytes of record batches that each partition may hold; default: any number
 * @param segmentMillis log time that a segment may span; default: a tenth of the retention time
 */
public record TopicSpec(
    String name,
    int partitions,
    int replicas,
    FsyncPolicy fsync,
    int fsyncIntervalMillis,
    long segmentBytes,
    int maxRecordBytes,
    long retentionMillis,
    long retentionBytes,
    long segmentMillis) {

  public TopicSpec {
    Checks.topicName(name);
    Checks.atLeast("partitions", partitions, 0);
    Checks.atLeast("replicas", replicas, 0);
    Checks.atLeast("fsyncIntervalMillis", fsyncIntervalMillis, 0);
    Checks.atLeast("segmentBytes", segmentBytes, 0);
    Checks.atLeast("maxRecordBytes", maxRecordBytes, 0);
    Checks.atLeast("retentionMillis", retentionMillis, 0);
    Checks.atLeast("retentionBytes", retentionBytes, 0);
    Checks.atLeast("segmentMillis", segmentMillis, 0);
  }

  /** Without limits of age and size. */
  public TopicSpec(
      String name,
      int partitions,
      int replicas,
      FsyncPolicy fsync,
      int fsyncIntervalMillis,
      long segmentBytes,
      int maxRecordBytes) {
    this(
        name,
        partitions,
        replicas,
        fsync,
        fsyncIntervalMillis,
        segmentBytes,
        maxRecordBytes,
        0,
        0,
        0);
  }

  public static TopicSpec of(String name, int partitions, int replicas) {
    return new TopicSpec(name, partitions, replicas, null, 0, 0, 0);
  }

  public TopicSpec withFsync(FsyncPolicy fsync) {
    return new TopicSpec(
        name,
        partitions,
        replicas,
        fsync,
        fsyncIntervalMillis,
        segmentBytes,
        maxRecordBytes,
        retentionMillis,
        retentionBytes,
        segmentMillis);
  }

  public TopicSpec withFsyncIntervalMillis(int fsyncIntervalMillis) {
    return new TopicSpec(
        name,
        partitions,
        replicas,
        fsync,
        fsyncIntervalMillis,
        segmentBytes,
        maxRecordBytes,
        retentionMillis,
        retentionBytes,
        segmentMillis);
  }

  public TopicSpec withSegmentBytes(long segmentBytes) {
    return new TopicSpec(
        name,
        partitions,
        replicas,
        fsync,
        fsyncIntervalMillis,
        segmentBytes,
        maxRecordBytes,
        retentionMillis,
        retentionBytes,
        segmentMillis);
  }

  public TopicSpec withMaxRecordBytes(int maxRecordBytes) {
    return new TopicSpec(
        name,
        partitions,
        replicas,
        fsync,
        fsyncIntervalMillis,
        segmentBytes,
        maxRecordBytes,
        retentionMillis,
        retentionBytes,
        segmentMillis);
  }

  public TopicSpec withRetentionMillis(long retentionMillis) {
    return new TopicSpec(
        name,
        partitions,
        replicas,
        fsync,
        fsyncIntervalMillis,
        segmentBytes,
        maxRecordBytes,
        retentionMillis,
        retentionBytes,
        segmentMillis);
  }

  public TopicSpec withRetentionBytes(long retentionBytes) {
    return new TopicSpec(
        name,
        partitions,
        replicas,
        fsync,
        fsyncIntervalMillis,
        segmentBytes,
        maxRecordBytes,
        retentionMillis,
        retentionBytes,
        segmentMillis);
  }

  public TopicSpec withSegmentMillis(long segmentMillis) {
    return new TopicSpec(
        name,
        partitions,
        replicas,
        fsync,
        fsyncIntervalMillis,
        segmentBytes,
        maxRecordBytes,
        retentionMillis,
        retentionBytes,
        segmentMillis);
  }
}
