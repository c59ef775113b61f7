package io.millrace.tools.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.protocol.message.FlowFaults;
import io.millrace.protocol.message.PeerFaults;
import io.millrace.protocol.message.ReplicaHealth;
import io.millrace.protocol.message.ReplicaRole;
import io.millrace.protocol.message.ReplicaStatus;
import io.millrace.tools.local.ClusterView.BrokerReport;
import io.millrace.tools.local.ClusterView.Group;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ClusterViewTest {
  private static final Map<Group, Set<Integer>> ASSIGNED =
      Map.of(new Group("orders", 0), Set.of(1, 2, 3));

  private static ReplicaStatus.Builder replica(ReplicaRole role, long term, long lastIndex) {
    return ReplicaStatus.newBuilder()
        .setTopic("orders")
        .setHealth(ReplicaHealth.HEALTH_OK)
        .setRole(role)
        .setTerm(term)
        .setLeader(2)
        .setLastIndex(lastIndex)
        .setLogEnd(lastIndex * 10)
        .setCommittedEnd(lastIndex * 10 - 5);
  }

  private static BrokerReport broker(int id, ReplicaStatus.Builder replica) {
    return new BrokerReport(
        id,
        "h:" + id,
        "running",
        100L + id,
        61_000L,
        BrokerStatusResponse.newBuilder().addReplicas(replica).build(),
        null);
  }

  private static BrokerReport silent(int id) {
    return new BrokerReport(id, "h:" + id, "down", null, null, null, "start it");
  }

  private static List<Object> only(ClusterView view) {
    assertThat(view.partitionRows().lines()).hasSize(1);
    return view.partitionRows().lines().get(0);
  }

  @Test
  void faultsAreShownPerDirectionWithTheBrokerThatMakesThem() {
    FlowFaults slow = FlowFaults.newBuilder().setLatencyMillis(50).setLossPercent(1.5).build();
    var report =
        new BrokerReport(
            2,
            "h:2",
            "running",
            102L,
            1L,
            BrokerStatusResponse.newBuilder()
                .addNetworkFaults(
                    PeerFaults.newBuilder()
                        .setBrokerId(1)
                        .setTo(FlowFaults.newBuilder().setDropped(true))
                        .setFrom(slow))
                .addNetworkFaults(
                    PeerFaults.newBuilder()
                        .setBrokerId(3)
                        .setTo(FlowFaults.getDefaultInstance())
                        .setFrom(slow))
                .build(),
            null);
    var view = new ClusterView(List.of(silent(1), report), Map.of());

    assertThat(view.faultRows().columns())
        .containsExactly(
            "broker", "from", "to", "dropped", "latencyMillis", "jitterMillis", "lossPercent");
    assertThat(view.faultRows().lines())
        .containsExactly(
            List.of(2, 2, 1, true, 0, 0, 0.0),
            List.of(2, 1, 2, false, 50, 0, 1.5),
            List.of(2, 3, 2, false, 50, 0, 1.5));
  }

  @Test
  void aHealthyPartition() {
    var view =
        new ClusterView(
            List.of(
                broker(1, replica(ReplicaRole.ROLE_FOLLOWER, 4, 7)),
                broker(2, replica(ReplicaRole.ROLE_LEADER, 4, 9)),
                broker(3, replica(ReplicaRole.ROLE_FOLLOWER, 4, 9))),
            ASSIGNED);

    assertThat(only(view))
        .containsExactly(
            "orders", 0, 2, 4L, List.of(1, 2, 3), 90L, 85L, List.of(20L, 0L, 0L), "ok");
    assertThat(view.healthy()).isTrue();
    assertThat(view.brokerRows(true).columns()).contains("uptime");
    assertThat(view.brokerRows(true).lines().get(1))
        .containsExactly(2, "running", "h:2", 102L, "1 min 1 s", 1, 1L, null);
    assertThat(view.brokerRows(false).columns()).contains("uptimeMillis");
    assertThat(view.brokerRows(false).lines().get(1)).contains(61_000L);
  }

  @Test
  void aDeposedLeaderDoesNotCount() {
    var view =
        new ClusterView(
            List.of(
                broker(1, replica(ReplicaRole.ROLE_LEADER, 4, 9).setLeader(1)),
                broker(2, replica(ReplicaRole.ROLE_LEADER, 5, 8)),
                broker(3, replica(ReplicaRole.ROLE_FOLLOWER, 5, 8))),
            ASSIGNED);

    assertThat(only(view).subList(2, 4)).containsExactly(2, 5L);
    assertThat(view.brokerRows(true).lines())
        .extracting(line -> line.get(6))
        .containsExactly(0L, 1L, 0L);
    // Its tail beyond the new leader's end is no lead.
    assertThat(only(view).get(7)).isEqualTo(List.of(0L, 0L, 0L));
    assertThat(only(view).get(8)).isEqualTo("broker 1 does not follow the leader");
    assertThat(view.healthy()).isFalse();
  }

  @Test
  void aFollowerThatHearsNoLeaderOrAnotherOneIsAProblemHoweverLevelItIs() {
    BrokerReport leader = broker(2, replica(ReplicaRole.ROLE_LEADER, 4, 9));
    BrokerReport level = broker(3, replica(ReplicaRole.ROLE_FOLLOWER, 4, 9));

    for (ReplicaStatus.Builder astray :
        List.of(
            replica(ReplicaRole.ROLE_FOLLOWER, 4, 9).setLeader(0),
            replica(ReplicaRole.ROLE_FOLLOWER, 4, 9).setLeader(3),
            replica(ReplicaRole.ROLE_FOLLOWER, 3, 9),
            replica(ReplicaRole.ROLE_CANDIDATE, 6, 9).setLeader(0))) {
      var view = new ClusterView(List.of(broker(1, astray), leader, level), ASSIGNED);

      assertThat(only(view).get(8)).isEqualTo("broker 1 does not follow the leader");
      assertThat(view.healthy()).isFalse();
    }
    var behind = broker(1, replica(ReplicaRole.ROLE_FOLLOWER, 4, 1));
    assertThat(new ClusterView(List.of(behind, leader, level), ASSIGNED).healthy()).isTrue();
  }

  @Test
  void aBrokerWithANoteIsNotHealthy() {
    BrokerReport sound = broker(1, replica(ReplicaRole.ROLE_FOLLOWER, 4, 9));
    var noted =
        new BrokerReport(
            1, sound.address(), "running", 101L, 1L, sound.report(), "broker 2 does not reach it");
    var view =
        new ClusterView(
            List.of(noted, broker(2, replica(ReplicaRole.ROLE_LEADER, 4, 9))),
            Map.of(new Group("orders", 0), Set.of(1, 2)));

    assertThat(view.brokerRows(true).lines().get(0)).contains("broker 2 does not reach it");
    assertThat(only(view).get(8)).isEqualTo("ok");
    assertThat(view.healthy()).isFalse();
    assertThat(view.notInSync()).contains("broker 1: broker 2 does not reach it");
  }

  @Test
  void aSilentBrokerIsNamedAtItsPartitions() {
    var view =
        new ClusterView(
            List.of(
                broker(1, replica(ReplicaRole.ROLE_FOLLOWER, 4, 5)),
                broker(2, replica(ReplicaRole.ROLE_LEADER, 4, 9)),
                silent(3)),
            ASSIGNED);

    assertThat(only(view).get(8)).isEqualTo("broker 3 does not answer");
    assertThat(only(view).get(7)).isEqualTo(Arrays.asList(40L, 0L, null));
    assertThat(view.healthy()).isFalse();
  }

  @Test
  void noLeaderAndReasonsAreShown() {
    var view =
        new ClusterView(
            List.of(
                broker(
                    1,
                    replica(ReplicaRole.ROLE_NONE, 4, 9)
                        .setHealth(ReplicaHealth.HEALTH_NO_VOTE)
                        .setReason("tail cut at 17")),
                broker(2, replica(ReplicaRole.ROLE_CANDIDATE, 5, 9)),
                new BrokerReport(
                    3, "h:3", "running", 1L, 1L, BrokerStatusResponse.getDefaultInstance(), null)),
            ASSIGNED);

    assertThat(only(view).get(2)).isNull();
    assertThat(only(view).get(8))
        .isEqualTo("no leader; broker 1 NO_VOTE (tail cut at 17); broker 3 has not started it");
    assertThat(view.healthy()).isFalse();
  }

  @Test
  void withoutAnyAnswerPartitionsOfTheMetadataStillShow() {
    var view = new ClusterView(List.of(silent(1), silent(2), silent(3)), ASSIGNED);

    assertThat(only(view).get(8))
        .isEqualTo(
            "no leader; broker 1 does not answer; broker 2 does not answer; broker 3 does not answer");
  }

  @Test
  void theMetadataGroupHasNoOffsetsAndIsJudgedLikeTheOthers() {
    var view =
        new ClusterView(
            List.of(
                broker(1, replica(ReplicaRole.ROLE_LEADER, 4, 9).setTopic("")),
                silent(2),
                broker(3, replica(ReplicaRole.ROLE_FOLLOWER, 4, 7).setTopic("").setLeader(1))),
            Map.of(new Group("", 0), Set.of(1, 2, 3)));

    assertThat(only(view))
        .containsExactly(
            "(metadata)",
            0,
            1,
            4L,
            List.of(1, 2, 3),
            null,
            null,
            Arrays.asList(0L, null, 2L),
            "broker 2 does not answer");
  }

  private static BrokerReport broker(int id, ReplicaStatus.Builder... replicas) {
    var report = BrokerStatusResponse.newBuilder();
    for (ReplicaStatus.Builder replica : replicas) {
      report.addReplicas(replica);
    }
    return new BrokerReport(id, "h:" + id, "running", 100L + id, 1L, report.build(), null);
  }

  @Test
  void manyPartitionsAreSummedUpByTopic() {
    var view =
        new ClusterView(
            List.of(
                broker(
                    1,
                    replica(ReplicaRole.ROLE_LEADER, 4, 9),
                    replica(ReplicaRole.ROLE_FOLLOWER, 4, 7).setPartition(1),
                    replica(ReplicaRole.ROLE_FOLLOWER, 4, 7).setPartition(2)),
                broker(
                    2,
                    replica(ReplicaRole.ROLE_FOLLOWER, 4, 9).setLeader(1),
                    replica(ReplicaRole.ROLE_LEADER, 4, 20).setPartition(1),
                    replica(ReplicaRole.ROLE_CANDIDATE, 4, 7).setPartition(2))),
            Map.of(new Group("", 0), Set.of(1)));

    assertThat(view.partitionCount()).isEqualTo(4);
    assertThat(view.unhealthyCount()).isEqualTo(2);
    assertThat(view.topicRows().lines())
        .containsExactly(
            Arrays.asList("(metadata)", 1, 0, List.of(), null, 1),
            Arrays.asList("orders", 3, 2, List.of("1:1", "2:1"), 130L, 1));
    assertThat(view.unhealthyRows(40).lines())
        .extracting(line -> line.get(0) + "-" + line.get(1))
        .containsExactly("(metadata)-0", "orders-2");
    assertThat(view.unhealthyRows(1).lines()).hasSize(1);
    assertThat(view.partitionRows().lines()).hasSize(4);
  }

  @Test
  void inSyncIsTheSameIndexOfTheSameTermEverywhere() {
    var assigned = Map.of(new Group("orders", 0), Set.of(1, 2));
    BrokerReport leader = broker(1, replica(ReplicaRole.ROLE_LEADER, 4, 9));

    assertThat(
            new ClusterView(
                    List.of(
                        leader, broker(2, replica(ReplicaRole.ROLE_FOLLOWER, 4, 9).setLeader(1))),
                    assigned)
                .notInSync())
        .isEmpty();
    assertThat(
            new ClusterView(
                    List.of(
                        leader, broker(2, replica(ReplicaRole.ROLE_FOLLOWER, 4, 8).setLeader(1))),
                    assigned)
                .notInSync())
        .contains("orders-0: broker 2 is at index 8 of term 4, its leader 1 at index 9 of term 4");
    assertThat(
            new ClusterView(
                    List.of(
                        leader, broker(2, replica(ReplicaRole.ROLE_FOLLOWER, 3, 9).setLeader(1))),
                    assigned)
                .notInSync())
        .contains("orders-0: broker 2 does not follow the leader");
    assertThat(new ClusterView(List.of(leader, silent(2)), assigned).notInSync())
        .contains("broker 2 does not answer");
    assertThat(new ClusterView(List.of(leader, broker(2)), assigned).notInSync())
        .contains("orders-0: broker 2 has not started it");
  }
}
