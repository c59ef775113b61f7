package io.millrace.broker.cluster;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.millrace.broker.cluster.message.BrokerImage;
import io.millrace.broker.cluster.message.DeletedTopicImage;
import io.millrace.broker.cluster.message.MetadataImage;
import io.millrace.broker.cluster.message.PartitionImage;
import io.millrace.broker.cluster.message.RemainingReplica;
import io.millrace.broker.cluster.message.ReplicaImage;
import io.millrace.broker.cluster.message.TopicImage;
import java.util.List;

/** {@link MetadataState} to and from its image; every list is written in the order of its keys. */
final class MetadataImages {

  private MetadataImages() {}

  static MetadataImage toImage(MetadataState state) {
    MetadataImage.Builder image =
        MetadataImage.newBuilder()
            .setIndex(state.index())
            .setFeatureLevel(state.featureLevel())
            .setNextProducerId(state.nextProducerId());
    state.brokers().forEach(broker -> image.addBrokers(toImage(broker)));
    state.topics().forEach(topic -> image.addTopics(toImage(topic)));
    state.deleted().forEach(topic -> image.addDeleted(toImage(topic)));
    return image.build();
  }

  static MetadataState parse(ByteString bytes) {
    MetadataImage image;
    try {
      image = MetadataImage.parseFrom(bytes);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException(
          "metadata image of " + bytes.size() + " bytes is not readable", e);
    }
    MetadataState.Draft draft = new MetadataState.Draft();
    draft.index = image.getIndex();
    draft.featureLevel = image.getFeatureLevel();
    draft.nextProducerId = image.getNextProducerId();
    image.getBrokersList().forEach(b -> draft.brokers.put(b.getId(), of(b)));
    image.getTopicsList().forEach(t -> draft.putTopic(of(t)));
    image
        .getDeletedList()
        .forEach(
            d -> {
              DeletedTopic topic = of(d);
              draft.deleted.put(topic.id(), topic);
            });
    return draft.build();
  }

  private static BrokerImage toImage(BrokerEntry broker) {
    return BrokerImage.newBuilder()
        .setId(broker.id())
        .setIncarnation(Uuids.toBytes(broker.incarnation()))
        .setHost(broker.host())
        .setPort(broker.port())
        .setVersion(broker.version())
        .setMaxFeatureLevel(broker.maxFeatureLevel())
        .build();
  }

  private static BrokerEntry of(BrokerImage image) {
    return new BrokerEntry(
        image.getId(),
        Uuids.of(image.getIncarnation()),
        image.getHost(),
        image.getPort(),
        image.getVersion(),
        image.getMaxFeatureLevel());
  }

  private static TopicImage toImage(TopicEntry topic) {
    TopicImage.Builder image =
        TopicImage.newBuilder()
            .setName(topic.name())
            .setId(Uuids.toBytes(topic.id()))
            .setSettings(topic.settings())
            .setCreatedIndex(topic.createdIndex());
    for (PartitionEntry partition : topic.partitions()) {
      PartitionImage.Builder builder = PartitionImage.newBuilder();
      partition.replicas().forEach(replica -> builder.addReplicas(toImage(replica)));
      image.addPartitions(builder);
    }
    return image.build();
  }

  private static TopicEntry of(TopicImage image) {
    List<PartitionEntry> partitions =
        image.getPartitionsList().stream()
            .map(
                p ->
                    new PartitionEntry(
                        p.getReplicasList().stream().map(MetadataImages::of).toList()))
            .toList();
    return new TopicEntry(
        image.getName(),
        Uuids.of(image.getId()),
        image.getSettings(),
        partitions,
        image.getCreatedIndex());
  }

  private static ReplicaImage toImage(ReplicaEntry replica) {
    return ReplicaImage.newBuilder()
        .setBroker(replica.broker())
        .setIncarnation(Uuids.toBytes(replica.incarnation()))
        .setIdx(replica.idx())
        .setStarted(replica.started())
        .build();
  }

  private static ReplicaEntry of(ReplicaImage image) {
    return new ReplicaEntry(
        image.getBroker(), Uuids.of(image.getIncarnation()), image.getIdx(), image.getStarted());
  }

  private static DeletedTopicImage toImage(DeletedTopic topic) {
    DeletedTopicImage.Builder image =
        DeletedTopicImage.newBuilder().setId(Uuids.toBytes(topic.id())).setName(topic.name());
    for (DeletedTopic.Remaining remaining : topic.remaining()) {
      image.addRemaining(
          RemainingReplica.newBuilder()
              .setPartition(remaining.partition())
              .setReplica(toImage(remaining.replica())));
    }
    return image.build();
  }

  private static DeletedTopic of(DeletedTopicImage image) {
    return new DeletedTopic(
        Uuids.of(image.getId()),
        image.getName(),
        image.getRemainingList().stream()
            .map(r -> new DeletedTopic.Remaining(r.getPartition(), of(r.getReplica())))
            .toList());
  }
}
