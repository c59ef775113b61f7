package io.millrace.broker.cluster;

import io.millrace.protocol.message.TopicSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * A topic with its settings and the target of its partitions.
 *
 * @param createdIndex index of the metadata entry that created it
 */
public record TopicEntry(
    String name,
    UUID id,
    TopicSettings settings,
    List<PartitionEntry> partitions,
    long createdIndex) {

  public TopicEntry {
    partitions = List.copyOf(partitions);
  }

  /** Null if there is no such partition. */
  public PartitionEntry partition(int number) {
    return number >= 0 && number < partitions.size() ? partitions.get(number) : null;
  }

  TopicEntry with(TopicSettings changed) {
    return new TopicEntry(name, id, changed, partitions, createdIndex);
  }

  TopicEntry with(int number, PartitionEntry changed) {
    List<PartitionEntry> copy = new ArrayList<>(partitions);
    copy.set(number, changed);
    return new TopicEntry(name, id, settings, copy, createdIndex);
  }
}
