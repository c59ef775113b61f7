package io.millrace.tools.bench.partitions;

import io.millrace.client.TopicDescription;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * When each of many partitions was first seen with a leader. Pure: it is fed with descriptions.
 *
 * <p>Not safe for use by several threads.
 */
final class LeaderWatch {
  private record Partition(String topic, int number) {}

  private final int notBroker;
  private final Set<Partition> without = new HashSet<>();
  private final Map<Partition, Long> ledNanos = new HashMap<>();

  /**
   * @param notBroker does not count as a leader: it was killed, and others may not have noticed; 0
   *     = each counts
   */
  LeaderWatch(int notBroker) {
    this.notBroker = notBroker;
  }

  /**
   * Partitions of the topic that have no leader that counts are waited for from now on.
   *
   * @return how many these are
   */
  int expect(TopicDescription topic) {
    int before = without.size();
    topic.partitions().stream()
        .filter(partition -> !isLed(partition))
        .forEach(partition -> without.add(new Partition(topic.name(), partition.partition())));
    return without.size() - before;
  }

  /**
   * @param sinceNanos how long after the beginning this was seen
   */
  void seen(TopicDescription topic, long sinceNanos) {
    for (TopicDescription.Partition each : topic.partitions()) {
      var partition = new Partition(topic.name(), each.partition());
      if (isLed(each) && without.remove(partition)) {
        ledNanos.put(partition, sinceNanos);
      }
    }
  }

  private boolean isLed(TopicDescription.Partition partition) {
    return partition.leader() != 0 && partition.leader() != notBroker;
  }

  boolean allLed() {
    return without.isEmpty();
  }

  int waiting() {
    return without.size();
  }

  /** Of the partitions that were waited for and are led, in no order. */
  List<Long> timesNanos() {
    return new ArrayList<>(ledNanos.values());
  }
}
