package io.millrace.client;

import java.util.List;
import java.util.UUID;

/**
 * A topic as a broker knows it.
 *
 * @param retentionMillis age at which records go, 0 = never
 * @param retentionBytes of record batches that each partition may hold, 0 = any number
 * @param segmentMillis log time that a segment may span, 0 = any
 * @param durability what the settings promise, in words
 */
public record TopicDescription(
    String name,
    UUID id,
    int replicas,
    FsyncPolicy fsync,
    int fsyncIntervalMillis,
    long segmentBytes,
    int maxRecordBytes,
    long retentionMillis,
    long retentionBytes,
    long segmentMillis,
    String durability,
    List<Partition> partitions) {

  /**
   * @param leader broker id, 0 = none known
   */
  public record Partition(int partition, int leader, long term, List<Replica> replicas) {}

  /**
   * @param started false: assigned, but not yet started for the first time
   */
  public record Replica(int broker, int idx, String incarnation, boolean started) {}
}
