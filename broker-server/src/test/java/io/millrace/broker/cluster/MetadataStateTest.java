package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.TopicChanges;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class MetadataStateTest {

  private static final UUID FIRST = new UUID(7, 1);
  private static final UUID SECOND = new UUID(7, 2);

  private MetadataState state = MetadataState.EMPTY;

  private MetadataResult apply(MetadataCommand command) {
    MetadataState.Step step = state.apply(state.index() + 1, command);
    state = step.state();
    assertThat(step.result().getIndex()).isEqualTo(state.index());
    return step.result();
  }

  private static void assertRefused(MetadataResult result, ErrorCode code, String... texts) {
    assertThat(MetadataResults.code(result)).isEqualTo(code);
    assertThat(result.getErrorText()).contains(texts);
  }

  @BeforeEach
  void registerThree() {
    for (int id = 1; id <= 3; id++) {
      assertThat(MetadataResults.isDone(apply(Commands.register(id)))).isTrue();
    }
  }

  @Test
  void aBrokerMayChangeItsAddress() {
    BrokerEntry moved = new BrokerEntry(2, FakeCluster.incarnation(2), "10.0.0.9", 4711, "1.1", 1);
    assertThat(MetadataResults.isDone(apply(MetadataCommands.registerBroker(moved)))).isTrue();
    assertThat(state.broker(2)).isEqualTo(moved);
    assertThat(state.brokers()).extracting(BrokerEntry::id).containsExactly(1, 2, 3);
  }

  @Test
  void aWipedBrokerIsRefusedUnderItsOldId() {
    UUID wiped = new UUID(99, 2);
    assertRefused(
        apply(Commands.register(2, wiped)),
        ErrorCode.INCARNATION_MISMATCH,
        "broker 2",
        wiped.toString(),
        FakeCluster.incarnation(2).toString());
    assertThat(state.broker(2).incarnation()).isEqualTo(FakeCluster.incarnation(2));
  }

  @Test
  void aCopiedDirectoryIsNoSecondBroker() {
    assertRefused(
        apply(Commands.register(4, FakeCluster.incarnation(1))),
        ErrorCode.INCARNATION_MISMATCH,
        "belongs to broker 1",
        "broker 4");
    assertThat(state.broker(4)).isNull();
  }

  @Test
  void aBrokerWithoutTheClustersFeatureLevelIsRefused() {
    for (int id = 1; id <= 3; id++) {
      apply(
          MetadataCommands.registerBroker(
              new BrokerEntry(id, FakeCluster.incarnation(id), "h", 1, "2", 2)));
    }
    assertThat(MetadataResults.isDone(apply(MetadataCommands.setFeatureLevel(2)))).isTrue();
    assertThat(state.featureLevel()).isEqualTo(2);
    assertRefused(apply(Commands.register(4)), ErrorCode.UNSUPPORTED_VERSION, "level 1", "is at 2");
    assertRefused(apply(MetadataCommands.setFeatureLevel(1)), ErrorCode.REFUSED, "below");
  }

  @Test
  void theFeatureLevelWaitsForTheOldestBroker() {
    assertRefused(
        apply(MetadataCommands.setFeatureLevel(2)), ErrorCode.REFUSED, "broker 1", "upgrade");
    assertThat(state.featureLevel()).isEqualTo(MetadataState.FIRST_FEATURE_LEVEL);
  }

  @Test
  void createsATopicWithNewReplicas() {
    MetadataResult result =
        apply(Commands.create("orders", FIRST, List.of(1, 2, 3), List.of(2, 3, 1)));
    assertThat(Uuids.of(result.getTopicId())).isEqualTo(FIRST);
    TopicEntry topic = state.topic("orders");
    assertThat(topic).isEqualTo(state.topic(FIRST));
    assertThat(topic.createdIndex()).isEqualTo(result.getIndex());
    assertThat(topic.partitions()).hasSize(2);
    assertThat(topic.partition(1).replicas())
        .containsExactly(
            new ReplicaEntry(2, FakeCluster.incarnation(2), 0, false),
            new ReplicaEntry(3, FakeCluster.incarnation(3), 0, false),
            new ReplicaEntry(1, FakeCluster.incarnation(1), 0, false));
  }

  @Test
  void theSameCreateTwiceIsOneTopic() {
    apply(Commands.create("orders", FIRST, List.of(1, 2, 3)));
    apply(Commands.started(1, new ReplicaId(FIRST, 0, 0)));
    TopicEntry before = state.topic("orders");
    assertThat(MetadataResults.isDone(apply(Commands.create("orders", FIRST, List.of(3, 2, 1)))))
        .isTrue();
    assertThat(state.topic("orders")).isEqualTo(before);
  }

  @Test
  void aTakenNameIsRefused() {
    apply(Commands.create("orders", FIRST, List.of(1, 2, 3)));
    assertRefused(
        apply(Commands.create("orders", SECOND, List.of(1))),
        ErrorCode.TOPIC_EXISTS,
        "orders",
        FIRST.toString(),
        "1 partitions",
        "3 replicas");
    assertThat(state.topic(SECOND)).isNull();
  }

  @Test
  void aUsedTopicIdIsRefused() {
    apply(Commands.create("orders", FIRST, List.of(1, 2, 3)));
    assertRefused(apply(Commands.create("other", FIRST, List.of(1))), ErrorCode.REFUSED, "id");
    apply(Commands.delete("orders", FIRST));
    assertRefused(apply(Commands.create("other", FIRST, List.of(1))), ErrorCode.REFUSED, "id");
  }

  @Test
  void aPlacementThatDoesNotFitTheBrokersIsRefused() {
    assertRefused(
        apply(Commands.create("a", FIRST, List.of(1, 2, 9))), ErrorCode.NOT_READY, "broker 9");
    assertRefused(
        apply(Commands.create("a", FIRST, List.of(1, 2, 2))), ErrorCode.NOT_READY, "twice");
    assertRefused(
        apply(Commands.create("a", FIRST, List.of(1, 2, 3), List.of(1))),
        ErrorCode.NOT_READY,
        "partition 1",
        "1 brokers instead of 3");
    assertRefused(apply(Commands.create("a", FIRST, List.of())), ErrorCode.REFUSED, "0");
    assertThat(state.topics()).isEmpty();
  }

  @Test
  void recreatingADeletedTopicGivesAnotherTopic() {
    apply(Commands.create("orders", FIRST, List.of(1, 2, 3)));
    apply(Commands.delete("orders", FIRST));
    apply(Commands.create("orders", SECOND, List.of(1, 2, 3)));
    assertThat(state.topic("orders").id()).isEqualTo(SECOND);
    assertThat(state.topic(FIRST)).isNull();
    // A late repetition of the delete does not hit the new topic.
    assertThat(MetadataResults.isDone(apply(Commands.delete("orders", FIRST)))).isTrue();
    assertThat(state.topic("orders").id()).isEqualTo(SECOND);
  }

  @Test
  void onlyTheVeryTopicIsAltered() {
    apply(Commands.create("orders", FIRST, List.of(1, 2, 3)));
    TopicEntry before = state.topic("orders");
    TopicChanges changes =
        TopicChanges.newBuilder().setRetentionMillis(60_000).setSegmentBytes(1 << 20).build();
    assertThat(MetadataResults.isDone(apply(Commands.alter("orders", FIRST, changes)))).isTrue();
    TopicEntry after = state.topic("orders");
    assertThat(after.settings())
        .isEqualTo(
            before.settings().toBuilder()
                .setRetentionMillis(60_000)
                .setSegmentBytes(1 << 20)
                .build());
    assertThat(after.partitions()).isEqualTo(before.partitions());
    assertThat(MetadataState.ofImage(state.image())).isEqualTo(state);

    assertRefused(
        apply(Commands.alter("orders", SECOND, changes)), ErrorCode.UNKNOWN_TOPIC, "orders");
    assertRefused(apply(Commands.alter("other", FIRST, changes)), ErrorCode.UNKNOWN_TOPIC, "other");
    assertRefused(
        apply(MetadataCommands.alterTopic("orders", changes)), ErrorCode.UNKNOWN_TOPIC, "orders");
    assertThat(state.topic("orders")).isEqualTo(after);
  }

  @Test
  void deletingAnUnknownTopicIsRefused() {
    assertRefused(
        apply(MetadataCommands.deleteTopic("orders")),
        ErrorCode.UNKNOWN_TOPIC,
        "orders",
        "deleted already");
  }

  @Test
  void aDeletedTopicIsRememberedUntilEveryReplicaIsRemoved() {
    apply(Commands.create("orders", FIRST, List.of(1, 2, 3)));
    apply(Commands.started(1, new ReplicaId(FIRST, 0, 0)));
    apply(Commands.delete("orders", FIRST));
    ReplicaId replica = new ReplicaId(FIRST, 0, 0);
    assertThat(state.deleted(FIRST).remaining())
        .extracting(r -> r.replica().broker())
        .containsExactly(1, 2, 3);
    MetadataResult removed = apply(Commands.removed(2, replica));
    assertThat(removed.getReplicas().getChangedList()).containsExactly(replica.toKey());
    assertThat(apply(Commands.removed(2, replica)).getReplicas().getUnknownList())
        .containsExactly(replica.toKey());
    apply(Commands.removed(3, replica));
    assertThat(state.deleted(FIRST).remaining())
        .extracting(r -> r.replica().broker())
        .containsExactly(1);
    apply(Commands.removed(1, replica));
    assertThat(state.deleted()).isEmpty();
  }

  @Test
  void startedIsSetOncePerReplica() {
    apply(Commands.create("orders", FIRST, List.of(1, 2, 3), List.of(2, 3, 1)));
    ReplicaId p0 = new ReplicaId(FIRST, 0, 0);
    ReplicaId p1 = new ReplicaId(FIRST, 1, 0);
    ReplicaId p2 = new ReplicaId(FIRST, 2, 0);
    ReplicaId otherIdx = new ReplicaId(FIRST, 0, 1);
    apply(Commands.started(2, p0));
    MetadataResult result = apply(Commands.started(2, p0, p1, p2, otherIdx));
    assertThat(result.getReplicas().getUnchangedList()).containsExactly(p0.toKey());
    assertThat(result.getReplicas().getChangedList()).containsExactly(p1.toKey());
    assertThat(result.getReplicas().getUnknownList()).containsExactly(p2.toKey(), otherIdx.toKey());
    assertThat(state.topic(FIRST).partition(0).onBroker(2).started()).isTrue();
    assertThat(state.topic(FIRST).partition(1).onBroker(2).started()).isTrue();
    assertThat(state.topic(FIRST).partition(0).onBroker(1).started()).isFalse();
  }

  @Test
  void reportsOfAnotherIncarnationAreRefused() {
    apply(Commands.create("orders", FIRST, List.of(1, 2, 3)));
    List<ReplicaId> replica = List.of(new ReplicaId(FIRST, 0, 0));
    assertRefused(
        apply(MetadataCommands.replicasStarted(2, new UUID(99, 2), replica)),
        ErrorCode.INCARNATION_MISMATCH,
        "broker 2");
    assertRefused(
        apply(MetadataCommands.replicasRemoved(8, new UUID(99, 2), replica)),
        ErrorCode.INCARNATION_MISMATCH,
        "broker 8");
    assertThat(state.topic(FIRST).partition(0).onBroker(2).started()).isFalse();
  }

  @Test
  void producerIdBlocksFollowEachOther() {
    MetadataResult first = apply(MetadataCommands.allocateProducerIds(1, 1000));
    MetadataResult second = apply(MetadataCommands.allocateProducerIds(2, 1000));
    assertThat(first.getProducerIds().getFirst()).isEqualTo(1);
    assertThat(first.getProducerIds().getCount()).isEqualTo(1000);
    assertThat(second.getProducerIds().getFirst()).isEqualTo(1001);
    assertRefused(apply(MetadataCommands.allocateProducerIds(1, 0)), ErrorCode.REFUSED, "0");
    assertThat(state.nextProducerId()).isEqualTo(2001);
  }

  @Test
  void malformedCommandsAreRefusedAlike() {
    assertRefused(apply(Commands.register(0)), ErrorCode.REFUSED, "0");
    MetadataCommand shortId =
        MetadataCommand.newBuilder()
            .setCreateTopic(
                Commands.create("a", FIRST, List.of(1)).getCreateTopic().toBuilder()
                    .setId(ByteString.copyFrom(new byte[3])))
            .build();
    assertRefused(apply(shortId), ErrorCode.REFUSED, "16 bytes");
  }

  @Test
  void anUnknownCommandOrAnOldIndexStopsTheReplica() {
    assertThatThrownBy(() -> state.apply(9, MetadataCommand.getDefaultInstance()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("newer");
    assertThatThrownBy(() -> state.apply(3, Commands.register(1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("entry 3");
  }

  @Test
  void anUnreadableImageIsRefused() {
    assertThatThrownBy(() -> MetadataState.ofImage(ByteString.copyFromUtf8("\u0007nonsense")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("not readable");
  }
}
