package io.millrace.broker.cluster;

import com.google.protobuf.ByteString;
import io.millrace.broker.cluster.MetadataState.Step;
import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.broker.cluster.message.ReplicaKey;
import io.millrace.broker.cluster.message.ReplicasAccepted;
import io.millrace.broker.cluster.message.ReplicasRemoved;
import io.millrace.broker.cluster.message.ReplicasStarted;
import io.millrace.protocol.error.ErrorCode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** What a broker's reports about its replicas do to a {@link MetadataState}. */
final class ReplicaTransitions {

  private ReplicaTransitions() {}

  static Step started(MetadataState state, long index, ReplicasStarted command) {
    String fault = faultOf(state, command.getBroker(), command.getIncarnation());
    if (fault != null) {
      return MetadataTransitions.refused(state, index, ErrorCode.INCARNATION_MISMATCH, fault);
    }
    int broker = command.getBroker();
    UUID incarnation = Uuids.of(command.getIncarnation());
    ReplicasAccepted.Builder accepted = ReplicasAccepted.newBuilder();
    Map<UUID, TopicEntry> changed = new HashMap<>();
    for (ReplicaKey key : command.getReplicasList()) {
      TopicEntry topic = topicOf(state, changed, key);
      PartitionEntry partition = topic == null ? null : topic.partition(key.getPartition());
      ReplicaEntry replica = partition == null ? null : partition.onBroker(broker);
      if (replica == null
          || replica.idx() != key.getIdx()
          || !replica.incarnation().equals(incarnation)) {
        accepted.addUnknown(key);
      } else if (replica.started()) {
        accepted.addUnchanged(key);
      } else {
        accepted.addChanged(key);
        changed.put(
            topic.id(), topic.with(key.getPartition(), partition.with(replica.asStarted())));
      }
    }
    return new Step(
        state.changed(index, draft -> changed.values().forEach(draft::putTopic)),
        MetadataResult.newBuilder().setIndex(index).setReplicas(accepted).build());
  }

  private static TopicEntry topicOf(
      MetadataState state, Map<UUID, TopicEntry> changed, ReplicaKey key) {
    if (!Uuids.isUuid(key.getTopicId())) {
      return null;
    }
    UUID id = Uuids.of(key.getTopicId());
    TopicEntry topic = changed.get(id);
    return topic != null ? topic : state.topic(id);
  }

  static Step removed(MetadataState state, long index, ReplicasRemoved command) {
    String fault = faultOf(state, command.getBroker(), command.getIncarnation());
    if (fault != null) {
      return MetadataTransitions.refused(state, index, ErrorCode.INCARNATION_MISMATCH, fault);
    }
    int broker = command.getBroker();
    ReplicasAccepted.Builder accepted = ReplicasAccepted.newBuilder();
    Map<UUID, List<DeletedTopic.Remaining>> left = new HashMap<>();
    for (ReplicaKey key : command.getReplicasList()) {
      DeletedTopic topic =
          Uuids.isUuid(key.getTopicId()) ? state.deleted(Uuids.of(key.getTopicId())) : null;
      boolean found =
          topic != null
              && left.computeIfAbsent(topic.id(), id -> new ArrayList<>(topic.remaining()))
                  .removeIf(
                      r ->
                          r.partition() == key.getPartition()
                              && r.replica().broker() == broker
                              && r.replica().idx() == key.getIdx());
      if (found) {
        accepted.addChanged(key);
      } else {
        accepted.addUnknown(key);
      }
    }
    return new Step(
        state.changed(
            index,
            draft ->
                left.forEach(
                    (id, remaining) -> {
                      DeletedTopic topic = draft.deleted.remove(id);
                      if (!remaining.isEmpty()) {
                        draft.deleted.put(id, new DeletedTopic(id, topic.name(), remaining));
                      }
                    })),
        MetadataResult.newBuilder().setIndex(index).setReplicas(accepted).build());
  }

  private static String faultOf(MetadataState state, int broker, ByteString incarnation) {
    BrokerEntry known = state.broker(broker);
    if (known == null) {
      return "broker " + broker + " is not registered, so it cannot report replicas";
    }
    if (!Uuids.isUuid(incarnation) || !known.incarnation().equals(Uuids.of(incarnation))) {
      return "broker "
          + broker
          + " reports replicas for another data directory than the registered "
          + known.incarnation();
    }
    return null;
  }
}
