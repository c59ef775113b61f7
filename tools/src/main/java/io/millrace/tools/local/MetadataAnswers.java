package io.millrace.tools.local;

import io.millrace.protocol.message.MetadataResponse;
import io.millrace.protocol.message.PartitionInfo;
import io.millrace.protocol.message.ReplicaInfo;
import io.millrace.protocol.message.TopicInfo;
import io.millrace.tools.local.ClusterView.Group;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What each broker knows of the cluster, put side by side. A broker that is cut off still answers
 * clients, with what it knew before; so no single answer can be trusted. Pure: made from answers,
 * asks nobody.
 */
final class MetadataAnswers {
  private final List<MetadataResponse> answers;

  MetadataAnswers(List<MetadataResponse> answers) {
    this.answers = List.copyOf(answers);
  }

  /**
   * The brokers that should hold each partition, by the newest answer; empty when there is none.
   */
  Map<Group, Set<Integer>> assigned() {
    var assigned = new HashMap<Group, Set<Integer>>();
    answers.stream()
        .max(Comparator.comparingLong(answer -> answer.getContext().getMetadataIndex()))
        .ifPresent(newest -> newest.getTopicsList().forEach(topic -> assign(topic, assigned)));
    return assigned;
  }

  private static void assign(TopicInfo topic, Map<Group, Set<Integer>> assigned) {
    for (PartitionInfo partition : topic.getPartitionsList()) {
      assigned.put(
          new Group(topic.getName(), partition.getPartition()),
          partition.getReplicasList().stream()
              .map(ReplicaInfo::getBroker)
              .collect(Collectors.toSet()));
    }
  }
}
