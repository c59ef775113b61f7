package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.Outcome;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Every way to a result: here, forwarded, late, lost. */
class CommandSubmitterTest {

  private static final MetadataCommand IDS = MetadataCommands.allocateProducerIds(1, 1000);

  private static void assertError(MetadataResult result, ErrorCode code, Outcome outcome) {
    assertThat(MetadataResults.code(result)).isEqualTo(code);
    assertThat(code.outcome()).isEqualTo(outcome);
    assertThat(result.getErrorText()).isNotBlank();
  }

  @Test
  void theLeaderProposesItself() {
    FakeCluster cluster = FakeCluster.started(3);
    int before = cluster.forwards;
    MetadataResult result = cluster.join(cluster.node(1).metadata.submit(IDS, 1000));
    assertThat(result.getProducerIds().getFirst()).isEqualTo(1);
    assertThat(result.getIndex()).isEqualTo(cluster.committed());
    assertThat(cluster.forwards).isEqualTo(before);
  }

  @Test
  void otherBrokersForwardToIt() {
    FakeCluster cluster = FakeCluster.started(3);
    int before = cluster.forwards;
    MetadataResult result = cluster.join(cluster.node(3).metadata.submit(IDS, 1000));
    assertThat(result.getProducerIds().getFirst()).isEqualTo(1);
    assertThat(cluster.forwards).isEqualTo(before + 1);
  }

  @Test
  void withoutALeaderItWaitsForOne() {
    FakeCluster cluster = FakeCluster.started(3);
    cluster.elect(0);
    CompletableFuture<MetadataResult> future = cluster.node(2).metadata.submit(IDS, 5000);
    cluster.scheduler.advance(2000);
    assertThat(future).isNotDone();
    cluster.elect(3);
    assertThat(MetadataResults.isDone(cluster.join(future))).isTrue();
  }

  @Test
  void withoutALeaderUntilTheDeadlineItIsCertainlyNotDone() {
    FakeCluster cluster = FakeCluster.started(3);
    cluster.elect(0);
    CompletableFuture<MetadataResult> future = cluster.node(2).metadata.submit(IDS, 700);
    cluster.scheduler.advance(699);
    assertThat(future).isNotDone();
    cluster.scheduler.advance(1);
    assertError(future.join(), ErrorCode.NO_METADATA_LEADER, Outcome.NOT_DONE);
    assertThat(future.join().getErrorText()).contains("700 ms");
    cluster.elect(1);
    cluster.scheduler.advance(10_000);
    assertThat(cluster.node(1).group.state().nextProducerId()).isEqualTo(1);
  }

  @Test
  void anUnreachableLeaderIsTriedAgainUntilTheDeadline() {
    FakeCluster cluster = FakeCluster.started(3);
    cluster.link = FakeCluster.Link.DOWN;
    int before = cluster.forwards;
    CompletableFuture<MetadataResult> failing = cluster.node(2).metadata.submit(IDS, 1000);
    cluster.scheduler.advance(1000);
    assertError(failing.join(), ErrorCode.NO_METADATA_LEADER, Outcome.NOT_DONE);
    assertThat(failing.join().getErrorText()).contains("broker 1", "no connection");
    assertThat(cluster.forwards - before).isBetween(5, 25);

    CompletableFuture<MetadataResult> later = cluster.node(2).metadata.submit(IDS, 1000);
    cluster.scheduler.advance(300);
    cluster.link = FakeCluster.Link.UP;
    assertThat(MetadataResults.isDone(cluster.join(later))).isTrue();
    assertThat(cluster.node(1).group.state().nextProducerId()).isEqualTo(1001);
  }

  @Test
  void aLostAnswerIsUnknownAndTheCommandIsNotSentAgain() {
    FakeCluster cluster = FakeCluster.started(3);
    cluster.link = FakeCluster.Link.LOSES_ANSWERS;
    MetadataResult result = cluster.join(cluster.node(2).metadata.submit(IDS, 1000));
    assertError(result, ErrorCode.OUTCOME_UNKNOWN, Outcome.UNKNOWN);
    cluster.scheduler.advance(5000);
    assertThat(cluster.node(1).group.state().nextProducerId()).isEqualTo(1001);
  }

  @Test
  void aSilentLeaderEndsInUnknownAtTheDeadline() {
    FakeCluster cluster = FakeCluster.started(3);
    cluster.link = FakeCluster.Link.SILENT;
    CompletableFuture<MetadataResult> future = cluster.node(2).metadata.submit(IDS, 1000);
    cluster.scheduler.advance(1000);
    assertError(future.join(), ErrorCode.REQUEST_TIMEOUT, Outcome.UNKNOWN);
  }

  @Test
  void aLeaderWithoutAMajorityEndsInUnknownAtTheDeadline() {
    FakeCluster cluster = FakeCluster.started(3);
    cluster.holdCommits = true;
    CompletableFuture<MetadataResult> future = cluster.node(1).metadata.submit(IDS, 1000);
    cluster.scheduler.advance(1000);
    assertError(future.join(), ErrorCode.REQUEST_TIMEOUT, Outcome.UNKNOWN);
    cluster.holdCommits = false;
    cluster.commit();
    assertThat(cluster.node(2).group.state().nextProducerId()).isEqualTo(1001);
  }

  @Test
  void aLeaderThatStepsDownLeavesTheOutcomeUnknown() {
    FakeCluster cluster = FakeCluster.started(3);
    cluster.holdCommits = true;
    CompletableFuture<MetadataResult> future = cluster.node(2).metadata.submit(IDS, 1000);
    cluster.failProposals(true);
    assertError(future.join(), ErrorCode.OUTCOME_UNKNOWN, Outcome.UNKNOWN);
  }

  @Test
  void leadershipLostBeforeTheProposalMovesToTheNextLeader() {
    FakeCluster cluster = FakeCluster.started(3);
    cluster.elect(2);
    MetadataResult result = cluster.join(cluster.node(1).metadata.submit(IDS, 1000));
    assertThat(MetadataResults.isDone(result)).isTrue();
    assertThat(cluster.node(2).group.state().nextProducerId()).isEqualTo(1001);
  }

  @Test
  void aForwardedCommandIsNotPassedOn() {
    FakeCluster cluster = FakeCluster.started(3);
    int before = cluster.forwards;
    MetadataResult result = cluster.node(2).metadata.submitForwarded(IDS, 1000).join();
    assertError(result, ErrorCode.NOT_LEADER, Outcome.NOT_DONE);
    assertThat(result.getErrorText()).contains("broker 2", "broker 1");
    assertThat(cluster.forwards).isEqualTo(before);
  }

  @Test
  void aRefusalOfTheStateIsAnAnswer() {
    FakeCluster cluster = FakeCluster.started(3);
    MetadataResult result =
        cluster.join(
            cluster.node(3).metadata.submit(Commands.register(2, new java.util.UUID(99, 2)), 1000));
    assertError(result, ErrorCode.INCARNATION_MISMATCH, Outcome.NOT_DONE);
    assertThat(result.getIndex()).isPositive();
  }

  @Test
  void aCommandOfANewerBrokerNeverReachesTheLog() {
    FakeCluster cluster = FakeCluster.started(3);
    int before = cluster.committed();
    MetadataResult result =
        cluster.join(cluster.node(2).metadata.submit(MetadataCommand.getDefaultInstance(), 1000));
    assertError(result, ErrorCode.UNSUPPORTED_VERSION, Outcome.NOT_DONE);
    assertThat(cluster.committed()).isEqualTo(before);
  }

  @Test
  void aFailedReplicaSaysSo() {
    FakeCluster cluster = FakeCluster.started(3);
    cluster.node(2).group.failed("disk gone");
    CompletableFuture<MetadataResult> future = cluster.node(2).metadata.submit(IDS, 200);
    cluster.scheduler.advance(200);
    assertThat(future.join().getErrorText()).contains("broker 2", "disk gone");
  }

  @Test
  void timersAreGoneWhenEverythingIsAnswered() {
    FakeCluster cluster = FakeCluster.started(3);
    int before = cluster.scheduler.size();
    for (int i = 0; i < 10; i++) {
      cluster.join(cluster.node(1 + i % 3).metadata.submit(IDS, 10_000));
    }
    assertThat(cluster.scheduler.size()).isLessThanOrEqualTo(before);
  }
}
