package io.millrace.broker.cluster;

import io.millrace.broker.cluster.TopicSettingsRules.Refusal;
import io.millrace.broker.cluster.message.AlterTopic;
import io.millrace.broker.cluster.message.AssignedReplica;
import io.millrace.broker.cluster.message.CreateTopic;
import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.broker.cluster.message.PartitionAssignment;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.TopicChanges;
import io.millrace.protocol.message.TopicSettings;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.IntPredicate;

/**
 * What the leader of the metadata group does to a command before it proposes it: fills in what only
 * a leader can choose (settings that depend on the brokers, placement, the id of a topic to delete)
 * and refuses what cannot succeed.
 *
 * <p>Owns: the placements of proposals in flight, so that topics created at the same time do not
 * all go to the same brokers.
 *
 * <p>Threads: any.
 */
final class CommandPreparer {

  private final MetadataGroup group;
  private final int self;
  private final IntPredicate reachable;
  private final Map<UUID, List<List<Integer>>> inFlight = new HashMap<>();

  CommandPreparer(MetadataGroup group, int localBrokerId, IntPredicate reachable) {
    this.group = group;
    self = localBrokerId;
    this.reachable = reachable;
  }

  /** A command to propose, or a refusal; exactly one is not null. */
  record Prepared(MetadataCommand command, MetadataResult refusal) {
    static Prepared propose(MetadataCommand command) {
      return new Prepared(command, null);
    }

    static Prepared refuse(ErrorCode code, String text) {
      return new Prepared(null, MetadataResults.error(code, text));
    }

    static Prepared refuse(Refusal refusal) {
      return refuse(refusal.code(), refusal.text());
    }
  }

  Prepared prepare(MetadataCommand command) {
    return switch (command.getCommandCase()) {
      case CREATE_TOPIC -> prepareCreate(command);
      case DELETE_TOPIC -> prepareDelete(command);
      case ALTER_TOPIC -> prepareAlter(command.getAlterTopic());
      case REGISTER_BROKER,
          REPLICAS_STARTED,
          REPLICAS_REMOVED,
          ALLOCATE_PRODUCER_IDS,
          SET_FEATURE_LEVEL ->
          Prepared.propose(command);
      case COMMAND_NOT_SET ->
          // From a newer broker. It must not reach the log, where it would stop the replicas.
          Prepared.refuse(
              ErrorCode.UNSUPPORTED_VERSION,
              "the leader of the metadata group does not know this command: upgrade all brokers,"
                  + " then raise the feature level");
    };
  }

  /** The proposal of a prepared command is decided, or given up. */
  void ended(MetadataCommand command) {
    if (command.hasCreateTopic() && Uuids.isUuid(command.getCreateTopic().getId())) {
      synchronized (inFlight) {
        inFlight.remove(Uuids.of(command.getCreateTopic().getId()));
      }
    }
  }

  private Prepared prepareCreate(MetadataCommand command) {
    CreateTopic create = command.getCreateTopic();
    if (!Uuids.isUuid(create.getId())) {
      return Prepared.refuse(ErrorCode.REFUSED, "a new topic needs an id of 16 bytes");
    }
    Optional<Refusal> fault =
        TopicSettingsRules.checkName(create.getName())
            .or(() -> TopicSettingsRules.checkSettings(create.getSettings()));
    if (fault.isPresent()) {
      return Prepared.refuse(fault.get());
    }
    MetadataState state = group.state();
    TopicEntry existing = state.topic(create.getName());
    // Without contact to a majority the state may be old; then the log decides.
    if (existing != null && !existing.id().equals(Uuids.of(create.getId())) && group.isFresh()) {
      return Prepared.refuse(ErrorCode.TOPIC_EXISTS, MetadataTransitions.existsText(existing));
    }
    int registered = state.brokers().size();
    TopicSettings settings = TopicSettingsRules.withDefaults(create.getSettings(), registered);
    List<Integer> up =
        state.brokers().stream()
            .map(BrokerEntry::id)
            .filter(id -> id == self || reachable.test(id))
            .toList();
    fault = TopicSettingsRules.checkBrokers(settings.getReplicas(), registered, up.size());
    if (fault.isPresent()) {
      return Prepared.refuse(fault.get());
    }
    CreateTopic.Builder placed = create.toBuilder().setSettings(settings).clearAssignments();
    for (List<Integer> brokers : place(state, Uuids.of(create.getId()), settings, up)) {
      PartitionAssignment.Builder assignment = PartitionAssignment.newBuilder();
      for (int broker : brokers) {
        assignment.addReplicas(
            AssignedReplica.newBuilder()
                .setBroker(broker)
                .setIncarnation(Uuids.toBytes(state.broker(broker).incarnation())));
      }
      placed.addAssignments(assignment);
    }
    return Prepared.propose(MetadataCommand.newBuilder().setCreateTopic(placed).build());
  }

  private List<List<Integer>> place(
      MetadataState state, UUID id, TopicSettings settings, List<Integer> brokers) {
    Placement.Load load = Placement.Load.of(state.topics());
    synchronized (inFlight) {
      inFlight.forEach(
          (topic, placements) -> {
            if (!topic.equals(id) && state.topic(topic) == null) {
              placements.forEach(load::add);
            }
          });
      List<List<Integer>> placements =
          Placement.place(settings.getPartitions(), settings.getReplicas(), brokers, load);
      inFlight.put(id, placements);
      return placements;
    }
  }

  private Prepared prepareAlter(AlterTopic alter) {
    TopicEntry topic = group.state().topic(alter.getName());
    if (topic == null) {
      return group.isFresh()
          ? Prepared.refuse(
              ErrorCode.UNKNOWN_TOPIC, MetadataTransitions.unknownText(alter.getName()))
          : Prepared.refuse(
              ErrorCode.NOT_READY, "this broker may not know topic " + alter.getName() + " yet");
    }
    TopicChanges changes = TopicSettingsRules.completeChanges(topic.settings(), alter.getChanges());
    Optional<Refusal> fault = TopicSettingsRules.checkChanges(topic.settings(), changes);
    return fault.isPresent()
        ? Prepared.refuse(fault.get())
        : Prepared.propose(
            MetadataCommand.newBuilder()
                .setAlterTopic(
                    alter.toBuilder().setId(Uuids.toBytes(topic.id())).setChanges(changes))
                .build());
  }

  private Prepared prepareDelete(MetadataCommand command) {
    String name = command.getDeleteTopic().getName();
    TopicEntry topic = group.state().topic(name);
    if (topic == null) {
      return group.isFresh()
          ? Prepared.refuse(ErrorCode.UNKNOWN_TOPIC, MetadataTransitions.unknownText(name))
          : Prepared.propose(command);
    }
    if (!command.getDeleteTopic().getId().isEmpty()) {
      return Prepared.propose(command);
    }
    return Prepared.propose(
        MetadataCommand.newBuilder()
            .setDeleteTopic(command.getDeleteTopic().toBuilder().setId(Uuids.toBytes(topic.id())))
            .build());
  }
}
