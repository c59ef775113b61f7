package io.millrace.broker.cluster;

import io.millrace.broker.cluster.message.AssignedReplica;
import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.PartitionAssignment;
import io.millrace.protocol.message.TopicChanges;
import io.millrace.protocol.message.TopicSettings;
import java.util.List;
import java.util.UUID;

/** Complete commands, as a leader proposes them. */
final class Commands {

  private Commands() {}

  static MetadataCommand register(int id) {
    return register(id, FakeCluster.incarnation(id));
  }

  static MetadataCommand register(int id, UUID incarnation) {
    return MetadataCommands.registerBroker(
        new BrokerEntry(id, incarnation, "host" + id, 9000 + id, "1", 1));
  }

  /** Each list holds the brokers of one partition. */
  @SafeVarargs
  static MetadataCommand create(String name, UUID id, List<Integer>... partitions) {
    return create(name, id, List.of(partitions));
  }

  static MetadataCommand create(String name, UUID id, List<List<Integer>> partitions) {
    TopicSettings settings =
        TopicSettingsRules.withDefaults(
            TopicSettings.newBuilder()
                .setPartitions(partitions.size())
                .setReplicas(partitions.isEmpty() ? 1 : partitions.get(0).size())
                .build(),
            3);
    MetadataCommand command = MetadataCommands.createTopic(name, id, settings);
    var create = command.getCreateTopic().toBuilder();
    for (List<Integer> brokers : partitions) {
      PartitionAssignment.Builder assignment = PartitionAssignment.newBuilder();
      for (int broker : brokers) {
        assignment.addReplicas(
            AssignedReplica.newBuilder()
                .setBroker(broker)
                .setIncarnation(Uuids.toBytes(FakeCluster.incarnation(broker))));
      }
      create.addAssignments(assignment);
    }
    return command.toBuilder().setCreateTopic(create).build();
  }

  static MetadataCommand delete(String name, UUID id) {
    MetadataCommand command = MetadataCommands.deleteTopic(name);
    return command.toBuilder()
        .setDeleteTopic(command.getDeleteTopic().toBuilder().setId(Uuids.toBytes(id)))
        .build();
  }

  static MetadataCommand alter(String name, UUID id, TopicChanges changes) {
    MetadataCommand command = MetadataCommands.alterTopic(name, changes);
    return command.toBuilder()
        .setAlterTopic(command.getAlterTopic().toBuilder().setId(Uuids.toBytes(id)))
        .build();
  }

  static MetadataCommand started(int broker, ReplicaId... replicas) {
    return MetadataCommands.replicasStarted(
        broker, FakeCluster.incarnation(broker), List.of(replicas));
  }

  static MetadataCommand removed(int broker, ReplicaId... replicas) {
    return MetadataCommands.replicasRemoved(
        broker, FakeCluster.incarnation(broker), List.of(replicas));
  }
}
