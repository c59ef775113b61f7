package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.protocol.error.Outcome;
import io.millrace.protocol.message.TopicChanges;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import net.jqwik.api.constraints.IntRange;

class MetadataStateProperties {

  private static final int BROKERS = 4;
  private static final List<String> NAMES = List.of("a", "b", "c");

  @Provide
  Arbitrary<List<MetadataCommand>> commands() {
    Arbitrary<Integer> broker = Arbitraries.integers().between(1, BROKERS + 1);
    Arbitrary<String> name = Arbitraries.of(NAMES);
    Arbitrary<UUID> topicId = Arbitraries.longs().between(1, 8).map(n -> new UUID(7, n));
    Arbitrary<List<Integer>> replicas = Arbitraries.of(1, 3).flatMap(n -> broker.list().ofSize(n));
    Arbitrary<ReplicaId> replica =
        Combinators.combine(
                topicId,
                Arbitraries.integers().between(0, 3),
                Arbitraries.frequency(Tuple.of(9, 0), Tuple.of(1, 1)))
            .as(ReplicaId::new);
    Arbitrary<UUID> wrongIncarnation = Arbitraries.longs().between(1, 9).map(n -> new UUID(9, n));
    return Arbitraries.frequencyOf(
            Tuple.of(4, broker.map(Commands::register)),
            Tuple.of(1, Combinators.combine(broker, wrongIncarnation).as(Commands::register)),
            Tuple.of(
                6,
                Combinators.combine(name, topicId, replicas.list().ofMinSize(1).ofMaxSize(4))
                    .as((n, id, list) -> Commands.create(n, id, list))),
            Tuple.of(2, Combinators.combine(name, topicId).as(Commands::delete)),
            Tuple.of(1, name.map(MetadataCommands::deleteTopic)),
            Tuple.of(
                2,
                Combinators.combine(name, topicId, Arbitraries.longs().between(0, 5000))
                    .as(
                        (n, id, millis) ->
                            Commands.alter(
                                n,
                                id,
                                TopicChanges.newBuilder().setRetentionMillis(millis).build()))),
            Tuple.of(
                6,
                Combinators.combine(broker, replica.array(ReplicaId[].class).ofMaxSize(5))
                    .as(Commands::started)),
            Tuple.of(
                4,
                Combinators.combine(broker, replica.array(ReplicaId[].class).ofMaxSize(5))
                    .as(Commands::removed)),
            Tuple.of(
                2,
                Combinators.combine(broker, Arbitraries.integers().between(0, 2000))
                    .as(MetadataCommands::allocateProducerIds)),
            Tuple.of(
                1, Arbitraries.integers().between(0, 2).map(MetadataCommands::setFeatureLevel)))
        .list()
        .ofMaxSize(60);
  }

  @Property(tries = 300)
  void replicasThatApplyTheSameCommandsAreEqual(@ForAll("commands") List<MetadataCommand> all) {
    MetadataState one = MetadataState.EMPTY;
    MetadataState two = MetadataState.EMPTY;
    long index = 0;
    for (MetadataCommand command : all) {
      index += 1 + (index % 3); // entries of other kinds stand in between
      MetadataState.Step first = one.apply(index, command);
      MetadataState.Step second = two.apply(index, command);
      assertThat(first.result()).isEqualTo(second.result());
      one = first.state();
      two = second.state();
    }
    assertThat(one).isEqualTo(two);
    assertThat(one.image()).isEqualTo(two.image());
  }

  @Property(tries = 200)
  void aReplicaRestoredFromAnImageEqualsOneThatReplayed(
      @ForAll("commands") List<MetadataCommand> all, @ForAll @IntRange(max = 60) int at) {
    MetadataState replayed = MetadataState.EMPTY;
    MetadataState restored = MetadataState.EMPTY;
    for (int i = 0; i < all.size(); i++) {
      if (i == at) {
        restored = MetadataState.ofImage(replayed.image());
        assertThat(restored).isEqualTo(replayed);
        assertThat(restored.image()).isEqualTo(replayed.image());
      }
      MetadataState.Step step = replayed.apply(i + 1, all.get(i));
      replayed = step.state();
      if (i >= at) {
        MetadataState.Step again = restored.apply(i + 1, all.get(i));
        assertThat(again.result()).isEqualTo(step.result());
        restored = again.state();
      }
    }
    if (at < all.size()) {
      assertThat(restored).isEqualTo(replayed);
    }
  }

  @Property(tries = 300)
  void whatMustNeverHappenDoesNot(@ForAll("commands") List<MetadataCommand> all) {
    MetadataState state = MetadataState.EMPTY;
    Map<Integer, UUID> incarnations = new HashMap<>();
    Set<Long> producerIds = new HashSet<>();
    for (int i = 0; i < all.size(); i++) {
      MetadataState before = state;
      MetadataState.Step step = state.apply(i + 1, all.get(i));
      state = step.state();
      MetadataResult result = step.result();
      if (!MetadataResults.isDone(result)) {
        assertThat(result.getErrorText()).isNotBlank();
        assertThat(MetadataResults.code(result).outcome()).isEqualTo(Outcome.NOT_DONE);
        assertSameBut(before, state);
      }
      for (BrokerEntry broker : state.brokers()) {
        assertThat(broker.incarnation())
            .isEqualTo(incarnations.computeIfAbsent(broker.id(), id -> broker.incarnation()));
      }
      for (long n = 0; n < result.getProducerIds().getCount(); n++) {
        assertThat(producerIds.add(result.getProducerIds().getFirst() + n)).isTrue();
      }
      assertReferencesHold(state);
      assertNothingIsUnstarted(before, state);
    }
  }

  private static void assertSameBut(MetadataState before, MetadataState after) {
    assertThat(new ArrayList<>(after.topics())).isEqualTo(new ArrayList<>(before.topics()));
    assertThat(new ArrayList<>(after.brokers())).isEqualTo(new ArrayList<>(before.brokers()));
    assertThat(new ArrayList<>(after.deleted())).isEqualTo(new ArrayList<>(before.deleted()));
    assertThat(after.nextProducerId()).isEqualTo(before.nextProducerId());
    assertThat(after.featureLevel()).isEqualTo(before.featureLevel());
  }

  private static void assertReferencesHold(MetadataState state) {
    for (TopicEntry topic : state.topics()) {
      assertThat(state.topic(topic.id())).isSameAs(topic);
      assertThat(state.deleted(topic.id())).isNull();
      assertThat(topic.partitions()).hasSize(topic.settings().getPartitions());
      for (PartitionEntry partition : topic.partitions()) {
        assertThat(partition.replicas()).hasSize(topic.settings().getReplicas());
        assertThat(partition.replicas()).extracting(ReplicaEntry::broker).doesNotHaveDuplicates();
        for (ReplicaEntry replica : partition.replicas()) {
          assertThat(state.broker(replica.broker()).incarnation()).isEqualTo(replica.incarnation());
        }
      }
    }
    for (DeletedTopic topic : state.deleted()) {
      assertThat(topic.remaining()).isNotEmpty();
    }
  }

  private static void assertNothingIsUnstarted(MetadataState before, MetadataState after) {
    for (TopicEntry topic : before.topics()) {
      TopicEntry now = after.topic(topic.id());
      for (int p = 0; now != null && p < topic.partitions().size(); p++) {
        for (ReplicaEntry replica : topic.partition(p).replicas()) {
          if (replica.started()) {
            assertThat(now.partition(p).onBroker(replica.broker()).started()).isTrue();
          }
        }
      }
    }
  }
}
