package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.TreeSet;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/**
 * The process dies at every point of every step, once per run; the next process must come to the
 * target. {@link FakeReplicas} fails the test if a replica that took part ever starts empty.
 */
class ReconcilerCrashTest {

  private static final UUID KEPT = new UUID(7, 1);
  private static final UUID DELETED = new UUID(7, 2);
  private static final UUID CREATED = new UUID(7, 3);
  private static final UUID NEVER_WAS = new UUID(7, 4);

  /** A broker, its disk and the committed metadata; processes come and go. */
  private static final class Broker {
    final FakeMetadata metadata = new FakeMetadata();
    final FakeReplicas replicas = new FakeReplicas();
    final ManualScheduler clock = new ManualScheduler();
    private long registeredAt;
    private Reconciler reconciler;

    Broker() {
      for (int id = 1; id <= 3; id++) {
        metadata.commit(Commands.register(id));
      }
      metadata.around = replicas::commandPoint;
      newProcess();
    }

    void newProcess() {
      replicas.restart();
      registeredAt = metadata.commit(Commands.register(2)).getIndex();
      reconciler =
          new Reconciler(
              new LocalBroker(FakeCluster.CLUSTER_ID, 2, FakeCluster.incarnation(2)),
              metadata,
              state -> state.index() >= registeredAt,
              replicas,
              clock::nowMillis);
    }

    void passes(int count) {
      for (int i = 0; i < count; i++) {
        try {
          reconciler.runPass();
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
        clock.advance(RetryTable.MAX_PAUSE_MILLIS);
      }
    }
  }

  private static List<ReplicaId> replicasOf(UUID topic) {
    return List.of(new ReplicaId(topic, 0, 0), new ReplicaId(topic, 1, 0));
  }

  @Test
  void everyPointOfDeathLeadsToTheTarget() {
    int points = 0;
    boolean died = true;
    while (died) {
      died = runDyingAt(points++);
    }
    // Creating two, removing two, setting aside one, restarting two, two reports.
    assertThat(points).isGreaterThan(30);
  }

  private boolean runDyingAt(int point) {
    Broker broker = new Broker();
    broker.metadata.commit(Commands.create("kept", KEPT, List.of(1, 2, 3), List.of(2, 3, 1)));
    broker.metadata.commit(Commands.create("deleted", DELETED, List.of(1, 2, 3), List.of(2, 3, 1)));
    broker.passes(3);
    assertThat(broker.replicas.running()).hasSize(4);
    broker.metadata.commit(Commands.delete("deleted", DELETED));
    broker.metadata.commit(Commands.create("created", CREATED, List.of(1, 2, 3), List.of(2, 3, 1)));
    broker.replicas.plant(new ReplicaId(NEVER_WAS, 0, 0));
    broker.newProcess();
    broker.replicas.killAt = point;
    boolean died = false;
    try {
      broker.passes(4);
    } catch (FakeReplicas.Killed e) {
      died = true;
      broker.newProcess();
    }
    broker.passes(4);

    TreeSet<ReplicaId> target = new TreeSet<>(replicasOf(KEPT));
    target.addAll(replicasOf(CREATED));
    assertThat(broker.replicas.running()).as("death at point %d", point).isEqualTo(target);
    assertThat(broker.replicas.directories()).isEqualTo(target);
    assertThat(broker.replicas.aside()).containsExactly(new ReplicaId(NEVER_WAS, 0, 0));
    assertThat(broker.metadata.truth().deleted(DELETED).remaining())
        .noneMatch(r -> r.replica().broker() == 2);
    assertThat(broker.metadata.truth().topic(CREATED).partitions())
        .allMatch(p -> p.onBroker(2).started());
    assertThat(broker.reconciler.problems()).isEmpty();
    return died;
  }
}
