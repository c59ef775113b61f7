package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class BrokerRegistrarTest {

  private final FakeCluster cluster = new FakeCluster(3);
  private final List<String> refusals = new ArrayList<>();

  private BrokerRegistrar registrar(int broker) {
    return new BrokerRegistrar(cluster.node(broker).metadata, cluster.scheduler, refusals::add);
  }

  private BrokerEntry registered(int broker) {
    return cluster.node(1).group.state().broker(broker);
  }

  @Test
  void registersThroughWhoeverLeads() {
    cluster.elect(1);
    BrokerRegistrar registrar = registrar(2);
    registrar.register(cluster.node(2).entry());
    assertThat(registrar.isCaughtUp()).isFalse();
    cluster.scheduler.advance(100);
    assertThat(registered(2)).isEqualTo(cluster.node(2).entry());
    assertThat(registrar.isCaughtUp()).isTrue();
    assertThat(refusals).isEmpty();
  }

  @Test
  void isNotCaughtUpBeforeTheRegistrationIsInTheLocalState() {
    cluster.elect(1);
    cluster.node(2).lagging = true;
    BrokerRegistrar registrar = registrar(2);
    registrar.register(cluster.node(2).entry());
    cluster.scheduler.advance(100);
    assertThat(registered(2)).isNotNull();
    assertThat(registrar.isCaughtUp()).isFalse();
    cluster.node(2).catchUp();
    assertThat(registrar.isCaughtUp()).isTrue();
  }

  @Test
  void anEarlierRegistrationInTheStateIsNoProof() {
    cluster.elect(1);
    registrar(2).register(cluster.node(2).entry());
    cluster.scheduler.advance(100);
    cluster.link = FakeCluster.Link.DOWN;
    BrokerRegistrar nextProcess = registrar(2);
    nextProcess.register(cluster.node(2).entry());
    cluster.scheduler.advance(100);
    assertThat(cluster.node(2).group.state().broker(2)).isNotNull();
    assertThat(nextProcess.isCaughtUp()).isFalse();
    cluster.link = FakeCluster.Link.UP;
    cluster.scheduler.advance(1000);
    assertThat(nextProcess.isCaughtUp()).isTrue();
  }

  @Test
  void triesUntilThereIsALeader() {
    BrokerRegistrar registrar = registrar(2);
    registrar.register(cluster.node(2).entry());
    cluster.scheduler.advance(60_000);
    assertThat(registrar.isCaughtUp()).isFalse();
    cluster.elect(3);
    cluster.scheduler.advance(10_000);
    assertThat(registrar.isCaughtUp()).isTrue();
  }

  @Test
  void triesAgainAfterAnUnknownOutcome() {
    cluster.elect(1);
    cluster.link = FakeCluster.Link.LOSES_ANSWERS;
    BrokerRegistrar registrar = registrar(2);
    registrar.register(cluster.node(2).entry());
    cluster.scheduler.advance(100);
    assertThat(registrar.isCaughtUp()).isFalse();
    cluster.link = FakeCluster.Link.UP;
    cluster.scheduler.advance(BrokerRegistrar.MAX_PAUSE_MILLIS);
    assertThat(registrar.isCaughtUp()).isTrue();
  }

  @Test
  void aNewAddressIsRegisteredEvenIfItComesWhileRegistering() {
    cluster.elect(1);
    BrokerRegistrar registrar = registrar(2);
    BrokerEntry entry = cluster.node(2).entry();
    registrar.register(entry);
    BrokerEntry moved = new BrokerEntry(2, entry.incarnation(), "10.0.0.9", 4711, "1", 1);
    registrar.register(moved);
    cluster.scheduler.advance(100);
    assertThat(registered(2)).isEqualTo(moved);
    registrar.register(entry);
    cluster.scheduler.advance(100);
    assertThat(registered(2)).isEqualTo(entry);
  }

  @Test
  void aWipedBrokerIsRefusedForGood() {
    cluster.elect(1);
    registrar(2).register(cluster.node(2).entry());
    cluster.scheduler.advance(100);
    BrokerRegistrar wiped = registrar(2);
    BrokerEntry entry = cluster.node(2).entry();
    wiped.register(new BrokerEntry(2, new UUID(99, 2), entry.host(), entry.port(), "1", 1));
    cluster.scheduler.advance(100);
    assertThat(refusals).hasSize(1);
    assertThat(refusals.get(0)).contains("broker 2", new UUID(99, 2).toString());
    assertThat(wiped.refusal()).isEqualTo(refusals.get(0));
    assertThat(wiped.isCaughtUp()).isFalse();
    int committed = cluster.committed();
    wiped.register(entry);
    cluster.scheduler.advance(60_000);
    assertThat(cluster.committed()).isEqualTo(committed);
    assertThat(refusals).hasSize(1);
  }

  @Test
  void nothingIsTriedAfterClose() {
    BrokerRegistrar registrar = registrar(2);
    registrar.register(cluster.node(2).entry());
    cluster.scheduler.advance(BrokerRegistrar.ATTEMPT_MILLIS + 50);
    registrar.close();
    cluster.elect(1);
    cluster.scheduler.advance(60_000);
    assertThat(registered(2)).isNull();
  }
}
