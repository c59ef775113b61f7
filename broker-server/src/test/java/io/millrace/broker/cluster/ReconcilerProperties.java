package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/**
 * Random lives of one broker: topics come and go, the process dies at any point and restarts with
 * an old copy of the metadata, directories get lost, the metadata leader is away. Two things must
 * hold: no replica that took part starts empty ({@link FakeReplicas} checks), no data of a topic
 * that exists is ever deleted or set aside; and in the end the target is reached.
 */
class ReconcilerProperties {

  private static final int STEPS = 80;

  private final class Life {
    final Random random;
    final FakeMetadata metadata = new FakeMetadata();
    final FakeReplicas replicas = new FakeReplicas();
    final ManualScheduler clock = new ManualScheduler();
    final Set<ReplicaId> lost = new HashSet<>();
    long registeredAt;
    Reconciler reconciler;
    int nextTopic = 1;

    Life(long seed) {
      random = new Random(seed);
      for (int id = 1; id <= 3; id++) {
        metadata.commit(Commands.register(id));
      }
      metadata.around = replicas::commandPoint;
      metadata.lagging = true;
      newProcess();
    }

    void newProcess() {
      replicas.restart();
      // Any checkpoint is possible, even none.
      metadata.fallBackTo(random.nextInt((int) metadata.truth().index() + 1));
      registeredAt = metadata.commit(Commands.register(2)).getIndex();
      reconciler =
          new Reconciler(
              new LocalBroker(FakeCluster.CLUSTER_ID, 2, FakeCluster.incarnation(2)),
              metadata,
              state -> state.index() >= registeredAt,
              replicas,
              clock::nowMillis);
    }

    void pass() {
      try {
        reconciler.runPass();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      } catch (FakeReplicas.Killed e) {
        newProcess();
      }
      assertNoDataIsGone();
    }

    void create() {
      List<List<Integer>> partitions = new ArrayList<>();
      for (int p = 0; p <= random.nextInt(3); p++) {
        partitions.add(random.nextBoolean() ? List.of(2, 1, 3) : List.of(1, 2, 3));
      }
      int number = nextTopic++;
      metadata.commit(Commands.create("t" + number, new UUID(7, number), partitions));
    }

    void deleteOne() {
      List<TopicEntry> topics = new ArrayList<>(metadata.truth().topics());
      if (!topics.isEmpty()) {
        TopicEntry topic = topics.get(random.nextInt(topics.size()));
        metadata.commit(Commands.delete(topic.name(), topic.id()));
      }
    }

    /** An operator's accident while the process is down, or a disk that forgets. */
    void loseOne() {
      List<ReplicaId> all = new ArrayList<>(replicas.directories());
      if (!all.isEmpty()) {
        ReplicaId id = all.get(random.nextInt(all.size()));
        if (random.nextBoolean()) {
          replicas.wipe(id);
        } else {
          replicas.empty(id);
        }
        lost.add(id);
        newProcess();
      }
    }

    void step() {
      switch (random.nextInt(12)) {
        case 0 -> create();
        case 1 -> deleteOne();
        case 2 -> newProcess();
        case 3 -> replicas.killAt = random.nextInt(25);
        case 4 -> {
          if (random.nextInt(4) == 0) {
            loseOne();
          }
        }
        case 5 -> metadata.available = random.nextInt(3) != 0;
        case 6, 7 -> metadata.catchUp(random.nextInt(4));
        case 8 -> clock.advance(random.nextInt(40_000));
        default -> pass();
      }
    }

    void assertNoDataIsGone() {
      assertThat(replicas.aside())
          .as("set aside")
          .noneMatch(id -> metadata.truth().topic(id.topicId()) != null);
      for (TopicEntry topic : metadata.truth().topics()) {
        for (int p = 0; p < topic.partitions().size(); p++) {
          ReplicaId id = new ReplicaId(topic.id(), p, 0);
          if (replicas.everStarted(id) && !lost.contains(id)) {
            assertThat(replicas.hasData(id)).as("data of %s", id).isTrue();
          }
        }
      }
    }

    void settle() {
      metadata.available = true;
      replicas.killAt = -1;
      for (int i = 0; i < 6; i++) {
        metadata.catchUp();
        pass();
        clock.advance(RetryTable.MAX_PAUSE_MILLIS);
      }
    }

    void assertTarget() {
      Set<ReplicaId> target = new TreeSet<>();
      Set<ReplicaId> notStarted = new TreeSet<>();
      for (TopicEntry topic : metadata.truth().topics()) {
        for (int p = 0; p < topic.partitions().size(); p++) {
          ReplicaId id = new ReplicaId(topic.id(), p, 0);
          if (replicas.directory(id) == LocalReplicas.DirectoryState.PRESENT) {
            target.add(id);
          } else {
            notStarted.add(id);
          }
        }
      }
      assertThat(replicas.running()).isEqualTo(target);
      assertThat(lost).containsAll(notStarted);
      assertThat(reconciler.problems().keySet())
          .as("problems %s", reconciler.problems())
          .isEqualTo(notStarted);
      assertThat(replicas.directories())
          .allMatch(id -> metadata.truth().topic(id.topicId()) != null);
      assertThat(metadata.truth().deleted())
          .allMatch(d -> d.remaining().stream().noneMatch(r -> r.replica().broker() == 2));
    }
  }

  @Property(tries = 400)
  void noReplicaThatTookPartStartsEmptyAndTheTargetIsReached(@ForAll long seed) {
    Life life = new Life(seed);
    for (int i = 0; i < STEPS; i++) {
      life.step();
    }
    life.settle();
    life.assertTarget();
  }
}
