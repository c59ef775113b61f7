package io.millrace.client;

import static io.millrace.client.Records.failure;
import static io.millrace.client.Records.get;
import static io.millrace.client.Records.to;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.millrace.client.error.ClientClosedException;
import io.millrace.client.error.DeliveryTimeoutException;
import io.millrace.client.error.UnknownTopicException;
import io.millrace.client.fake.FakeCluster;
import io.millrace.client.fake.Fault;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.ProduceBatch;
import io.millrace.protocol.message.ProduceRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What becomes of records when brokers refuse, lose, delay or answer late. */
@Timeout(30)
class ProducerFaultTest {

  private FakeCluster cluster;
  private MillraceClient client;

  @BeforeEach
  void start() {
    cluster = new FakeCluster(3);
    cluster.createTopic("t", 1);
    client = MillraceClient.connect(new ClientConfig(cluster.bootstrap()));
  }

  @AfterEach
  void stop() {
    client.close(0);
    cluster.close();
  }

  /** The fault of the n-th PRODUCE request from now on, counted from 0. */
  private void onProduce(IntFunction<Fault> faults) {
    AtomicInteger count = new AtomicInteger();
    cluster.script(
        (broker, kind, request) ->
            kind == ApiKind.PRODUCE ? faults.apply(count.getAndIncrement()) : Fault.NONE);
  }

  /** One batch per record. */
  private Producer singleBatches() {
    return client.producer(new ProducerConfig().withLingerMillis(0).withBatchBytes(256));
  }

  private List<CompletableFuture<Receipt>> send(Producer producer, int from, int count) {
    List<CompletableFuture<Receipt>> sent = new ArrayList<>();
    for (int i = from; i < from + count; i++) {
      sent.add(producer.send(to("t", 0, String.format("%03d", i) + "x".repeat(150))));
    }
    return sent;
  }

  private List<String> stored() {
    return cluster.values("t", 0).stream().map(v -> v.substring(0, 3)).toList();
  }

  private static List<String> numbers(int from, int count) {
    List<String> numbers = new ArrayList<>();
    for (int i = from; i < from + count; i++) {
      numbers.add(String.format("%03d", i));
    }
    return numbers;
  }

  private void assertStoredInOrder(List<CompletableFuture<Receipt>> sent, int count) {
    for (int i = 0; i < sent.size(); i++) {
      assertThat(get(sent.get(i)).offset()).isEqualTo(i);
    }
    assertThat(stored()).isEqualTo(numbers(0, count));
  }

  @ParameterizedTest
  @EnumSource(
      value = ErrorCode.class,
      names = {
        "THROTTLED",
        "NOT_READY",
        "NOT_LEADER",
        "REQUEST_TIMEOUT",
        "OUTCOME_UNKNOWN",
        "DISK_FULL",
        "STORAGE_ERROR",
        "STALE_TERM",
        "SHUTTING_DOWN",
        "UNKNOWN_TOPIC",
        "UNKNOWN_PARTITION"
      })
  void repeatableRefusalsKeepOrderAndSequence(ErrorCode code) {
    Producer producer = singleBatches();
    onProduce(n -> n % 3 == 0 ? Fault.refuseEach(code) : Fault.NONE);
    assertStoredInOrder(send(producer, 0, 20), 20);
  }

  @Test
  void lostAnswersAreFoundAsDuplicates() {
    Producer producer = singleBatches();
    onProduce(n -> n % 4 == 1 ? new Fault.Drop(true) : Fault.NONE);
    List<CompletableFuture<Receipt>> sent = send(producer, 0, 20);
    assertStoredInOrder(sent, 20);
    assertThat(sent.stream().map(CompletableFuture::join)).anyMatch(Receipt::duplicate);
  }

  @Test
  void lostRequestsAreSentAgain() {
    Producer producer = singleBatches();
    onProduce(n -> n % 4 == 1 ? new Fault.Drop(false) : Fault.NONE);
    assertStoredInOrder(send(producer, 0, 20), 20);
  }

  /** The first batch of an unknown producer is throttled while four others are in flight. */
  @Test
  void throttledFirstBatchStaysFirst() {
    Producer producer = singleBatches();
    onProduce(n -> n == 0 ? Fault.refuseEach(ErrorCode.THROTTLED) : Fault.NONE);
    assertStoredInOrder(send(producer, 0, 10), 10);
  }

  @Test
  void atMostFiveBatchesOfAPartitionAreInFlight() {
    Producer producer = singleBatches();
    onProduce(n -> new Fault.Silence(false));
    send(producer, 0, 20);
    await().until(() -> cluster.seen(ApiKind.PRODUCE).size() == 5);
    await()
        .during(200, TimeUnit.MILLISECONDS)
        .until(() -> cluster.seen(ApiKind.PRODUCE).size() == 5);
  }

  @Test
  void throttleTimeIsKept() {
    Producer producer = singleBatches();
    get(send(producer, 0, 1).get(0));
    onProduce(
        n ->
            n == 0
                ? new Fault.RefuseEach(ErrorCode.THROTTLED.toInfo("slow down"), 400)
                : Fault.NONE);
    long start = System.nanoTime();
    get(send(producer, 1, 1).get(0));
    assertThat(System.nanoTime() - start).isGreaterThan(TimeUnit.MILLISECONDS.toNanos(390));
  }

  /**
   * The first answer is late while later batches are stored and answered: it must stay among the
   * five that the partition remembers.
   */
  @Test
  void answersThatOvertakeDoNotPushABatchOutOfTheWindow() {
    Producer producer =
        client.producer(
            new ProducerConfig()
                .withLingerMillis(0)
                .withBatchBytes(256)
                .withRequestTimeoutMillis(150));
    get(send(producer, 0, 1).get(0));
    onProduce(n -> n == 0 ? new Fault.Delay(400, false) : Fault.NONE);
    List<CompletableFuture<Receipt>> sent = send(producer, 1, 20);
    sent.forEach(Records::get);
    assertThat(stored()).isEqualTo(numbers(0, 21));
    assertThat(sent.get(0).join().duplicate()).isTrue();
  }

  // ------------------------------------------------------------------------------ leaders

  @Test
  void followsLeaderHints() {
    Producer producer = singleBatches();
    get(send(producer, 0, 1).get(0));
    int asked = cluster.seen(ApiKind.METADATA).size();
    cluster.moveLeader("t", 0, 3);
    get(send(producer, 1, 1).get(0));
    assertThat(cluster.seen(ApiKind.PRODUCE))
        .extracting(FakeCluster.Seen::broker)
        .containsExactly(1, 1, 3);
    assertThat(cluster.seen(ApiKind.METADATA)).hasSize(asked);
  }

  @Test
  void findsLeadersWithoutHints() {
    cluster.hints(false);
    Producer producer = singleBatches();
    get(send(producer, 0, 1).get(0));
    cluster.moveLeader("t", 0, 2);
    assertThat(get(send(producer, 1, 1).get(0)).term()).isEqualTo(2);
  }

  @Test
  void waitsForAnElectionWithoutLosingOrder() {
    Producer producer = singleBatches();
    List<CompletableFuture<Receipt>> sent = new ArrayList<>(send(producer, 0, 5));
    cluster.moveLeader("t", 0, 0);
    sent.addAll(send(producer, 5, 10));
    await().during(300, TimeUnit.MILLISECONDS).until(() -> !sent.get(14).isDone());
    cluster.moveLeader("t", 0, 2);
    assertStoredInOrder(sent, 15);
  }

  @Test
  void deadLeaderIsReplacedByTheNext() {
    Producer producer = singleBatches();
    List<CompletableFuture<Receipt>> sent = new ArrayList<>(send(producer, 0, 5));
    sent.forEach(Records::get);
    cluster.broker(1).stop();
    sent.addAll(send(producer, 5, 10));
    cluster.moveLeader("t", 0, 3);
    assertStoredInOrder(sent, 15);
  }

  /** A paused broker keeps its connections and says nothing. */
  @Test
  void silentLeaderIsGivenUpWhenAnotherLeads() {
    client.close();
    // So that the only connection of the client is the one to the leader.
    client = MillraceClient.connect(new ClientConfig(List.of(cluster.broker(1).address())));
    Producer producer = singleBatches();
    get(send(producer, 0, 1).get(0));
    long askedBefore = metadataAskedOfBroker1();
    cluster.script(
        (broker, kind, request) -> broker.id() == 1 ? new Fault.Silence(true) : Fault.NONE);
    List<CompletableFuture<Receipt>> sent = send(producer, 1, 10);
    await().until(() -> cluster.seen(ApiKind.PRODUCE).size() > 4);
    cluster.moveLeader("t", 0, 2);
    long start = System.nanoTime();
    sent.forEach(Records::get);
    assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(8));
    assertThat(stored()).isEqualTo(numbers(0, 11));
    assertThat(metadataAskedOfBroker1())
        .as("who leads is asked of the others")
        .isEqualTo(askedBefore);
  }

  /** Whom the client happens to be connected to must not decide whether it finds the leader. */
  @Test
  void aBrokerThatIsCutOffIsNotTheOnlyOneAsked() {
    client.close();
    client = MillraceClient.connect(new ClientConfig(List.of(cluster.broker(1).address())));
    Producer producer = singleBatches();
    get(send(producer, 0, 1).get(0));
    cluster.hints(false);
    cluster.cutOff(1);
    cluster.moveLeader("t", 0, 2);
    long start = System.nanoTime();
    send(producer, 1, 10).forEach(Records::get);
    assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(8));
    assertThat(stored()).isEqualTo(numbers(0, 11));
  }

  private long metadataAskedOfBroker1() {
    return cluster.seen(ApiKind.METADATA).stream().filter(seen -> seen.broker() == 1).count();
  }

  // ------------------------------------------------------------------------------ endings

  @Test
  void certainlyNotStoredIsSaidWhenEveryAttemptWasRefused() {
    Producer producer =
        client.producer(new ProducerConfig().withDeliveryTimeoutMillis(300).withLingerMillis(0));
    onProduce(n -> Fault.refuseEach(ErrorCode.NOT_READY));
    MillraceException failure = failure(send(producer, 0, 1).get(0));
    assertThat(failure).isInstanceOf(DeliveryTimeoutException.class);
    assertThat(failure.code()).isEqualTo(ErrorCode.NOT_SENT_IN_TIME);
    assertThat(failure.outcome()).isEqualTo(Outcome.NOT_DONE);
    assertThat(failure.getMessage())
        .startsWith(
            "NOT_SENT_IN_TIME: 1 record for t-0 was not taken by any leader within 300 ms; last: ");
  }

  @Test
  void withoutALeaderThatIsSaidFirst() {
    cluster.moveLeader("t", 0, 0);
    Producer producer =
        client.producer(new ProducerConfig().withDeliveryTimeoutMillis(300).withLingerMillis(0));
    MillraceException failure = failure(send(producer, 0, 1).get(0));
    assertThat(failure.code()).isEqualTo(ErrorCode.NOT_SENT_IN_TIME);
    assertThat(failure.getMessage())
        .isEqualTo(
            "NOT_SENT_IN_TIME: no leader for t-0 within 300 ms; 1 record was not stored; last: no"
                + " leader is known for t-0");
  }

  @ParameterizedTest
  @EnumSource(
      value = ErrorCode.class,
      names = {"REQUEST_TIMEOUT", "OUTCOME_UNKNOWN"})
  void unknownIsSaidWhenAnAttemptMayHaveBeenProposed(ErrorCode code) {
    Producer producer =
        client.producer(new ProducerConfig().withDeliveryTimeoutMillis(300).withLingerMillis(0));
    onProduce(n -> Fault.refuseEach(n == 0 ? code : ErrorCode.NOT_READY));
    MillraceException failure = failure(send(producer, 0, 1).get(0));
    assertThat(failure.code()).isEqualTo(ErrorCode.DELIVERY_TIMEOUT);
    assertThat(failure.outcome()).isEqualTo(Outcome.UNKNOWN);
  }

  @Test
  void silentBrokerEndsAsUnknownAtTheDeliveryTimeout() {
    Producer producer =
        client.producer(new ProducerConfig().withDeliveryTimeoutMillis(300).withLingerMillis(0));
    onProduce(n -> new Fault.Silence(false));
    long start = System.nanoTime();
    MillraceException failure = failure(send(producer, 0, 1).get(0));
    assertThat(failure.code()).isEqualTo(ErrorCode.DELIVERY_TIMEOUT);
    assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(4));
  }

  /** A refusal for good leaves a gap, which the next batch declares with resume. */
  @Test
  void batchesAfterARefusedOneGoOnWithResume() {
    Producer producer = singleBatches();
    onProduce(n -> n == 2 ? Fault.refuseEach(ErrorCode.INVALID_BATCH) : Fault.NONE);
    List<CompletableFuture<Receipt>> sent = send(producer, 0, 10);
    for (int i = 0; i < 10; i++) {
      if (i == 2) {
        assertThat(failure(sent.get(i)).code()).isEqualTo(ErrorCode.INVALID_BATCH);
        assertThat(failure(sent.get(i)).outcome()).isEqualTo(Outcome.NOT_DONE);
      } else {
        get(sent.get(i));
      }
    }
    assertThat(stored())
        .containsExactly("000", "001", "003", "004", "005", "006", "007", "008", "009");
    assertThat(resumed()).containsExactly(3);
  }

  /** Base sequences of the batches that carried resume, each once; one record per batch. */
  private List<Integer> resumed() {
    List<Integer> sequences = new ArrayList<>();
    int index = 0;
    for (FakeCluster.Seen seen : cluster.seen(ApiKind.PRODUCE)) {
      for (ProduceBatch batch : ((ProduceRequest) seen.request()).getBatchesList()) {
        if (batch.getResume()) {
          sequences.add(cluster.sequences().get(index));
        }
        index++;
      }
    }
    return sequences.stream().distinct().toList();
  }

  /**
   * The first batch ends with an unknown outcome and arrives after the ones behind it: it must not
   * be stored then, and they must be, once and in order.
   */
  @Test
  void lateCopyOfAnUnknownBatchIsNotStoredBehindLaterOnes() {
    Producer producer =
        client.producer(
            new ProducerConfig()
                .withDeliveryTimeoutMillis(500)
                .withLingerMillis(0)
                .withBatchBytes(256));
    get(send(producer, 0, 1).get(0));
    onProduce(n -> n == 0 ? new Fault.Delay(1_500, true) : Fault.NONE);
    MillraceException unknown = failure(send(producer, 1, 1).get(0));
    assertThat(unknown.outcome()).isEqualTo(Outcome.UNKNOWN);
    List<CompletableFuture<Receipt>> later = send(producer, 2, 5);
    later.forEach(Records::get);
    await()
        .during(1_200, TimeUnit.MILLISECONDS)
        .atMost(5, TimeUnit.SECONDS)
        .until(() -> stored().size() == 6);
    assertThat(stored()).containsExactly("000", "002", "003", "004", "005", "006");
  }

  /** The unknown batch was stored: later ones follow it. */
  @Test
  void unknownBatchThatWasStoredIsFollowedByTheNext() {
    Producer producer =
        client.producer(
            new ProducerConfig()
                .withDeliveryTimeoutMillis(300)
                .withLingerMillis(0)
                .withBatchBytes(256));
    get(send(producer, 0, 1).get(0));
    onProduce(n -> n == 0 ? new Fault.Silence(true) : Fault.NONE);
    assertThat(failure(send(producer, 1, 1).get(0)).outcome()).isEqualTo(Outcome.UNKNOWN);
    send(producer, 2, 3).forEach(Records::get);
    assertThat(stored()).isEqualTo(numbers(0, 5));
  }

  /** Five in flight are all lost from sight; those behind must come once, in order. */
  @Test
  void severalUnknownBatchesDoNotDisturbLaterOnes() {
    Producer producer =
        client.producer(
            new ProducerConfig()
                .withDeliveryTimeoutMillis(600)
                .withLingerMillis(0)
                .withBatchBytes(256));
    get(send(producer, 0, 1).get(0));
    onProduce(n -> n < 5 ? new Fault.Delay(1_400, true) : Fault.NONE);
    List<CompletableFuture<Receipt>> unknown = send(producer, 1, 5);
    unknown.forEach(f -> assertThat(failure(f).outcome()).isEqualTo(Outcome.UNKNOWN));
    List<CompletableFuture<Receipt>> later = send(producer, 6, 8);
    later.forEach(Records::get);
    await()
        .during(1_200, TimeUnit.MILLISECONDS)
        .atMost(5, TimeUnit.SECONDS)
        .until(() -> stored().size() == 9);
    List<String> expected = new ArrayList<>(List.of("000"));
    expected.addAll(numbers(6, 8));
    assertThat(stored()).isEqualTo(expected);
  }

  @Test
  void forgottenProducerResumes() {
    Producer producer = singleBatches();
    send(producer, 0, 3).forEach(Records::get);
    cluster.forgetProducers("t", 0);
    List<CompletableFuture<Receipt>> sent = send(producer, 3, 10);
    sent.forEach(Records::get);
    assertThat(stored()).isEqualTo(numbers(0, 13));
    assertThat(resumed()).containsExactly(3);
  }

  @Test
  void fencedProducerTakesANewId() {
    Producer producer = singleBatches();
    get(send(producer, 0, 1).get(0));
    onProduce(n -> n == 0 ? Fault.refuseEach(ErrorCode.PRODUCER_FENCED) : Fault.NONE);
    assertThat(failure(send(producer, 1, 1).get(0)).code()).isEqualTo(ErrorCode.PRODUCER_FENCED);
    get(send(producer, 2, 1).get(0));
    assertThat(cluster.seen(ApiKind.INIT_PRODUCER_ID)).hasSize(2);
    assertThat(stored()).containsExactly("000", "002");
  }

  @Test
  void terminalRefusalAfterALostAttemptIsUnknown() {
    Producer producer = singleBatches();
    get(send(producer, 0, 1).get(0));
    onProduce(
        n ->
            switch (n) {
              case 0 -> new Fault.Drop(false);
              case 1 -> Fault.refuseEach(ErrorCode.CORRUPT_BATCH);
              default -> Fault.NONE;
            });
    MillraceException failure = failure(send(producer, 1, 1).get(0));
    assertThat(failure.code()).isEqualTo(ErrorCode.CORRUPT_BATCH);
    assertThat(failure.outcome()).isEqualTo(Outcome.UNKNOWN);
    get(send(producer, 2, 1).get(0));
  }

  @Test
  void wholeRequestRefusedForGoodFailsItsBatches() {
    Producer producer = singleBatches();
    onProduce(n -> n == 0 ? Fault.refuse(ErrorCode.UNSUPPORTED_VERSION) : Fault.NONE);
    MillraceException failure = failure(send(producer, 0, 1).get(0));
    assertThat(failure.code()).isEqualTo(ErrorCode.UNSUPPORTED_VERSION);
    get(send(producer, 1, 1).get(0));
  }

  @Test
  void deletedTopicFailsWhatWasSentToIt() {
    Producer producer = singleBatches();
    get(send(producer, 0, 1).get(0));
    cluster.deleteTopic("t");
    MillraceException failure = failure(send(producer, 1, 1).get(0));
    assertThat(failure).isInstanceOf(UnknownTopicException.class);
    assertThat(failure.getMessage()).contains("deleted");
    cluster.createTopic("t", 1);
    await().untilAsserted(() -> get(producer.send(to("t", 0, "new"))));
  }

  @Test
  void topicMadeAgainIsAnotherOne() {
    Producer producer = singleBatches();
    get(send(producer, 0, 1).get(0));
    cluster.deleteTopic("t");
    cluster.createTopic("t", 1);
    assertThat(failure(send(producer, 1, 1).get(0))).isInstanceOf(UnknownTopicException.class);
    assertThat(get(send(producer, 2, 1).get(0)).offset()).isZero();
  }

  // ------------------------------------------------------------------------------ close

  @Test
  void closeFlushes() {
    Producer producer = client.producer(new ProducerConfig().withLingerMillis(60_000));
    List<CompletableFuture<Receipt>> sent = send(producer, 0, 10);
    producer.close();
    assertThat(sent).allMatch(CompletableFuture::isDone);
    assertStoredInOrder(sent, 10);
    producer.close();
  }

  @Test
  void closeWithTimeoutSaysWhatMayBeStored() {
    Producer producer = singleBatches();
    get(send(producer, 0, 1).get(0));
    onProduce(n -> new Fault.Silence(true));
    List<CompletableFuture<Receipt>> sent = send(producer, 1, 8);
    await().until(() -> cluster.seen(ApiKind.PRODUCE).size() == 6);
    producer.close(100);
    for (int i = 0; i < 8; i++) {
      MillraceException failure = failure(sent.get(i));
      assertThat(failure).isInstanceOf(ClientClosedException.class);
      assertThat(failure.code()).isEqualTo(ErrorCode.CLIENT_CLOSED);
      assertThat(failure.outcome()).isEqualTo(i < 5 ? Outcome.UNKNOWN : Outcome.NOT_DONE);
    }
  }

  @Test
  void closeWhileTheTopicIsUnknownFailsAsNotDone() {
    cluster.brokersDown();
    Producer producer = singleBatches();
    List<CompletableFuture<Receipt>> sent = send(producer, 0, 3);
    producer.close(50);
    sent.forEach(
        f -> {
          assertThat(failure(f)).isInstanceOf(ClientClosedException.class);
          assertThat(failure(f).outcome()).isEqualTo(Outcome.NOT_DONE);
        });
  }

  @Test
  void healthyPartitionsDoNotWaitForAStuckOne() {
    cluster.createTopic("two", 2);
    cluster.moveLeader("two", 1, 1);
    Producer producer = client.producer(new ProducerConfig().withLingerMillis(0));
    get(producer.send(to("two", 0, "a")));
    get(producer.send(to("two", 1, "a")));
    // Partition 1 is refused a few times, then stays without an answer.
    cluster.script(
        (broker, kind, request) -> {
          if (request instanceof ProduceRequest produce
              && produce.getBatchesList().stream().anyMatch(b -> b.getPartition() == 1)) {
            return produce.getBatchesCount() == 1
                ? new Fault.Silence(false)
                : Fault.refuseEach(ErrorCode.NOT_READY);
          }
          return Fault.NONE;
        });
    CompletableFuture<Receipt> stuck = producer.send(to("two", 1, "stuck"));
    for (int i = 0; i < 10; i++) {
      get(producer.send(to("two", 0, "b")));
    }
    assertThat(stuck).isNotDone();
  }
}
