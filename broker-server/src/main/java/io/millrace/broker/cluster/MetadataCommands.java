package io.millrace.broker.cluster;

import io.millrace.broker.cluster.message.AllocateProducerIds;
import io.millrace.broker.cluster.message.AlterTopic;
import io.millrace.broker.cluster.message.CreateTopic;
import io.millrace.broker.cluster.message.DeleteTopic;
import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.RegisterBroker;
import io.millrace.broker.cluster.message.ReplicasRemoved;
import io.millrace.broker.cluster.message.ReplicasStarted;
import io.millrace.broker.cluster.message.SetFeatureLevel;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.message.TopicChanges;
import io.millrace.protocol.message.TopicSettings;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.UUID;

/** Builds metadata commands and puts them into the control batches that are the log's entries. */
public final class MetadataCommands {

  private MetadataCommands() {}

  /** The entry of a command: one control batch of type METADATA. */
  static ByteBuffer toBatch(MetadataCommand command) {
    return ControlBatch.encode(ControlType.METADATA, command);
  }

  public static MetadataCommand registerBroker(BrokerEntry broker) {
    return MetadataCommand.newBuilder()
        .setRegisterBroker(
            RegisterBroker.newBuilder()
                .setId(broker.id())
                .setIncarnation(Uuids.toBytes(broker.incarnation()))
                .setHost(broker.host())
                .setPort(broker.port())
                .setVersion(broker.version())
                .setMaxFeatureLevel(broker.maxFeatureLevel()))
        .build();
  }

  /** Without assignments: the leader of the metadata group chooses them. */
  static MetadataCommand createTopic(String name, UUID id, TopicSettings settings) {
    return MetadataCommand.newBuilder()
        .setCreateTopic(
            CreateTopic.newBuilder().setName(name).setId(Uuids.toBytes(id)).setSettings(settings))
        .build();
  }

  /** Without id: the leader of the metadata group fills it. */
  static MetadataCommand deleteTopic(String name) {
    return MetadataCommand.newBuilder()
        .setDeleteTopic(DeleteTopic.newBuilder().setName(name))
        .build();
  }

  /** Without id: the leader of the metadata group fills it. */
  static MetadataCommand alterTopic(String name, TopicChanges changes) {
    return MetadataCommand.newBuilder()
        .setAlterTopic(AlterTopic.newBuilder().setName(name).setChanges(changes))
        .build();
  }

  static MetadataCommand replicasStarted(
      int broker, UUID incarnation, Collection<ReplicaId> replicas) {
    ReplicasStarted.Builder started =
        ReplicasStarted.newBuilder().setBroker(broker).setIncarnation(Uuids.toBytes(incarnation));
    replicas.forEach(replica -> started.addReplicas(replica.toKey()));
    return MetadataCommand.newBuilder().setReplicasStarted(started).build();
  }

  static MetadataCommand replicasRemoved(
      int broker, UUID incarnation, Collection<ReplicaId> replicas) {
    ReplicasRemoved.Builder removed =
        ReplicasRemoved.newBuilder().setBroker(broker).setIncarnation(Uuids.toBytes(incarnation));
    replicas.forEach(replica -> removed.addReplicas(replica.toKey()));
    return MetadataCommand.newBuilder().setReplicasRemoved(removed).build();
  }

  public static MetadataCommand allocateProducerIds(int broker, int count) {
    return MetadataCommand.newBuilder()
        .setAllocateProducerIds(AllocateProducerIds.newBuilder().setBroker(broker).setCount(count))
        .build();
  }

  public static MetadataCommand setFeatureLevel(int level) {
    return MetadataCommand.newBuilder()
        .setSetFeatureLevel(SetFeatureLevel.newBuilder().setLevel(level))
        .build();
  }
}
