package io.millrace.broker.cluster;

import io.millrace.broker.cluster.MetadataState.Step;
import io.millrace.broker.cluster.message.AllocateProducerIds;
import io.millrace.broker.cluster.message.AlterTopic;
import io.millrace.broker.cluster.message.AssignedReplica;
import io.millrace.broker.cluster.message.CreateTopic;
import io.millrace.broker.cluster.message.DeleteTopic;
import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.broker.cluster.message.PartitionAssignment;
import io.millrace.broker.cluster.message.ProducerIdBlock;
import io.millrace.broker.cluster.message.RegisterBroker;
import io.millrace.broker.cluster.message.SetFeatureLevel;
import io.millrace.protocol.error.ErrorCode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;

/**
 * What each command does to a {@link MetadataState}; see there for the rules. Limits that a setting
 * or a later version could change are checked by the proposer ({@link TopicSettingsRules}) and not
 * here, because all replicas must decide alike.
 */
final class MetadataTransitions {

  private MetadataTransitions() {}

  static Step apply(MetadataState state, long index, MetadataCommand command) {
    return switch (command.getCommandCase()) {
      case REGISTER_BROKER -> registerBroker(state, index, command.getRegisterBroker());
      case CREATE_TOPIC -> createTopic(state, index, command.getCreateTopic());
      case DELETE_TOPIC -> deleteTopic(state, index, command.getDeleteTopic());
      case ALTER_TOPIC -> alterTopic(state, index, command.getAlterTopic());
      case REPLICAS_STARTED ->
          ReplicaTransitions.started(state, index, command.getReplicasStarted());
      case REPLICAS_REMOVED ->
          ReplicaTransitions.removed(state, index, command.getReplicasRemoved());
      case ALLOCATE_PRODUCER_IDS ->
          allocateProducerIds(state, index, command.getAllocateProducerIds());
      case SET_FEATURE_LEVEL -> setFeatureLevel(state, index, command.getSetFeatureLevel());
      case COMMAND_NOT_SET ->
          throw new IllegalArgumentException(
              "metadata entry "
                  + index
                  + " is a command that this version does not know; it was written by a newer"
                  + " broker: upgrade this one");
    };
  }

  static Step refused(MetadataState state, long index, ErrorCode code, String text) {
    return unchanged(state, index, MetadataResults.error(index, code, text));
  }

  static Step unchanged(MetadataState state, long index, MetadataResult result) {
    return new Step(state.changed(index, draft -> {}), result);
  }

  private static Step registerBroker(MetadataState state, long index, RegisterBroker command) {
    if (command.getId() < 1 || !Uuids.isUuid(command.getIncarnation())) {
      return refused(
          state,
          index,
          ErrorCode.REFUSED,
          "broker id " + command.getId() + " must be at least 1, with an incarnation of 16 bytes");
    }
    UUID incarnation = Uuids.of(command.getIncarnation());
    BrokerEntry known = state.broker(command.getId());
    if (known != null && !known.incarnation().equals(incarnation)) {
      return refused(
          state,
          index,
          ErrorCode.INCARNATION_MISMATCH,
          "broker "
              + command.getId()
              + " is registered with data directory "
              + known.incarnation()
              + ", not "
              + incarnation
              + ": a wiped or replaced directory cannot take its place; restore the old directory,"
              + " or use a broker id that was never used");
    }
    for (BrokerEntry other : state.brokers()) {
      if (other.id() != command.getId() && other.incarnation().equals(incarnation)) {
        return refused(
            state,
            index,
            ErrorCode.INCARNATION_MISMATCH,
            "data directory "
                + incarnation
                + " belongs to broker "
                + other.id()
                + ", not to broker "
                + command.getId()
                + ": a copied directory cannot be a second broker");
      }
    }
    if (command.getMaxFeatureLevel() < state.featureLevel()) {
      return refused(
          state,
          index,
          ErrorCode.UNSUPPORTED_VERSION,
          "broker "
              + command.getId()
              + " (version "
              + command.getVersion()
              + ") understands feature level "
              + command.getMaxFeatureLevel()
              + ", the cluster is at "
              + state.featureLevel()
              + ": upgrade the broker");
    }
    BrokerEntry entry =
        new BrokerEntry(
            command.getId(),
            incarnation,
            command.getHost(),
            command.getPort(),
            command.getVersion(),
            command.getMaxFeatureLevel());
    return new Step(
        state.changed(index, draft -> draft.brokers.put(entry.id(), entry)),
        MetadataResults.done(index));
  }

  private static Step createTopic(MetadataState state, long index, CreateTopic command) {
    if (command.getName().isEmpty() || !Uuids.isUuid(command.getId())) {
      return refused(state, index, ErrorCode.REFUSED, "a topic needs a name and an id of 16 bytes");
    }
    UUID id = Uuids.of(command.getId());
    MetadataResult done =
        MetadataResult.newBuilder().setIndex(index).setTopicId(command.getId()).build();
    TopicEntry sameName = state.topic(command.getName());
    if (sameName != null) {
      return sameName.id().equals(id)
          ? unchanged(state, index, done)
          : refused(state, index, ErrorCode.TOPIC_EXISTS, existsText(sameName));
    }
    if (state.topic(id) != null || state.deleted(id) != null) {
      return refused(
          state, index, ErrorCode.REFUSED, "topic id " + id + " was used before: choose a new one");
    }
    List<PartitionEntry> partitions = new ArrayList<>(command.getAssignmentsCount());
    for (PartitionAssignment assignment : command.getAssignmentsList()) {
      String reason = faultOf(state, assignment, command.getSettings().getReplicas());
      if (reason != null) {
        return refused(
            state, index, ErrorCode.NOT_READY, "partition " + partitions.size() + ": " + reason);
      }
      partitions.add(entryOf(assignment));
    }
    if (partitions.isEmpty() || partitions.size() != command.getSettings().getPartitions()) {
      return refused(
          state,
          index,
          ErrorCode.REFUSED,
          "topic "
              + command.getName()
              + " has "
              + command.getSettings().getPartitions()
              + " partitions but assignments for "
              + partitions.size());
    }
    TopicEntry topic =
        new TopicEntry(command.getName(), id, command.getSettings(), partitions, index);
    return new Step(state.changed(index, draft -> draft.putTopic(topic)), done);
  }

  static String existsText(TopicEntry topic) {
    return "topic "
        + topic.name()
        + " exists already: id "
        + topic.id()
        + ", "
        + topic.partitions().size()
        + " partitions, "
        + topic.settings().getReplicas()
        + " replicas";
  }

  /** What makes a placement impossible now, or null; its proposer may have seen older brokers. */
  private static String faultOf(MetadataState state, PartitionAssignment assignment, int replicas) {
    if (assignment.getReplicasCount() == 0 || assignment.getReplicasCount() != replicas) {
      return "placed on " + assignment.getReplicasCount() + " brokers instead of " + replicas;
    }
    Set<Integer> seen = new HashSet<>();
    for (AssignedReplica replica : assignment.getReplicasList()) {
      BrokerEntry broker = state.broker(replica.getBroker());
      if (broker == null
          || !Uuids.isUuid(replica.getIncarnation())
          || !broker.incarnation().equals(Uuids.of(replica.getIncarnation()))) {
        return "placed on broker "
            + replica.getBroker()
            + ", which is not registered with that data directory";
      }
      if (!seen.add(replica.getBroker())) {
        return "placed twice on broker " + replica.getBroker();
      }
    }
    return null;
  }

  private static PartitionEntry entryOf(PartitionAssignment assignment) {
    return new PartitionEntry(
        assignment.getReplicasList().stream()
            .map(r -> new ReplicaEntry(r.getBroker(), Uuids.of(r.getIncarnation()), 0, false))
            .toList());
  }

  private static Step alterTopic(MetadataState state, long index, AlterTopic command) {
    TopicEntry topic = state.topic(command.getName());
    if (topic == null
        || !Uuids.isUuid(command.getId())
        || !topic.id().equals(Uuids.of(command.getId()))) {
      return refused(state, index, ErrorCode.UNKNOWN_TOPIC, unknownText(command.getName()));
    }
    TopicEntry altered =
        topic.with(TopicSettingsRules.changed(topic.settings(), command.getChanges()));
    return new Step(
        state.changed(index, draft -> draft.putTopic(altered)),
        MetadataResult.newBuilder().setIndex(index).setTopicId(command.getId()).build());
  }

  private static Step deleteTopic(MetadataState state, long index, DeleteTopic command) {
    TopicEntry topic = state.topic(command.getName());
    boolean idGiven = Uuids.isUuid(command.getId());
    if (topic == null && !idGiven) {
      return refused(state, index, ErrorCode.UNKNOWN_TOPIC, unknownText(command.getName()));
    }
    if (topic == null || (idGiven && !topic.id().equals(Uuids.of(command.getId())))) {
      // The very topic was there when the command was proposed: somebody else's delete, or the
      // first attempt of this one, has won. Topics of the same name with another id stay.
      return unchanged(
          state,
          index,
          MetadataResult.newBuilder().setIndex(index).setTopicId(command.getId()).build());
    }
    List<DeletedTopic.Remaining> remaining = new ArrayList<>();
    for (int p = 0; p < topic.partitions().size(); p++) {
      for (ReplicaEntry replica : topic.partitions().get(p).replicas()) {
        remaining.add(new DeletedTopic.Remaining(p, replica));
      }
    }
    DeletedTopic deleted = new DeletedTopic(topic.id(), topic.name(), remaining);
    return new Step(
        state.changed(
            index,
            draft -> {
              draft.removeTopic(topic);
              draft.deleted.put(deleted.id(), deleted);
            }),
        MetadataResult.newBuilder().setIndex(index).setTopicId(Uuids.toBytes(topic.id())).build());
  }

  static String unknownText(String name) {
    return "there is no topic "
        + name
        + ": it was never created, or is deleted already; see `topic list`";
  }

  private static Step allocateProducerIds(
      MetadataState state, long index, AllocateProducerIds command) {
    int count = command.getCount();
    if (count < 1 || state.nextProducerId() > Long.MAX_VALUE - count) {
      return refused(
          state,
          index,
          ErrorCode.REFUSED,
          "cannot give " + count + " producer ids from " + state.nextProducerId() + " on");
    }
    return new Step(
        state.changed(index, draft -> draft.nextProducerId += count),
        MetadataResult.newBuilder()
            .setIndex(index)
            .setProducerIds(
                ProducerIdBlock.newBuilder().setFirst(state.nextProducerId()).setCount(count))
            .build());
  }

  private static Step setFeatureLevel(MetadataState state, long index, SetFeatureLevel command) {
    int level = command.getLevel();
    if (level < state.featureLevel()) {
      return refused(
          state,
          index,
          ErrorCode.REFUSED,
          "feature level "
              + level
              + " is below the present "
              + state.featureLevel()
              + ": a level is never taken back");
    }
    for (BrokerEntry broker : state.brokers()) {
      if (broker.maxFeatureLevel() < level) {
        return refused(
            state,
            index,
            ErrorCode.REFUSED,
            "broker "
                + broker.id()
                + " (version "
                + broker.version()
                + ") understands feature level "
                + broker.maxFeatureLevel()
                + ", not "
                + level
                + ": upgrade it first");
      }
    }
    return new Step(
        state.changed(index, draft -> draft.featureLevel = level), MetadataResults.done(index));
  }
}
