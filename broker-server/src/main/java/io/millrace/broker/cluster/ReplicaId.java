package io.millrace.broker.cluster;

import io.millrace.broker.cluster.message.ReplicaKey;
import java.util.Comparator;
import java.util.UUID;

/**
 * One replica of this broker. The broker and its incarnation are implied: both belong to the data
 * directory.
 *
 * @param idx counts the lives of this partition on this broker: a lost replica never comes back
 *     under its old idx
 */
public record ReplicaId(UUID topicId, int partition, int idx) implements Comparable<ReplicaId> {

  private static final Comparator<ReplicaId> ORDER =
      Comparator.comparing(ReplicaId::topicId)
          .thenComparingInt(ReplicaId::partition)
          .thenComparingInt(ReplicaId::idx);

  /** Name of the partition's Raft group and of its directory. */
  public String groupName() {
    return groupName(topicId, partition);
  }

  /** The same for a partition whose idx on this broker does not matter. */
  public static String groupName(UUID topicId, int partition) {
    return "t-" + topicId + "-" + partition;
  }

  ReplicaKey toKey() {
    return ReplicaKey.newBuilder()
        .setTopicId(Uuids.toBytes(topicId))
        .setPartition(partition)
        .setIdx(idx)
        .build();
  }

  static ReplicaId of(ReplicaKey key) {
    return new ReplicaId(Uuids.of(key.getTopicId()), key.getPartition(), key.getIdx());
  }

  @Override
  public int compareTo(ReplicaId other) {
    return ORDER.compare(this, other);
  }

  @Override
  public String toString() {
    return groupName() + (idx == 0 ? "" : "#" + idx);
  }
}
