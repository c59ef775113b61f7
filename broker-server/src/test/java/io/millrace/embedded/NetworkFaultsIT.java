package io.millrace.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.millrace.broker.net.RawClient;
import io.millrace.broker.raft.transport.NetworkFaults.Flow;
import io.millrace.client.ClientConfig;
import io.millrace.client.MillraceClient;
import io.millrace.client.TopicSpec;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.BatchWriter;
import io.millrace.protocol.batch.Compression;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.Outcome;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.MetadataRequest;
import io.millrace.protocol.message.PeerFaults;
import io.millrace.protocol.message.ProduceBatch;
import io.millrace.protocol.message.ProduceRequest;
import io.millrace.protocol.message.ProduceResponse;
import io.millrace.protocol.message.ReplicaRole;
import io.millrace.protocol.message.ReplicaStatus;
import io.millrace.protocol.message.RequestContext;
import io.millrace.protocol.message.TopicInfo;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Three brokers whose network is disturbed under load. How often the first test isolates and heals:
 * {@code -Dmillrace.heals=100}.
 */
@Timeout(value = 30, unit = TimeUnit.MINUTES)
class NetworkFaultsIT {

  private static final String TOPIC = "ledger";
  private static final int HEALS = Integer.getInteger("millrace.heals", 3);
  private static final int ELECTION_MILLIS = 1000;

  /** Election, a client that looks for the leader, and a machine that does other things too. */
  private static final long MOVE_MILLIS = 15_000;

  private static final long CATCH_UP_MILLIS = 30_000;
  private static final long MINORITY_DEADLINE_MILLIS = 2500;

  private EmbeddedCluster cluster;
  private MillraceClient client;

  @BeforeEach
  void start() throws Exception {
    cluster =
        EmbeddedCluster.start(
            EmbeddedCluster.Options.of(3).withElectionTimeoutMillis(ELECTION_MILLIS));
    client = MillraceClient.connect(new ClientConfig(cluster.bootstrap()));
    client.admin().createTopic(TopicSpec.of(TOPIC, 1, 3)).get(30, TimeUnit.SECONDS);
    cluster.await("first leader", MOVE_MILLIS, () -> cluster.leaderOf(TOPIC, 0) != 0);
  }

  @AfterEach
  void stop() throws Exception {
    client.close();
    cluster.close();
  }

  // ------------------------------------------------------------------------------------- isolation

  @Test
  void anIsolatedLeaderAcknowledgesNothingAndFollowsAfterEveryHeal() throws Exception {
    List<Long> gaps = new ArrayList<>();
    try (SteadyLoad load = new SteadyLoad(client, TOPIC)) {
      awaitAck(load, load.next());
      for (int round = 0; round < HEALS; round++) {
        int old = currentLeader();
        load.takeLongestGapMillis();
        cluster.isolate(old);
        int first = load.next();
        minorityAcknowledgesNothing(old);
        // The default client has moved to the majority.
        awaitAck(load, first);
        gaps.add(load.takeLongestGapMillis());
        assertThat(currentLeader()).isNotEqualTo(old);

        cluster.heal();
        awaitFollower(old);
        awaitCaughtUp();
      }
      load.stop(cluster);
      print("%d isolations of a leader, longest times without ack in ms: %s", HEALS, gaps);
      assertThat(load.failures()).isEmpty();
      awaitNoLag();
      load.verify(client);
    }
  }

  /**
   * A request straight to the old leader: while it believes in itself its outcome is unknown, at
   * the request's deadline at the latest, and then it says that it does not lead.
   */
  private void minorityAcknowledgesNothing(int old) throws IOException {
    // A negative number is not one of the load's.
    ProduceResponse early = produceAt(old, "#-1");
    assertThat(early.getResults(0).hasError()).as("ack of a minority: %s", early).isTrue();
    ErrorCode error = ErrorCode.of(early.getResults(0).getError().getCode());
    assertThat(error.outcome()).as("%s", early).isNotEqualTo(Outcome.DONE);
    await()
        .atMost(Duration.ofMillis(MOVE_MILLIS))
        .untilAsserted(
            () -> {
              ProduceResponse late = produceAt(old, "#-1");
              ErrorCode code = ErrorCode.of(late.getResults(0).getError().getCode());
              assertThat(code).isIn(ErrorCode.NOT_LEADER, ErrorCode.NOT_READY);
              assertThat(code.outcome()).isEqualTo(Outcome.NOT_DONE);
            });
  }

  private ProduceResponse produceAt(int brokerId, String value) throws IOException {
    BatchWriter writer = new BatchWriter(Compression.NONE, 1 << 20);
    writer.tryAppend(1_700_000_000_000L, null, value.getBytes(StandardCharsets.UTF_8), List.of());
    ByteBuffer batch =
        writer.build(
            BatchHeader.NO_PRODUCER_ID, BatchHeader.NO_PRODUCER_EPOCH, BatchHeader.NO_SEQUENCE);
    byte[] bytes = new byte[batch.remaining()];
    batch.duplicate().get(bytes);
    ProduceRequest request =
        ProduceRequest.newBuilder()
            .setContext(RequestContext.newBuilder().setDeadlineMillis(MINORITY_DEADLINE_MILLIS))
            .addBatches(
                ProduceBatch.newBuilder()
                    .setTopicId(topicAt(brokerId).getId())
                    .setSize(bytes.length)
                    .setCrc(BatchHeader.crc(batch, batch.position())))
            .build();
    InetSocketAddress address = cluster.broker(brokerId).address();
    try (RawClient raw =
        new RawClient(new InetSocketAddress(address.getHostString(), address.getPort()))) {
      raw.hello();
      long startNanos = System.nanoTime();
      raw.send(ApiKind.PRODUCE, 5, request, bytes);
      ProduceResponse response = raw.read().header(ProduceResponse.parser());
      assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos))
          .as("an answer in time")
          .isLessThan(2 * MINORITY_DEADLINE_MILLIS);
      return response;
    }
  }

  @Test
  void faultsAreSetReadAndClearedByAClient() throws Exception {
    int leader = currentLeader();
    int follower = otherThan(leader);
    PeerFaults cut =
        PeerFaults.newBuilder()
            .setBrokerId(follower)
            .setTo(io.millrace.protocol.message.FlowFaults.newBuilder().setDropped(true))
            .setFrom(io.millrace.protocol.message.FlowFaults.getDefaultInstance())
            .build();
    assertThat(client.admin().setNetworkFaults(leader, List.of(cut)).get(10, TimeUnit.SECONDS))
        .containsExactly(cut);
    assertThat(client.admin().networkFaults(leader).get(10, TimeUnit.SECONDS)).containsExactly(cut);
    assertThat(client.admin().networkFaults(follower).get(10, TimeUnit.SECONDS)).isEmpty();
    assertThat(client.admin().brokerStatus(leader).get(10, TimeUnit.SECONDS).getNetworkFaultsList())
        .containsExactly(cut);
    assertThat(client.admin().setNetworkFaults(leader, List.of()).get(10, TimeUnit.SECONDS))
        .isEmpty();
    assertThat(cluster.broker(leader).faults().inForce()).isEmpty();
  }

  // --------------------------------------------------------------------------------------- one way

  enum Cut {
    LEADER_TO_ONE,
    ONE_TO_LEADER,
    LEADER_TO_ALL,
    ALL_TO_LEADER
  }

  @ParameterizedTest
  @EnumSource(Cut.class)
  void aCutOfOneDirectionIsSurvivedWithoutEndlessElections(Cut cut) throws Exception {
    try (SteadyLoad load = new SteadyLoad(client, TOPIC)) {
      awaitAck(load, load.next());
      int leader = currentLeader();
      List<Integer> others = cluster.ids().stream().filter(id -> id != leader).toList();
      long termBefore = newestTerm();
      load.takeLongestGapMillis();
      switch (cut) {
        case LEADER_TO_ONE -> cluster.cutOneWay(leader, others.get(0));
        case ONE_TO_LEADER -> cluster.cutOneWay(others.get(0), leader);
        case LEADER_TO_ALL -> others.forEach(other -> cluster.cutOneWay(leader, other));
        case ALL_TO_LEADER -> others.forEach(other -> cluster.cutOneWay(other, leader));
      }
      awaitAck(load, load.next());
      long gap = load.takeLongestGapMillis();

      // A stable leader: one election is enough for what needs one, and none follows.
      await()
          .during(Duration.ofMillis(6 * ELECTION_MILLIS))
          .atMost(Duration.ofMillis(9 * ELECTION_MILLIS))
          .pollInterval(Duration.ofMillis(200))
          .until(() -> newestTerm() <= termBefore + 3);
      awaitAck(load, load.next());
      print("%s: %d ms without ack, terms %d to %d", cut, gap, termBefore, newestTerm());

      cluster.heal();
      awaitCaughtUp();
      load.stop(cluster);
      assertThat(load.failures()).isEmpty();
      awaitNoLag();
      load.verify(client);
    }
  }

  // ------------------------------------------------------------------------------------------ slow

  @ParameterizedTest
  @EnumSource(
      value = ReplicaRole.class,
      names = {"ROLE_FOLLOWER", "ROLE_LEADER"})
  void aSlowAndLossyBrokerBlocksNobodyForGood(ReplicaRole role) throws Exception {
    try (SteadyLoad load = new SteadyLoad(client, TOPIC)) {
      awaitAck(load, load.next());
      int leader = currentLeader();
      int slow = role == ReplicaRole.ROLE_LEADER ? leader : otherThan(leader);
      load.takeLongestGapMillis();
      cluster.slow(slow, new Flow(false, 20, 10, 1));
      int from = load.next();
      await().atMost(Duration.ofSeconds(120)).until(() -> load.hasAcked(from + 1500));
      load.stop(cluster);
      print("%s slow: %d ms without ack at most", role, load.takeLongestGapMillis());
      assertThat(load.failures()).isEmpty();
      // Still lossy: a lost request or answer costs its time limit, not the replica.
      awaitNoLag();
      cluster.heal();
      load.verify(client);
    }
  }

  // --------------------------------------------------------------------------------------- helpers

  /** For whoever runs it by hand with many heals. */
  private static void print(String format, Object... values) {
    System.out.println(String.format(format, values));
  }

  private void awaitAck(SteadyLoad load, int number) {
    cluster.await("ack of record " + number, MOVE_MILLIS, () -> load.hasAcked(number));
  }

  private int otherThan(int broker) {
    return cluster.ids().stream().filter(id -> id != broker).findFirst().orElseThrow();
  }

  private TopicInfo topicAt(int brokerId) {
    return cluster
        .broker(brokerId)
        .metadata()
        .describe(MetadataRequest.newBuilder().addTopics(TOPIC).build())
        .getTopics(0);
  }

  private ReplicaStatus replicaAt(int brokerId) {
    return cluster.broker(brokerId).replicaStatus().stream()
        .filter(replica -> replica.getTopic().equals(TOPIC))
        .findFirst()
        .orElseThrow();
  }

  /**
   * The leader of the newest term, 0 = none now: one that is cut off may not know that it is none
   * any more.
   */
  private int leaderNow() {
    long newest = newestTerm();
    return cluster.ids().stream()
        .filter(
            id -> {
              ReplicaStatus replica = replicaAt(id);
              return replica.getRole() == ReplicaRole.ROLE_LEADER && replica.getTerm() == newest;
            })
        .findFirst()
        .orElse(0);
  }

  /** Waits for one: leaders also move for balance, and then there is none for a moment. */
  private int currentLeader() {
    return await()
        .atMost(Duration.ofMillis(MOVE_MILLIS))
        .until(this::leaderNow, leader -> leader != 0);
  }

  private long newestTerm() {
    return cluster.ids().stream().mapToLong(id -> replicaAt(id).getTerm()).max().orElseThrow();
  }

  private void awaitFollower(int brokerId) {
    await()
        .atMost(Duration.ofMillis(CATCH_UP_MILLIS))
        .untilAsserted(
            () -> {
              ReplicaStatus replica = replicaAt(brokerId);
              assertThat(replica.getRole()).isEqualTo(ReplicaRole.ROLE_FOLLOWER);
              assertThat(replica.getLeader()).isNotIn(0, brokerId);
            });
  }

  /** Every replica reaches what the leader has now, while more is coming. */
  private void awaitCaughtUp() {
    long end = replicaAt(currentLeader()).getLastIndex();
    for (int id : cluster.ids()) {
      await()
          .atMost(Duration.ofMillis(CATCH_UP_MILLIS))
          .untilAsserted(
              () ->
                  assertThat(replicaAt(id).getAppliedIndex())
                      .as("replica of broker %d: %s", id, replicaAt(id))
                      .isGreaterThanOrEqualTo(end));
    }
  }

  /** Nothing is being sent: all replicas have the same, applied. */
  private void awaitNoLag() {
    await()
        .atMost(Duration.ofMillis(CATCH_UP_MILLIS))
        .untilAsserted(
            () -> {
              long end = replicaAt(currentLeader()).getLastIndex();
              assertThat(cluster.ids().stream().map(this::replicaAt))
                  .allMatch(r -> r.getLastIndex() == end && r.getAppliedIndex() == end);
            });
  }
}
