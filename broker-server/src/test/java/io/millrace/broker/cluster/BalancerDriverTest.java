package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class BalancerDriverTest {

  private static final UUID ORDERS = new UUID(7, 100);

  private final FakeCluster cluster = FakeCluster.started(3);
  private final List<Balancer.Move> moves = new ArrayList<>();
  private final List<CompletableFuture<LeaderMover.Answer>> answers = new ArrayList<>();
  private boolean active = true;
  private long term = 10;
  private BalancerDriver driver;

  private final LeaderMover mover =
      move -> {
        moves.add(move);
        CompletableFuture<LeaderMover.Answer> answer = new CompletableFuture<>();
        answers.add(answer);
        return answer;
      };

  @BeforeEach
  void sixPartitionsAllLedByBrokerOne() {
    List<List<Integer>> partitions = new ArrayList<>();
    for (int p = 0; p < 6; p++) {
      partitions.add(List.of(1 + p % 3, 1 + (p + 1) % 3, 1 + (p + 2) % 3));
    }
    cluster.join(commit(Commands.create("orders", ORDERS, partitions)));
    for (int broker = 1; broker <= 3; broker++) {
      ReplicaId[] replicas = new ReplicaId[6];
      for (int p = 0; p < 6; p++) {
        replicas[p] = new ReplicaId(ORDERS, p, 0);
      }
      cluster.join(commit(Commands.started(broker, replicas)));
    }
    for (int p = 0; p < 6; p++) {
      cluster.lead(topic(), p, 1, term);
    }
    driver =
        new BalancerDriver(
            cluster.node(1).group,
            cluster.node(1).leaders,
            b -> !cluster.unreachable.contains(b),
            () -> active,
            mover,
            cluster.scheduler);
    driver.start();
  }

  private CompletableFuture<ProposalOutcome> commit(
      io.millrace.broker.cluster.message.MetadataCommand command) {
    return cluster.node(1).group.propose(command);
  }

  private TopicEntry topic() {
    return cluster.node(1).group.state().topic(ORDERS);
  }

  private void quiet() {
    cluster.scheduler.advance(BalancerDriver.QUIET_MILLIS + 2 * BalancerDriver.TICK_MILLIS);
  }

  /** The leader hands over and the new one announces itself. */
  private void finish(int move) {
    Balancer.Move done = moves.get(move);
    answers.get(move).complete(new LeaderMover.Answer(true, ""));
    cluster.node(done.from()).leaders.localStopped(ORDERS, done.key().partition());
    cluster.lead(topic(), done.key().partition(), done.to(), ++term);
  }

  @Test
  void movesOneLeaderAtATimeUntilEven() {
    quiet();
    assertThat(moves).hasSize(1);
    quiet();
    assertThat(moves).hasSize(1);
    for (int i = 0; i < 4; i++) {
      finish(i);
      cluster.scheduler.advance(2 * BalancerDriver.TICK_MILLIS);
    }
    assertThat(moves).hasSize(4);
    quiet();
    assertThat(moves).hasSize(4);
    for (int broker = 1; broker <= 3; broker++) {
      assertThat(cluster.node(1).leaders.ledBy(broker)).hasSize(2);
    }
    assertThat(moves).allSatisfy(m -> assertThat(m.from()).isEqualTo(1));
    for (int p = 0; p < 6; p++) {
      assertThat(cluster.node(1).leaders.leader(ORDERS, p).broker())
          .isEqualTo(topic().partition(p).replicas().get(0).broker());
    }
  }

  @Test
  void waitsAfterAnElectionThatIsNotItsOwn() {
    cluster.scheduler.advance(BalancerDriver.QUIET_MILLIS - 100);
    cluster.lead(topic(), 3, 2, ++term);
    cluster.scheduler.advance(BalancerDriver.QUIET_MILLIS - 100);
    assertThat(moves).isEmpty();
    cluster.scheduler.advance(1000);
    assertThat(moves).hasSize(1);
  }

  @Test
  void doesNothingWhileAnotherBrokerBalances() {
    active = false;
    quiet();
    assertThat(moves).isEmpty();
    active = true;
    cluster.scheduler.advance(BalancerDriver.QUIET_MILLIS - 100);
    assertThat(moves).isEmpty();
    cluster.scheduler.advance(1000);
    assertThat(moves).hasSize(1);
  }

  @Test
  void doesNothingWhileABrokerIsDown() {
    cluster.unreachable.add(3);
    quiet();
    assertThat(moves).isEmpty();
  }

  @Test
  void aRefusedMoveIsLeftAloneForAWhileAndOthersGoOn() {
    quiet();
    answers.get(0).complete(new LeaderMover.Answer(false, "broker 2 is 40 entries behind"));
    cluster.scheduler.advance(2 * BalancerDriver.TICK_MILLIS);
    assertThat(moves).hasSize(2);
    assertThat(moves.get(1).key()).isNotEqualTo(moves.get(0).key());
    answers.get(1).completeExceptionally(new IllegalStateException("connection lost"));
    cluster.scheduler.advance(2 * BalancerDriver.TICK_MILLIS);
    assertThat(moves).hasSize(3);
    assertThat(moves.get(2).key()).isNotIn(moves.get(0).key(), moves.get(1).key());
  }

  @Test
  void aMoveThatNeverShowsIsGivenUp() {
    quiet();
    answers.get(0).complete(new LeaderMover.Answer(true, ""));
    cluster.scheduler.advance(BalancerDriver.MOVE_TIMEOUT_MILLIS + BalancerDriver.TICK_MILLIS);
    assertThat(moves).hasSize(2);
    assertThat(moves.get(1).key()).isNotEqualTo(moves.get(0).key());
    cluster.scheduler.advance(BalancerDriver.REFUSED_PAUSE_MILLIS);
  }

  @Test
  void nothingMovesAfterClose() {
    driver.close();
    quiet();
    assertThat(moves).isEmpty();
  }
}
