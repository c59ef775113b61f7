package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ReconcilerTest {

  private static final UUID ORDERS = new UUID(7, 1);
  private static final ReplicaId REPLICA = new ReplicaId(ORDERS, 0, 0);

  private final FakeMetadata metadata = new FakeMetadata();
  private final FakeReplicas replicas = new FakeReplicas();
  private final ManualScheduler clock = new ManualScheduler();
  private boolean caughtUp = true;
  private Reconciler reconciler = newReconciler(FakeCluster.incarnation(2));

  private Reconciler newReconciler(UUID incarnation) {
    return new Reconciler(
        new LocalBroker(FakeCluster.CLUSTER_ID, 2, incarnation),
        metadata,
        state -> caughtUp,
        replicas,
        clock::nowMillis);
  }

  private long pass() {
    try {
      return reconciler.runPass();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private void restart() {
    replicas.restart();
    reconciler = newReconciler(FakeCluster.incarnation(2));
  }

  @BeforeEach
  void registerThree() {
    for (int id = 1; id <= 3; id++) {
      metadata.commit(Commands.register(id));
    }
  }

  private boolean started() {
    return metadata.truth().topic(ORDERS).partition(0).onBroker(2).started();
  }

  @Test
  void aNewReplicaIsCreatedThenReportedThenStarted() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    pass();
    assertThat(replicas.directory(REPLICA)).isEqualTo(LocalReplicas.DirectoryState.PRESENT);
    assertThat(started()).isTrue();
    assertThat(replicas.running()).isEmpty();
    assertThat(pass()).isEqualTo(Reconciler.SLOW_MILLIS);
    assertThat(replicas.running()).containsExactly(REPLICA);
    pass();
    assertThat(replicas.starts).isEqualTo(1);
    assertThat(reconciler.problems()).isEmpty();
  }

  @Test
  void otherBrokersReplicasAreNoConcern() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1), List.of(3)));
    pass();
    pass();
    assertThat(replicas.directories()).isEmpty();
    assertThat(metadata.submitted).isEmpty();
  }

  @Test
  void manyReplicasAreReportedInFewEntries() {
    List<List<Integer>> partitions = new ArrayList<>();
    for (int p = 0; p < 450; p++) {
      partitions.add(List.of(2));
    }
    metadata.commit(Commands.create("orders", ORDERS, partitions));
    pass();
    assertThat(metadata.submitted).hasSize(3);
    pass();
    assertThat(replicas.running()).hasSize(450);
  }

  @Test
  void nothingStartsBeforeTheReportIsCommitted() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    metadata.available = false;
    pass();
    pass();
    assertThat(replicas.running()).isEmpty();
    assertThat(reconciler.problems().get(REPLICA)).contains("no leader");
    int before = metadata.submitted.size();
    metadata.available = true;
    pass();
    assertThat(metadata.submitted).hasSize(before);
    clock.advance(RetryTable.FIRST_PAUSE_MILLIS);
    pass();
    pass();
    assertThat(replicas.running()).containsExactly(REPLICA);
    assertThat(reconciler.problems()).isEmpty();
  }

  @Test
  void aReportIsNotRepeatedWhileTheLocalStateLags() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    metadata.lagging = true;
    pass();
    pass();
    assertThat(metadata.submitted).hasSize(1);
    assertThat(replicas.running()).isEmpty();
    metadata.catchUp();
    pass();
    assertThat(replicas.running()).containsExactly(REPLICA);
  }

  @Test
  void startedReplicasStartWithoutAMetadataLeader() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    pass();
    pass();
    restart();
    caughtUp = false;
    metadata.available = false;
    pass();
    assertThat(replicas.running()).containsExactly(REPLICA);
  }

  @Test
  void aWipedReplicaIsNeverCreatedAgain() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    pass();
    pass();
    replicas.wipe(REPLICA);
    restart();
    for (int i = 0; i < 5; i++) {
      pass();
      clock.advance(60_000);
    }
    assertThat(replicas.running()).isEmpty();
    assertThat(replicas.directories()).isEmpty();
    assertThat(replicas.marks.get(REPLICA)).contains("orders", "missing", "its data is lost");
    assertThat(reconciler.problems()).containsOnlyKeys(REPLICA);
    replicas.empty(REPLICA);
    pass();
    assertThat(replicas.marks.get(REPLICA)).contains("empty");
    replicas.plant(REPLICA);
    pass();
    assertThat(replicas.running()).containsExactly(REPLICA);
    assertThat(reconciler.problems()).isEmpty();
  }

  @Test
  void aStaleStateThatStillSaysNewCreatesNothing() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    int beforeStarted = (int) metadata.truth().index();
    pass();
    pass();
    replicas.wipe(REPLICA);
    restart();
    metadata.lagging = true;
    metadata.fallBackTo(beforeStarted);
    caughtUp = false;
    pass();
    assertThat(replicas.directories()).isEmpty();
    metadata.catchUp();
    caughtUp = true;
    pass();
    pass();
    assertThat(replicas.running()).isEmpty();
    assertThat(replicas.directories()).isEmpty();
    assertThat(replicas.marks.get(REPLICA)).contains("missing");
  }

  @Test
  void aTopicThatIsDeletedAndStillInAStaleStateIsNotTakenForLost() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    pass();
    pass();
    int beforeDeleted = (int) metadata.truth().index();
    metadata.commit(Commands.delete("orders", ORDERS));
    pass();
    assertThat(replicas.directories()).isEmpty();
    restart();
    metadata.lagging = true;
    metadata.fallBackTo(beforeDeleted);
    caughtUp = false;
    pass();
    assertThat(replicas.marks).isEmpty();
    metadata.catchUp();
    caughtUp = true;
    pass();
    assertThat(replicas.marks).isEmpty();
    assertThat(reconciler.problems()).isEmpty();
  }

  @Test
  void anotherIncarnationsReplicaIsNotStarted() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    reconciler = newReconciler(new UUID(99, 2));
    pass();
    assertThat(replicas.directories()).isEmpty();
    assertThat(replicas.marks.get(REPLICA))
        .contains(FakeCluster.incarnation(2).toString(), new UUID(99, 2).toString());
    assertThat(metadata.submitted).isEmpty();
  }

  @Test
  void aForeignDirectoryIsLeftAlone() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    replicas.makeForeign(REPLICA);
    pass();
    pass();
    assertThat(replicas.running()).isEmpty();
    assertThat(started()).isFalse();
    assertThat(replicas.hasData(REPLICA)).isTrue();
    assertThat(replicas.marks.get(REPLICA)).contains("another replica");
  }

  @Test
  void aDeletedTopicIsRemovedAndReported() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3), List.of(2, 3, 1)));
    pass();
    pass();
    metadata.commit(Commands.delete("orders", ORDERS));
    pass();
    assertThat(replicas.running()).isEmpty();
    assertThat(replicas.directories()).isEmpty();
    assertThat(replicas.aside()).isEmpty();
    assertThat(replicas.deletions).isEqualTo(2);
    assertThat(metadata.truth().deleted(ORDERS).remaining())
        .extracting(r -> r.replica().broker())
        .containsExactlyInAnyOrder(1, 3, 1, 3);
    int submitted = metadata.submitted.size();
    pass();
    assertThat(metadata.submitted).hasSize(submitted);
  }

  @Test
  void aForeignDirectoryIsNotDeletedWithATopic() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    replicas.makeForeign(REPLICA);
    metadata.commit(Commands.delete("orders", ORDERS));
    pass();
    assertThat(replicas.hasData(REPLICA)).isTrue();
    assertThat(reconciler.problems().get(REPLICA)).contains("another replica");
    replicas.wipe(REPLICA);
    clock.advance(RetryTable.FIRST_PAUSE_MILLIS);
    pass();
    pass();
    assertThat(reconciler.problems()).isEmpty();
    assertThat(metadata.truth().deleted(ORDERS).remaining()).hasSize(2);
  }

  @Test
  void aDeletedTopicIsRemovedEvenIfTheLocalStateLags() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    pass();
    pass();
    metadata.commit(Commands.delete("orders", ORDERS));
    restart();
    caughtUp = false;
    pass();
    assertThat(replicas.deletions).isEqualTo(1);
  }

  @Test
  void anUnknownTopicIsSetAsideAndKept() {
    ReplicaId unknown = new ReplicaId(new UUID(8, 8), 3, 0);
    replicas.plant(unknown);
    pass();
    assertThat(replicas.directories()).isEmpty();
    assertThat(replicas.aside()).containsExactly(unknown);
    assertThat(replicas.deletions).isZero();
  }

  @Test
  void anUnknownTopicIsLeftAloneWhileTheLocalStateMayBeBehind() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    pass();
    pass();
    restart();
    metadata.lagging = true;
    metadata.fallBackTo(0);
    caughtUp = false;
    pass();
    assertThat(replicas.aside()).isEmpty();
    metadata.catchUp();
    caughtUp = true;
    pass();
    assertThat(replicas.running()).containsExactly(REPLICA);
  }

  @Test
  void aFailedStartIsRetriedWithGrowingPausesAndShown() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    pass();
    replicas.startFailures.put(REPLICA, new IOException("disk full"));
    assertThat(pass()).isEqualTo(500);
    assertThat(replicas.marks.get(REPLICA)).contains("disk full");
    assertThat(reconciler.problems().get(REPLICA)).contains("disk full");
    List<Long> pauses = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      clock.advance(i == 0 ? 500 : pauses.get(i - 1));
      pass();
      pauses.add(reconciler.millisUntilRetry());
    }
    assertThat(pauses).startsWith(1000L, 2000L, 4000L).endsWith(30_000L);
    replicas.startFailures.clear();
    clock.advance(30_000);
    pass();
    assertThat(replicas.running()).containsExactly(REPLICA);
    assertThat(reconciler.problems()).isEmpty();
  }

  @Test
  void oneFailureDoesNotHoldUpTheOthers() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(2), List.of(2), List.of(2)));
    pass();
    replicas.startFailures.put(REPLICA, new IOException("disk full"));
    pass();
    assertThat(replicas.running())
        .containsExactly(new ReplicaId(ORDERS, 1, 0), new ReplicaId(ORDERS, 2, 0));
  }

  @Test
  void aStoppedReconcilerTakesNoFurtherStep() {
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    reconciler.stop();
    pass();
    assertThat(replicas.directories()).isEmpty();
    assertThat(metadata.submitted).isEmpty();
    assertThat(replicas.running()).isEqualTo(Set.of());
  }
}
