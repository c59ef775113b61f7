package io.millrace.client;

import static io.millrace.client.Records.failure;
import static io.millrace.client.Records.get;
import static io.millrace.client.Records.keyed;
import static io.millrace.client.Records.read;
import static io.millrace.client.Records.to;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import io.millrace.client.error.ClientClosedException;
import io.millrace.client.error.InvalidArgumentException;
import io.millrace.client.error.UnknownTopicException;
import io.millrace.client.error.UnreachableException;
import io.millrace.client.fake.FakeCluster;
import io.millrace.client.fake.Fault;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.MetadataRequest;
import io.millrace.protocol.message.MetadataResponse;
import io.millrace.protocol.message.TopicInfo;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Connections, metadata, admin calls and the end of a client. */
@Timeout(30)
class ClientTest {

  private FakeCluster cluster;

  @BeforeEach
  void start() {
    cluster = new FakeCluster(3);
    cluster.createTopic("t", 6);
  }

  @AfterEach
  void stop() {
    cluster.close();
  }

  private MillraceClient connect() {
    return MillraceClient.connect(new ClientConfig(cluster.bootstrap()));
  }

  private ClientConfig quick() {
    return new ClientConfig(cluster.bootstrap()).withRequestTimeoutMillis(500);
  }

  @Test
  void producesAndReadsBack() {
    try (MillraceClient client = connect()) {
      List<CompletableFuture<Receipt>> receipts = new ArrayList<>();
      try (Producer producer = client.producer(new ProducerConfig())) {
        for (int i = 0; i < 10_000; i++) {
          receipts.add(producer.send(keyed("t", "k" + i % 100, "v" + i)));
        }
      }
      assertThat(receipts).allMatch(CompletableFuture::isDone);
      Reader reader = client.reader(new ReaderConfig());
      reader.assignAll("t");
      assertThat(read(reader, 10_000)).hasSize(10_000);
      assertThat(reader.poll(50)).isEmpty();
    }
  }

  // ------------------------------------------------------------------------------ connections

  @Test
  void unreachableNamesEveryAddressAndWhy() throws IOException {
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    List<String> addresses = List.of("127.0.0.1:" + port, "no-such-host.invalid:19801");
    try (MillraceClient client =
        MillraceClient.connect(new ClientConfig(addresses).withRequestTimeoutMillis(2_000))) {
      MillraceException failure = failure(client.admin().listTopics());
      assertThat(failure).isInstanceOf(UnreachableException.class);
      assertThat(failure.outcome()).isEqualTo(Outcome.NOT_DONE);
      assertThat(failure.getMessage())
          .contains("127.0.0.1:" + port + " (connection refused)")
          .contains("no-such-host.invalid:19801 (unknown host)");
      UnreachableException again =
          catchThrowableOfType(UnreachableException.class, () -> client.awaitConnected(500));
      assertThat(again.reasons().keySet()).containsExactlyInAnyOrderElementsOf(addresses);
    }
  }

  @Test
  void oneLivingBootstrapAddressIsEnough() {
    cluster.broker(1).stop();
    cluster.broker(2).stop();
    try (MillraceClient client = connect().awaitConnected(5_000)) {
      assertThat(get(client.admin().describeCluster()).brokers()).hasSize(3);
    }
  }

  @Test
  void garbageInsteadOfABrokerIsReported() throws IOException {
    try (ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      Thread thread =
          new Thread(
              () -> {
                while (!server.isClosed()) {
                  try (Socket socket = server.accept()) {
                    socket.getOutputStream().write("HTTP/1.1 400 Bad Request\r\n".getBytes());
                  } catch (IOException e) {
                    return;
                  }
                }
              });
      thread.setDaemon(true);
      thread.start();
      ClientConfig config =
          ClientConfig.of("127.0.0.1:" + server.getLocalPort()).withRequestTimeoutMillis(500);
      try (MillraceClient client = MillraceClient.connect(config)) {
        MillraceException failure = failure(client.admin().listTopics());
        assertThat(failure).isInstanceOf(UnreachableException.class);
        assertThat(failure.getMessage()).contains("magic");
      }
    }
  }

  @Test
  void brokerOfAnotherClusterIsRefused() {
    try (FakeCluster other = new FakeCluster(1)) {
      other.clusterId("another");
      ClientConfig config =
          ClientConfig.of(cluster.broker(1).address(), other.broker(1).address())
              .withRequestTimeoutMillis(2_500);
      other.brokersDown();
      try (MillraceClient client = MillraceClient.connect(config)) {
        client.awaitConnected(5_000);
        cluster.brokersDown();
        other.brokersUp();
        MillraceException failure = failure(client.admin().listTopics());
        assertThat(failure.getMessage()).contains("cluster another").contains("fake");
      }
    }
  }

  @Test
  void connectionsAreSharedAndOpenedOnDemand() {
    try (MillraceClient client = connect()) {
      Producer one = client.producer(new ProducerConfig());
      Producer two = client.producer(new ProducerConfig());
      for (int p = 0; p < 6; p++) {
        get(one.send(to("t", p, "a")));
        get(two.send(to("t", p, "b")));
      }
      for (int id = 1; id <= 3; id++) {
        assertThat(cluster.broker(id).accepted()).isEqualTo(1);
      }
    }
  }

  @Test
  void reconnectsWithBackOff() {
    try (MillraceClient client = connect()) {
      Producer producer = client.producer(new ProducerConfig().withDeliveryTimeoutMillis(600));
      get(producer.send(to("t", 0, "a")));
      cluster.broker(1).stop();
      failure(producer.send(to("t", 0, "b")));
      cluster.broker(1).start();
      await()
          .untilAsserted(
              () ->
                  assertThat(
                          producer
                              .send(to("t", 0, "c"))
                              .handle((r, e) -> e == null)
                              .get(2, TimeUnit.SECONDS))
                      .isTrue());
    }
  }

  // ------------------------------------------------------------------------------ metadata

  @Test
  void neverGoesBackToOlderMetadata() {
    try (MillraceClient client = connect()) {
      get(client.producer(new ProducerConfig()).send(to("t", 0, "a")));
      long index = client.view().index();
      assertThat(index).isPositive();
      cluster.metadataIndex(index - 1);
      cluster.deleteTopicQuietly("t");
      get(client.admin().describeCluster());
      client.refreshMetadata();
      await().during(200, TimeUnit.MILLISECONDS).until(() -> client.view().topic("t") != null);
      assertThat(client.view().index()).isEqualTo(index);
      cluster.metadataIndex(index + 1);
      await().until(() -> client.view().topic("t") == null);
    }
  }

  @Test
  void requestsSayWhatWasSeen() {
    try (MillraceClient client = connect()) {
      get(client.producer(new ProducerConfig()).send(to("t", 0, "a")));
      client.refreshMetadata();
      await()
          .until(
              () ->
                  cluster.seen(ApiKind.METADATA).stream()
                      .map(s -> (MetadataRequest) s.request())
                      .anyMatch(
                          r ->
                              r.getContext().getMetadataIndex() > 0
                                  && r.getContext().getClientId().equals("millrace-java")
                                  && r.getContext().getDeadlineMillis() > 0));
    }
  }

  // ------------------------------------------------------------------------------ admin

  @Test
  void adminCallsAnswer() {
    try (MillraceClient client = connect()) {
      Admin admin = client.admin();
      TopicDescription made = get(admin.createTopic(TopicSpec.of("orders", 4, 3)));
      assertThat(made.name()).isEqualTo("orders");
      assertThat(made.partitions()).hasSize(4);
      assertThat(get(admin.listTopics())).containsExactly("orders", "t");
      assertThat(get(admin.describeTopic("orders")).id()).isEqualTo(made.id());
      ClusterDescription described = get(admin.describeCluster());
      assertThat(described.clusterId()).isEqualTo("fake");
      assertThat(described.brokers())
          .extracting(ClusterDescription.Broker::id)
          .containsExactly(1, 2, 3);
      assertThat(get(admin.brokerStatus(2)).getBrokerId()).isEqualTo(2);
      get(client.producer(new ProducerConfig()).send(to("orders", 3, "x")));
      TopicPartition tp = new TopicPartition("orders", 3);
      assertThat(get(admin.listOffsets(List.of(tp), OffsetSpec.latest())).get(tp).offset())
          .isEqualTo(1);
      assertThat(get(admin.listOffsets(List.of(tp), OffsetSpec.earliest())).get(tp).offset())
          .isZero();
      get(admin.deleteTopic("orders"));
      assertThat(get(admin.listTopics())).containsExactly("t");
    }
  }

  @Test
  void oneBrokersMetadataIsItsOwnAlsoWhenItIsBehind() {
    try (MillraceClient client = connect()) {
      get(client.producer(new ProducerConfig()).send(to("t", 0, "a")));
      long index = client.view().index();
      assertThat(index).isPositive();
      cluster.metadataIndex(index - 1);

      MetadataResponse answer = get(client.admin().brokerMetadata(2));

      assertThat(answer.getAnsweringBroker()).isEqualTo(2);
      assertThat(answer.getContext().getMetadataIndex()).isEqualTo(index - 1);
      assertThat(answer.getTopicsList()).extracting(TopicInfo::getName).containsExactly("t");
      assertThat(client.view().index()).isEqualTo(index);
      // With what was seen in it, a broker that is behind would refuse the request.
      assertThat(cluster.seen(ApiKind.METADATA))
          .filteredOn(seen -> seen.broker() == 2)
          .map(seen -> (MetadataRequest) seen.request())
          .filteredOn(request -> request.getTopicsCount() == 0 && !request.getBrokersOnly())
          .map(request -> request.getContext().getMetadataIndex())
          .containsExactly(0L);
    }
  }

  @Test
  void adminFailuresAreTyped() {
    try (MillraceClient client = MillraceClient.connect(quick())) {
      Admin admin = client.admin();
      assertThat(failure(admin.createTopic(TopicSpec.of("t", 1, 1))).code())
          .isEqualTo(ErrorCode.TOPIC_EXISTS);
      assertThat(failure(admin.describeTopic("nosuch"))).isInstanceOf(UnknownTopicException.class);
      assertThat(failure(admin.brokerStatus(9)).getMessage()).contains("9").contains("[1, 2, 3]");
      assertThatThrownBy(() -> admin.describeTopic("bad name"))
          .isInstanceOf(InvalidArgumentException.class);
      assertThatThrownBy(() -> TopicSpec.of("", 1, 1)).isInstanceOf(InvalidArgumentException.class);
      MillraceException offsets =
          failure(admin.listOffsets(List.of(new TopicPartition("t", 77)), OffsetSpec.latest()));
      assertThat(offsets.code()).isEqualTo(ErrorCode.UNKNOWN_PARTITION);
      cluster.moveLeader("t", 0, 0);
      MillraceException noLeader =
          failure(admin.listOffsets(List.of(new TopicPartition("t", 0)), OffsetSpec.latest()));
      assertThat(noLeader.code()).isEqualTo(ErrorCode.NOT_READY);
      assertThat(noLeader.getMessage()).endsWith("no offset of t-0 within 500 ms: no leader known");
      cluster.moveLeader("t", 1, 0);
      cluster.moveLeader("t", 2, 0);
      MillraceException several =
          failure(
              admin.listOffsets(
                  List.of(
                      new TopicPartition("t", 3),
                      new TopicPartition("t", 2),
                      new TopicPartition("t", 1),
                      new TopicPartition("t", 0)),
                  OffsetSpec.latest()));
      assertThat(several.getMessage())
          .endsWith(
              "no offset of t-2 within 500 ms: no leader known (nor of 2 further partitions)");
    }
  }

  @Test
  void readsAreRepeatedElsewhereButCreateIsNotRepeatedWhenItMayHaveHappened() {
    try (MillraceClient client = connect()) {
      Admin admin = client.admin();
      int[] count = {0};
      cluster.script(
          (broker, kind, request) ->
              kind == ApiKind.METADATA && count[0]++ < 2
                  ? new Fault.Drop(false)
                  : kind == ApiKind.CREATE_TOPIC ? new Fault.Drop(true) : Fault.NONE);
      assertThat(get(admin.listTopics())).containsExactly("t");
      MillraceException unknown = failure(admin.createTopic(TopicSpec.of("maybe", 1, 1)));
      assertThat(unknown.outcome()).isEqualTo(Outcome.UNKNOWN);
      assertThat(cluster.seen(ApiKind.CREATE_TOPIC)).hasSize(1);
      assertThat(get(admin.listTopics())).containsExactly("maybe", "t");
    }
  }

  @Test
  void createIsRepeatedWhileItCertainlyDidNotHappen() {
    try (MillraceClient client = connect()) {
      int[] count = {0};
      cluster.script(
          (broker, kind, request) ->
              kind == ApiKind.CREATE_TOPIC && count[0]++ < 2
                  ? Fault.refuse(ErrorCode.NO_METADATA_LEADER)
                  : Fault.NONE);
      assertThat(get(client.admin().createTopic(TopicSpec.of("slow", 1, 1))).name())
          .isEqualTo("slow");
    }
  }

  // ------------------------------------------------------------------------------ the end

  @Test
  void closedClientRefusesEverything() {
    MillraceClient client = connect();
    Producer producer = client.producer(new ProducerConfig());
    Reader reader = client.reader(new ReaderConfig());
    get(producer.send(to("t", 0, "a")));
    client.close();
    client.close();
    assertThat(failure(producer.send(to("t", 0, "b")))).isInstanceOf(ClientClosedException.class);
    assertThatThrownBy(() -> reader.poll(10)).isInstanceOf(ClientClosedException.class);
    assertThatThrownBy(() -> client.producer(new ProducerConfig()))
        .isInstanceOf(ClientClosedException.class);
    assertThatThrownBy(() -> client.reader(new ReaderConfig()))
        .isInstanceOf(ClientClosedException.class);
    assertThat(failure(client.admin().listTopics()).code()).isEqualTo(ErrorCode.CLIENT_CLOSED);
  }

  @Test
  void noThreadIsLeftAfterClose() {
    Set<Long> before = ourThreads().keySet();
    for (int i = 0; i < 3; i++) {
      MillraceClient client =
          MillraceClient.connect(
              ClientConfig.of("localhost:" + cluster.broker(1).port()).withIoThreads(2));
      Producer producer = client.producer(new ProducerConfig());
      Reader reader = client.reader(new ReaderConfig());
      get(producer.send(to("t", 0, "a")));
      reader.assignAll("t");
      read(reader, 1);
      assertThat(ourThreads().size()).isGreaterThan(before.size());
      client.close();
      cluster.broker(1).dropConnections();
      cluster.deleteTopic("t");
      cluster.createTopic("t", 6);
    }
    await()
        .atMost(Duration.ofSeconds(3))
        .untilAsserted(
            () -> {
              Map<Long, String> left = ourThreads();
              left.keySet().removeAll(before);
              assertThat(left).isEmpty();
            });
  }

  @Test
  void noThreadIsLeftWhenClosedInACallbackOrWithoutBrokers() {
    MillraceClient client = connect();
    get(
        client
            .producer(new ProducerConfig())
            .send(to("t", 0, "a"))
            .whenComplete((r, e) -> client.close()));
    cluster.brokersDown();
    MillraceClient lonely = connect();
    CompletableFuture<Receipt> never = lonely.producer(new ProducerConfig()).send(to("t", 0, "b"));
    lonely.close(50);
    assertThat(failure(never)).isInstanceOf(ClientClosedException.class);
    await().untilAsserted(() -> assertThat(ourThreads()).isEmpty());
  }

  /** Threads of clients, by name: each name begins so. */
  private static Map<Long, String> ourThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(t -> t.getName().startsWith("millrace-"))
        .collect(Collectors.toMap(Thread::getId, Thread::getName));
  }
}
