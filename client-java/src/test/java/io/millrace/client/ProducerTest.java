package io.millrace.client;

import static io.millrace.client.Records.bytes;
import static io.millrace.client.Records.failure;
import static io.millrace.client.Records.get;
import static io.millrace.client.Records.keyed;
import static io.millrace.client.Records.to;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.millrace.client.error.BufferFullException;
import io.millrace.client.error.DeliveryTimeoutException;
import io.millrace.client.error.InvalidArgumentException;
import io.millrace.client.error.RecordTooLargeException;
import io.millrace.client.error.UnknownTopicException;
import io.millrace.client.fake.FakeCluster;
import io.millrace.client.fake.Fault;
import io.millrace.protocol.batch.Compression;
import io.millrace.protocol.batch.RecordHeader;
import io.millrace.protocol.batch.RecordView;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.ProduceRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.utils.Utils;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a producer does while nothing goes wrong, and what it refuses. */
@Timeout(30)
class ProducerTest {

  private FakeCluster cluster;
  private MillraceClient client;

  @BeforeEach
  void start() {
    cluster = new FakeCluster(3);
    cluster.createTopic("t", 6);
    client = MillraceClient.connect(new ClientConfig(cluster.bootstrap()));
  }

  @AfterEach
  void stop() {
    client.close(0);
    cluster.close();
  }

  @Test
  void receiptNamesWhereTheRecordIs() {
    Producer producer = client.producer(new ProducerConfig());
    assertThat(get(producer.send(to("t", 4, "a"))))
        .isEqualTo(new Receipt("t", 4, 0, 1, FsyncPolicy.ALWAYS, false));
    assertThat(get(producer.send(to("t", 4, "b"))).offset()).isEqualTo(1);
    assertThat(cluster.values("t", 4)).containsExactly("a", "b");
  }

  @Test
  void keysGoWhereKafkaPutsThem() {
    Producer producer = client.producer(new ProducerConfig());
    for (int i = 0; i < 50; i++) {
      String key = "key-" + i;
      Receipt receipt = get(producer.send(keyed("t", key, "v")));
      assertThat(receipt.partition()).isEqualTo(Utils.toPositive(Utils.murmur2(bytes(key))) % 6);
    }
  }

  @Test
  void recordsWithoutKeyShareBatchesAndChangePartition() {
    Producer producer =
        client.producer(new ProducerConfig().withLingerMillis(10_000).withBatchBytes(1_000));
    List<CompletableFuture<Receipt>> sent = new ArrayList<>();
    for (int i = 0; i < 10_000; i++) {
      sent.add(producer.send(ProducerRecord.of("t", bytes("value-" + i))));
    }
    producer.flush();
    Map<Integer, Integer> perPartition = new HashMap<>();
    int changes = 0;
    int last = -1;
    for (CompletableFuture<Receipt> receipt : sent) {
      int partition = receipt.join().partition();
      perPartition.merge(partition, 1, Integer::sum);
      changes += partition == last ? 0 : 1;
      last = partition;
    }
    // The choice is random: with some 200 batches one of six partitions is missed in 1e-14 of runs.
    assertThat(perPartition).hasSize(6);
    // About 50 records fit in 1,000 bytes.
    assertThat(changes).isBetween(100, 400);
  }

  @Test
  void stickyChoiceAvoidsPartitionsWithoutLeader() {
    for (int p = 0; p < 5; p++) {
      cluster.moveLeader("t", p, 0);
    }
    Producer producer = client.producer(new ProducerConfig().withLingerMillis(0));
    get(producer.send(to("t", 5, "known now")));
    for (int i = 0; i < 10; i++) {
      assertThat(get(producer.send(ProducerRecord.of("t", bytes("v")))).partition()).isEqualTo(5);
    }
  }

  @Test
  void keepsHeadersTimestampsAndNulls() {
    Producer producer = client.producer(new ProducerConfig());
    List<RecordHeader> headers =
        List.of(new RecordHeader("a", bytes("1")), new RecordHeader("b", null));
    get(producer.send(new ProducerRecord("t", 0, bytes("k"), null, headers, 1234L)));
    RecordView stored = cluster.records("t", 0).get(0);
    assertThat(stored.key()).isEqualTo(bytes("k"));
    assertThat(stored.value()).isNull();
    assertThat(stored.headers()).isEqualTo(headers);
    assertThat(stored.timestamp()).isEqualTo(1234L);
  }

  @ParameterizedTest
  @EnumSource(Compression.class)
  void compresses(Compression compression) {
    Producer producer = client.producer(new ProducerConfig().withCompression(compression));
    List<CompletableFuture<Receipt>> sent = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      sent.add(producer.send(to("t", 0, "the same text again and again " + i % 3)));
    }
    sent.forEach(Records::get);
    assertThat(cluster.values("t", 0)).hasSize(500).contains("the same text again and again 2");
    int payload = 0;
    for (FakeCluster.Seen seen : cluster.seen(ApiKind.PRODUCE)) {
      payload += ((ProduceRequest) seen.request()).getBatches(0).getSize();
    }
    int plain = 500 * 37;
    if (compression == Compression.NONE) {
      assertThat(payload).isGreaterThan(plain);
    } else {
      assertThat(payload).isLessThan(plain / 2);
    }
  }

  @Test
  void oneRequestCarriesTheBatchesForABroker() {
    Producer producer = client.producer(new ProducerConfig().withLingerMillis(10_000));
    get(client.producer(new ProducerConfig()).send(to("t", 0, "connects")));
    int before = cluster.seen(ApiKind.PRODUCE).size();
    for (int p = 0; p < 6; p++) {
      producer.send(to("t", p, "x"));
    }
    producer.flush();
    List<FakeCluster.Seen> requests = cluster.seen(ApiKind.PRODUCE);
    requests = requests.subList(before, requests.size());
    assertThat(requests).hasSize(3);
    for (FakeCluster.Seen seen : requests) {
      assertThat(((ProduceRequest) seen.request()).getBatchesCount()).isEqualTo(2);
      assertThat(((ProduceRequest) seen.request()).getContext().getDeadlineMillis())
          .isBetween(1L, 30_000L);
    }
  }

  @Test
  void lingerEndsABatch() {
    Producer producer = client.producer(new ProducerConfig().withLingerMillis(50));
    List<CompletableFuture<Receipt>> sent = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      sent.add(producer.send(to("t", 0, "v" + i)));
    }
    sent.forEach(Records::get);
    assertThat(cluster.seen(ApiKind.PRODUCE)).hasSize(1);
  }

  @Test
  void manyThreadsKeepTheirOrderPerKey() throws Exception {
    Producer producer = client.producer(new ProducerConfig().withLingerMillis(1));
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      String key = "thread-" + t;
      Thread thread =
          new Thread(
              () -> {
                for (int i = 0; i < 5_000; i++) {
                  producer.send(keyed("t", key, Integer.toString(i)));
                }
              });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    producer.flush();
    Map<String, Integer> next = new HashMap<>();
    for (int p = 0; p < 6; p++) {
      for (RecordView r : cluster.records("t", p)) {
        String key = new String(r.key());
        assertThat(Integer.parseInt(new String(r.value()))).isEqualTo(next.getOrDefault(key, 0));
        next.merge(key, 1, Integer::sum);
      }
    }
    assertThat(next).hasSize(4).allSatisfy((k, n) -> assertThat(n).isEqualTo(5_000));
  }

  // ------------------------------------------------------------------------------ refusals

  @Test
  void unknownTopicIsReportedByName() {
    Producer producer = client.producer(new ProducerConfig());
    MillraceException failure = failure(producer.send(keyed("nosuch", "k", "v")));
    assertThat(failure).isInstanceOf(UnknownTopicException.class);
    assertThat(failure.outcome()).isEqualTo(Outcome.NOT_DONE);
    assertThat(failure.getMessage()).contains("nosuch").contains("create it");
    cluster.createTopic("nosuch", 1);
    assertThat(get(producer.send(keyed("nosuch", "k", "v"))).offset()).isZero();
  }

  @Test
  void topicThatAppearsWhileItIsAskedForIsUsed() {
    Producer producer = client.producer(new ProducerConfig());
    CompletableFuture<Receipt> early = producer.send(to("late", 0, "early"));
    await().until(() -> cluster.seen(ApiKind.METADATA).size() > 2);
    cluster.createTopic("late", 1);
    CompletableFuture<Receipt> later = producer.send(to("late", 0, "later"));
    assertThat(get(early).offset()).isZero();
    assertThat(get(later).offset()).isEqualTo(1);
  }

  @Test
  void illegalTopicNameIsRefusedAtOnce() {
    Producer producer = client.producer(new ProducerConfig());
    CompletableFuture<Receipt> future = producer.send(keyed("no/slash", "k", "v"));
    assertThat(future).isCompletedExceptionally();
    assertThat(failure(future)).isInstanceOf(InvalidArgumentException.class);
    assertThat(failure(future).getMessage()).contains("no/slash").contains("'/'");
  }

  @Test
  void missingPartsAreNamed() {
    Producer producer = client.producer(new ProducerConfig());
    List<RecordHeader> holes = new ArrayList<>();
    holes.add(null);
    assertThat(failure(producer.send(keyed(null, "k", "v"))).getMessage()).contains("topic name");
    assertThat(failure(producer.send(keyed("t", "k", "v").withHeaders(holes))).getMessage())
        .contains("header 0 is null");
  }

  @Test
  void partitionOutOfRangeNamesTheRange() {
    Producer producer = client.producer(new ProducerConfig());
    for (int partition : new int[] {6, -1}) {
      MillraceException failure = failure(producer.send(to("t", partition, "v")));
      assertThat(failure.code()).isEqualTo(ErrorCode.UNKNOWN_PARTITION);
      assertThat(failure.getMessage()).contains("partition " + partition).contains("0 to 5");
    }
  }

  @Test
  void oversizedRecordIsRefusedBeforeItIsSent() {
    cluster.createTopic("small", 1, 1_000);
    Producer producer = client.producer(new ProducerConfig());
    get(producer.send(to("small", 0, "x".repeat(1_000))));
    MillraceException failure = failure(producer.send(to("small", 0, "x".repeat(1_100))));
    assertThat(failure).isInstanceOf(RecordTooLargeException.class);
    assertThat(failure.getMessage()).contains("1000").contains("small");
    for (int i = 0; i < 50; i++) {
      producer.send(to("small", 0, "y".repeat(500)));
    }
    producer.flush();
    assertThat(cluster.values("small", 0)).hasSize(51);
  }

  @Test
  void badTimestampIsRefused() {
    Producer producer = client.producer(new ProducerConfig());
    ProducerRecord record = to("t", 0, "v");
    assertThat(failure(producer.send(record.at(-5)))).isInstanceOf(InvalidArgumentException.class);
    assertThat(failure(producer.send(record.at(System.currentTimeMillis() + 90_000_000L))))
        .isInstanceOf(InvalidArgumentException.class);
    assertThatThrownBy(() -> producer.send(null)).isInstanceOf(InvalidArgumentException.class);
  }

  @Test
  void fullBufferFailsSendAndBlocksSendBlocking() throws Exception {
    Producer producer =
        client.producer(
            new ProducerConfig()
                .withBatchBytes(16 << 10)
                .withBufferBytes(64 << 10)
                .withRetryBackoffMaxMillis(50)
                .withRequestTimeoutMillis(300));
    get(producer.send(to("t", 1, "makes the topic known")));
    producer.flush();
    cluster.script((b, kind, r) -> silenceOf(kind));
    List<CompletableFuture<Receipt>> taken = new ArrayList<>();
    CompletableFuture<Receipt> refused = null;
    while (refused == null && taken.size() < 1_000) {
      CompletableFuture<Receipt> future = producer.send(to("t", 0, "x".repeat(1_000)));
      if (future.isCompletedExceptionally()) {
        refused = future;
      } else {
        taken.add(future);
      }
    }
    assertThat(failure(refused)).isInstanceOf(BufferFullException.class);
    assertThat(failure(refused).outcome()).isEqualTo(Outcome.NOT_DONE);
    // How full the last batches are depends on when lingering ended; the bound does not.
    assertThat(taken.size()).isBetween(15, 62);
    assertThat(failure(producer.sendBlocking(to("t", 0, "x".repeat(1_000)), 50)))
        .isInstanceOf(BufferFullException.class);
    cluster.script((b, kind, r) -> Fault.NONE);
    CompletableFuture<Receipt> waited =
        producer.sendBlocking(to("t", 0, "x".repeat(1_000)), 10_000);
    assertThat(get(waited).offset()).isEqualTo(taken.size());
    taken.forEach(Records::get);
  }

  private static Fault silenceOf(ApiKind kind) {
    return kind == ApiKind.PRODUCE ? new Fault.Silence(false) : Fault.NONE;
  }

  @Test
  void memoryComesBack() {
    Producer producer =
        client.producer(new ProducerConfig().withBatchBytes(4 << 10).withBufferBytes(32 << 10));
    for (int round = 0; round < 50; round++) {
      List<CompletableFuture<Receipt>> sent = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        sent.add(producer.send(to("t", i % 6, "x".repeat(800))));
      }
      sent.forEach(Records::get);
      producer.flush();
    }
  }

  // ------------------------------------------------------------------------------ no broker

  @Test
  void sendReturnsAtOnceWithoutBrokersAndFailsAsNotSent() {
    cluster.brokersDown();
    Producer producer = client.producer(new ProducerConfig().withDeliveryTimeoutMillis(300));
    long start = System.nanoTime();
    CompletableFuture<Receipt> future = producer.send(keyed("t", "k", "v"));
    assertThat(System.nanoTime() - start).isLessThan(TimeUnit.MILLISECONDS.toNanos(200));
    MillraceException failure = failure(future);
    assertThat(failure).isInstanceOf(DeliveryTimeoutException.class);
    assertThat(failure.code()).isEqualTo(ErrorCode.NOT_SENT_IN_TIME);
    assertThat(failure.outcome()).isEqualTo(Outcome.NOT_DONE);
    for (String address : cluster.bootstrap()) {
      assertThat(failure.getMessage()).contains(address);
    }
    assertThat(failure.getMessage()).contains("connection refused");
  }

  @Test
  void recordsWaitForBrokersToComeUp() {
    cluster.brokersDown();
    Producer producer = client.producer(new ProducerConfig());
    CompletableFuture<Receipt> future = producer.send(to("t", 1, "patient"));
    cluster.brokersUp();
    assertThat(get(future).offset()).isZero();
  }

  @Test
  void brokerThatGoesAwayAfterwardsIsNamedInTheFailure() {
    Producer producer = client.producer(new ProducerConfig().withDeliveryTimeoutMillis(400));
    get(producer.send(to("t", 0, "first")));
    cluster.brokersDown();
    MillraceException failure = failure(producer.send(to("t", 0, "second")));
    assertThat(failure.code()).isIn(ErrorCode.NOT_SENT_IN_TIME, ErrorCode.DELIVERY_TIMEOUT);
    assertThat(failure.getMessage()).contains(cluster.broker(1).address());
  }

  // ------------------------------------------------------------------------------ callbacks

  @Test
  void callbackMaySendAndClose() {
    Producer producer = client.producer(new ProducerConfig());
    CompletableFuture<Receipt> chained =
        producer
            .send(to("t", 0, "one"))
            .thenCompose(r -> producer.send(to("t", 0, "two")))
            .whenComplete((r, e) -> producer.close());
    assertThat(get(chained).offset()).isEqualTo(1);
    assertThat(failure(producer.send(to("t", 0, "three"))).code())
        .isEqualTo(ErrorCode.CLIENT_CLOSED);
  }

  @Test
  void callbackMayFlushAndCloseTheClient() {
    Producer producer = client.producer(new ProducerConfig());
    CompletableFuture<Void> done =
        producer
            .send(to("t", 0, "one"))
            .thenAccept(
                r -> {
                  producer.send(to("t", 0, "two"));
                  producer.flush();
                  client.close();
                });
    get(done);
    assertThat(cluster.values("t", 0)).containsExactly("one", "two");
  }

  @Test
  void callbacksRunOnOneThreadAndASlowOneDoesNotStopTheNetwork() throws Exception {
    Producer producer = client.producer(new ProducerConfig().withLingerMillis(0));
    get(producer.send(to("t", 0, "connects")));
    CountDownLatch release = new CountDownLatch(1);
    Set<String> threads = new HashSet<>();
    CompletableFuture<Receipt> slow = producer.send(to("t", 0, "slow"));
    CompletableFuture<Void> callback =
        slow.thenAccept(
            r -> {
              threads.add(Thread.currentThread().getName());
              try {
                release.await(10, TimeUnit.SECONDS);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
    for (int i = 0; i < 5; i++) {
      producer.send(to("t", 0, "more" + i));
    }
    await().until(() -> cluster.values("t", 0).size() == 7);
    release.countDown();
    get(callback);
    assertThat(threads).allMatch(name -> name.contains("callback") || name.equals("main"));
  }

  @Test
  void flushWaitsForCallbacks() {
    Producer producer = client.producer(new ProducerConfig().withLingerMillis(60_000));
    List<String> seen = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      producer.send(to("t", i % 6, "v")).thenAccept(r -> seen.add("x"));
    }
    producer.flush();
    assertThat(seen).hasSize(10);
  }
}
