package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

class ProducerIdsTest {

  private final FakeCluster cluster = FakeCluster.started(3);

  private ProducerIds newProducerIds(int broker) {
    return new ProducerIds(broker, cluster.node(broker).metadata);
  }

  @Test
  void idsAreUniqueOverBrokersAndRestarts() {
    Set<Long> given = new HashSet<>();
    for (int restart = 0; restart < 3; restart++) {
      for (int broker = 1; broker <= 3; broker++) {
        ProducerIds ids = newProducerIds(broker);
        for (int i = 0; i < 10; i++) {
          assertThat(given.add(cluster.join(ids.next()))).isTrue();
        }
      }
    }
    assertThat(cluster.node(1).group.state().nextProducerId()).isEqualTo(9001);
  }

  @Test
  void oneBlockServesManyRequests() {
    ProducerIds ids = newProducerIds(2);
    List<CompletableFuture<Long>> futures = new ArrayList<>();
    for (int i = 0; i < 2500; i++) {
      futures.add(ids.next());
    }
    int before = cluster.forwards;
    cluster.scheduler.advance(100);
    Set<Long> given = new HashSet<>();
    futures.forEach(future -> given.add(future.join()));
    assertThat(given).hasSize(2500);
    assertThat(cluster.forwards - before).isEqualTo(2);
    assertThat(cluster.node(1).group.state().nextProducerId()).isEqualTo(3001);
  }

  @Test
  void withoutALeaderNoIdIsGivenAndLaterRequestsWork() {
    cluster.elect(0);
    ProducerIds ids = newProducerIds(2);
    CompletableFuture<Long> future = ids.next();
    cluster.scheduler.advance(ProducerIds.FETCH_TIMEOUT_MILLIS);
    assertThat(future).isCompletedExceptionally();
    try {
      future.join();
    } catch (CompletionException e) {
      assertThat(e.getCause())
          .isInstanceOfSatisfying(
              MillraceException.class,
              m -> assertThat(m.code()).isEqualTo(ErrorCode.NO_METADATA_LEADER));
    }
    cluster.elect(1);
    assertThat(cluster.join(ids.next())).isPositive();
  }

  @Test
  void anUnknownBlockIsNeverUsed() {
    ProducerIds ids = newProducerIds(2);
    cluster.link = FakeCluster.Link.LOSES_ANSWERS;
    CompletableFuture<Long> lost = ids.next();
    cluster.scheduler.advance(100);
    assertThat(lost).isCompletedExceptionally();
    cluster.link = FakeCluster.Link.UP;
    assertThat(cluster.join(ids.next())).isEqualTo(1001);
  }

  @Test
  void waitingRequestsAreBounded() {
    cluster.elect(0);
    ProducerIds ids = newProducerIds(2);
    for (int i = 0; i < ProducerIds.MAX_WAITING; i++) {
      assertThat(ids.next()).isNotDone();
    }
    assertThat(ids.next()).isCompletedExceptionally();
  }
}
