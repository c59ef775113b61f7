package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.BrokerInfo;
import io.millrace.protocol.message.CreateTopicRequest;
import io.millrace.protocol.message.CreateTopicResponse;
import io.millrace.protocol.message.DeleteTopicRequest;
import io.millrace.protocol.message.DeleteTopicResponse;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.MetadataRequest;
import io.millrace.protocol.message.MetadataResponse;
import io.millrace.protocol.message.PartitionInfo;
import io.millrace.protocol.message.RequestContext;
import io.millrace.protocol.message.TopicInfo;
import io.millrace.protocol.message.TopicSettings;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Create, delete and describe as a client sees them. */
class TopicAdminTest {

  private static CreateTopicRequest create(String name, int partitions, int replicas) {
    return CreateTopicRequest.newBuilder()
        .setContext(RequestContext.newBuilder().setDeadlineMillis(10_000))
        .setName(name)
        .setSettings(TopicSettings.newBuilder().setPartitions(partitions).setReplicas(replicas))
        .build();
  }

  private static DeleteTopicRequest delete(String name) {
    return DeleteTopicRequest.newBuilder()
        .setContext(RequestContext.newBuilder().setDeadlineMillis(10_000))
        .setName(name)
        .build();
  }

  private static void assertError(ErrorInfo error, ErrorCode code, String... texts) {
    assertThat(ErrorCode.of(error.getCode())).isEqualTo(code);
    assertThat(error.getText()).contains(texts);
  }

  /** Creates a topic and lets its preferred brokers lead it. */
  private static TopicInfo created(FakeCluster cluster, String name, int partitions) {
    CompletableFuture<CreateTopicResponse> future =
        cluster.node(2).metadata.createTopic(create(name, partitions, 3));
    cluster.scheduler.advance(10);
    cluster.leadAll(cluster.node(1).group.state().topic(name));
    CreateTopicResponse response = cluster.join(future);
    assertThat(response.getContext().hasError()).isFalse();
    return response.getTopic();
  }

  @Test
  void aTopicIsCreatedWhenEveryPartitionHasALeader() {
    FakeCluster cluster = FakeCluster.started(3);
    CompletableFuture<CreateTopicResponse> future =
        cluster.node(2).metadata.createTopic(create("orders", 2, 0));
    cluster.scheduler.advance(100);
    TopicEntry topic = cluster.node(2).group.state().topic("orders");
    assertThat(topic.partitions()).hasSize(2);
    assertThat(topic.settings().getReplicas()).isEqualTo(3);
    cluster.lead(topic, 0, 1, 4);
    assertThat(future).isNotDone();
    cluster.lead(topic, 1, 3, 6);
    CreateTopicResponse response = future.join();
    assertThat(response.getContext().hasError()).isFalse();
    assertThat(response.getContext().getMetadataIndex()).isEqualTo(topic.createdIndex());
    assertThat(Uuids.of(response.getTopic().getId())).isEqualTo(topic.id());
    assertThat(response.getTopic().getPartitionsList())
        .extracting(PartitionInfo::getLeader)
        .containsExactly(1, 3);
    assertThat(response.getTopic().getPartitions(1).getTerm()).isEqualTo(6);
    assertThat(response.getTopic().getPartitions(1).getReplicasCount()).isEqualTo(3);
    assertThat(response.getTopic().getDurability()).contains("fsync=always");
  }

  @Test
  void withoutLeadersUntilTheDeadlineItIsInProgress() {
    FakeCluster cluster = FakeCluster.started(3);
    CompletableFuture<CreateTopicResponse> future =
        cluster.node(2).metadata.createTopic(create("orders", 3, 3));
    cluster.scheduler.advance(100);
    cluster.lead(cluster.node(2).group.state().topic("orders"), 1, 1, 4);
    cluster.scheduler.advance(9_300);
    assertThat(future).isNotDone();
    cluster.scheduler.advance(100);
    CreateTopicResponse response = future.join();
    assertError(
        response.getContext().getError(), ErrorCode.IN_PROGRESS, "orders", "1 of 3 partitions");
    assertThat(response.getTopic().getName()).isEqualTo("orders");
  }

  @Test
  void aTopicThatTheAnsweringBrokerHasNotSeenYetIsInProgress() {
    FakeCluster cluster = FakeCluster.started(3);
    cluster.node(2).lagging = true;
    CompletableFuture<CreateTopicResponse> future =
        cluster.node(2).metadata.createTopic(create("orders", 1, 3));
    cluster.scheduler.advance(10_000);
    assertError(
        future.join().getContext().getError(), ErrorCode.IN_PROGRESS, "orders", "metadata only");
  }

  @Test
  void aTopicDeletedWhileItsPartitionsStartIsReportedAsGone() {
    FakeCluster cluster = FakeCluster.started(3);
    CompletableFuture<CreateTopicResponse> future =
        cluster.node(2).metadata.createTopic(create("orders", 1, 3));
    cluster.scheduler.advance(10);
    cluster.join(cluster.node(3).metadata.deleteTopic(delete("orders")));
    assertError(
        cluster.join(future).getContext().getError(), ErrorCode.UNKNOWN_TOPIC, "deleted again");
  }

  @Test
  void badRequestsAreRefusedWithoutALeader() {
    FakeCluster cluster = FakeCluster.started(3);
    cluster.elect(0);
    ClusterMetadata metadata = cluster.node(2).metadata;
    assertError(
        metadata.createTopic(create("a b", 1, 1)).join().getContext().getError(),
        ErrorCode.INVALID_TOPIC_NAME,
        "a b");
    assertError(
        metadata.createTopic(create("a", 1, 2)).join().getContext().getError(),
        ErrorCode.INVALID_SETTING,
        "replicas 2");
    assertError(
        metadata.createTopic(create("a", 1001, 1)).join().getContext().getError(),
        ErrorCode.INVALID_SETTING,
        "1001");
    assertError(
        metadata.deleteTopic(delete("")).join().getContext().getError(),
        ErrorCode.INVALID_TOPIC_NAME,
        "1 to 249");
  }

  @Test
  void replicasNeedReachableBrokers() {
    FakeCluster cluster = FakeCluster.started(3);
    assertError(
        cluster
            .join(cluster.node(2).metadata.createTopic(create("a", 1, 5)))
            .getContext()
            .getError(),
        ErrorCode.NOT_ENOUGH_BROKERS,
        "replicas 5",
        "3 are registered",
        "3 of them reachable");
    cluster.unreachable.add(3);
    assertError(
        cluster
            .join(cluster.node(2).metadata.createTopic(create("a", 1, 0)))
            .getContext()
            .getError(),
        ErrorCode.NOT_ENOUGH_BROKERS,
        "replicas 3",
        "2 of them reachable");
    assertThat(cluster.node(1).group.state().topics()).isEmpty();
  }

  @Test
  void unreachableBrokersGetNoReplicas() {
    FakeCluster cluster = FakeCluster.started(5);
    cluster.unreachable.add(2);
    cluster.unreachable.add(4);
    cluster.node(1).metadata.createTopic(create("a", 6, 3));
    cluster.scheduler.advance(10);
    assertThat(cluster.node(1).group.state().topic("a").partitions())
        .hasSize(6)
        .allSatisfy(
            p ->
                assertThat(p.replicas())
                    .extracting(ReplicaEntry::broker)
                    .containsExactlyInAnyOrder(1, 3, 5));
  }

  @Test
  void aTakenNameIsRefusedWithAndWithoutContactToAMajority() {
    FakeCluster cluster = FakeCluster.started(3);
    created(cluster, "orders", 1);
    int before = cluster.committed();
    assertError(
        cluster
            .join(cluster.node(3).metadata.createTopic(create("orders", 5, 1)))
            .getContext()
            .getError(),
        ErrorCode.TOPIC_EXISTS,
        "orders",
        "1 partitions");
    assertThat(cluster.committed()).isEqualTo(before);
    cluster.quorumContact = false;
    assertError(
        cluster
            .join(cluster.node(3).metadata.createTopic(create("orders", 5, 1)))
            .getContext()
            .getError(),
        ErrorCode.TOPIC_EXISTS,
        "orders");
    assertThat(cluster.committed()).isEqualTo(before + 1);
  }

  @Test
  void topicsCreatedAtTheSameTimeAreSpread() {
    FakeCluster cluster = FakeCluster.started(3);
    for (int i = 0; i < 6; i++) {
      cluster.node(1 + i % 3).metadata.createTopic(create("t" + i, 1, 1));
    }
    cluster.scheduler.advance(50);
    Map<Integer, Integer> replicas = new HashMap<>();
    for (TopicEntry topic : cluster.node(1).group.state().topics()) {
      replicas.merge(topic.partition(0).replicas().get(0).broker(), 1, Integer::sum);
    }
    assertThat(replicas).isEqualTo(Map.of(1, 2, 2, 2, 3, 2));
  }

  @Test
  void anUnknownOutcomeIsFollowedInTheLocalState() {
    FakeCluster cluster = FakeCluster.started(3);
    cluster.link = FakeCluster.Link.LOSES_ANSWERS;
    CompletableFuture<CreateTopicResponse> future =
        cluster.node(2).metadata.createTopic(create("orders", 1, 3));
    cluster.scheduler.advance(10);
    cluster.leadAll(cluster.node(2).group.state().topic("orders"));
    assertThat(cluster.join(future).getContext().hasError()).isFalse();
  }

  @Test
  void anUnknownOutcomeThatNeverShowsStaysUnknown() {
    FakeCluster cluster = FakeCluster.started(3);
    cluster.holdCommits = true;
    CompletableFuture<CreateTopicResponse> future =
        cluster.node(2).metadata.createTopic(create("orders", 1, 3));
    cluster.scheduler.advance(10);
    cluster.failProposals(true);
    cluster.scheduler.advance(10_000);
    assertError(future.join().getContext().getError(), ErrorCode.OUTCOME_UNKNOWN, "may or may not");
  }

  @Test
  void withoutAMajorityTheOutcomeIsUnknownAtTheDeadline() {
    FakeCluster cluster = FakeCluster.started(3);
    cluster.holdCommits = true;
    CompletableFuture<CreateTopicResponse> future =
        cluster.node(1).metadata.createTopic(create("orders", 1, 3));
    CompletableFuture<DeleteTopicResponse> deleted =
        cluster.node(1).metadata.deleteTopic(delete("nothing"));
    cluster.scheduler.advance(9_501);
    assertError(
        future.join().getContext().getError(), ErrorCode.REQUEST_TIMEOUT, "may still happen");
    assertError(deleted.join().getContext().getError(), ErrorCode.UNKNOWN_TOPIC, "nothing");
  }

  @Test
  void deletingIsDoneWhenCommitted() {
    FakeCluster cluster = FakeCluster.started(3);
    TopicInfo topic = created(cluster, "orders", 2);
    DeleteTopicResponse response =
        cluster.join(cluster.node(3).metadata.deleteTopic(delete("orders")));
    assertThat(response.getContext().hasError()).isFalse();
    assertThat(cluster.node(3).group.state().topic("orders")).isNull();
    assertThat(cluster.node(3).group.state().deleted(Uuids.of(topic.getId())).remaining())
        .hasSize(6);
    assertError(
        cluster
            .join(cluster.node(3).metadata.deleteTopic(delete("orders")))
            .getContext()
            .getError(),
        ErrorCode.UNKNOWN_TOPIC,
        "orders");
  }

  @Test
  void deletingAtABrokerThatLagsIsDoneAllTheSame() {
    FakeCluster cluster = FakeCluster.started(3);
    created(cluster, "orders", 1);
    cluster.node(3).lagging = true;
    CompletableFuture<DeleteTopicResponse> future =
        cluster.node(3).metadata.deleteTopic(delete("orders"));
    cluster.scheduler.advance(100);
    assertThat(future).isNotDone();
    cluster.node(3).lagging = false;
    cluster.commit();
    assertThat(future.join().getContext().hasError()).isFalse();
    assertThat(cluster.node(3).group.state().topic("orders")).isNull();
  }

  @Test
  void createDeleteCreateGivesAnotherId() {
    FakeCluster cluster = FakeCluster.started(3);
    List<UUID> ids = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      ids.add(Uuids.of(created(cluster, "orders", 1).getId()));
      cluster.join(cluster.node(1).metadata.deleteTopic(delete("orders")));
    }
    assertThat(ids).doesNotHaveDuplicates();
  }

  @Test
  void describesBrokersTopicsAndWhatIsUnknown() {
    FakeCluster cluster = FakeCluster.started(3);
    created(cluster, "orders", 1);
    created(cluster, "events", 1);
    cluster.unreachable.add(3);
    MetadataResponse all = cluster.node(2).metadata.describe(MetadataRequest.getDefaultInstance());
    assertThat(all.getClusterId()).isEqualTo(FakeCluster.CLUSTER_ID);
    assertThat(all.getMetadataLeader()).isEqualTo(1);
    assertThat(all.getAnsweringBroker()).isEqualTo(2);
    assertThat(all.getBrokersList())
        .extracting(BrokerInfo::getReachable)
        .containsExactly(true, true, false);
    assertThat(all.getTopicsList())
        .extracting(TopicInfo::getName)
        .containsExactly("events", "orders");
    MetadataResponse some =
        cluster
            .node(2)
            .metadata
            .describe(
                MetadataRequest.newBuilder().addTopics("orders").addTopics("nothing").build());
    assertThat(some.getTopics(0).getPartitions(0).getLeader()).isPositive();
    assertError(some.getTopics(1).getError(), ErrorCode.UNKNOWN_TOPIC, "nothing");
    assertThat(
            cluster
                .node(2)
                .metadata
                .describe(MetadataRequest.newBuilder().setBrokersOnly(true).build())
                .getTopicsList())
        .isEmpty();
  }

  @Test
  void aBrokerThatIsBehindWhatTheClientSawDoesNotAnswer() {
    FakeCluster cluster = FakeCluster.started(3);
    long index = cluster.node(2).group.state().index();
    MetadataRequest request =
        MetadataRequest.newBuilder()
            .setContext(RequestContext.newBuilder().setMetadataIndex(index + 1))
            .build();
    MetadataResponse behind = cluster.node(2).metadata.describe(request);
    assertError(
        behind.getContext().getError(),
        ErrorCode.NOT_READY,
        "index " + index,
        String.valueOf(index + 1));
    assertThat(behind.getBrokersList()).isEmpty();
    cluster.join(cluster.node(1).metadata.submit(Commands.register(9), 1000));
    assertThat(cluster.node(2).metadata.describe(request).getContext().hasError()).isFalse();
  }
}
