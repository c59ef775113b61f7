package io.millrace.client;

import static io.millrace.client.Records.bytes;
import static io.millrace.client.Records.read;
import static io.millrace.client.Records.to;
import static io.millrace.client.Records.values;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import io.millrace.client.error.ClientClosedException;
import io.millrace.client.error.InvalidArgumentException;
import io.millrace.client.error.LogTruncatedException;
import io.millrace.client.error.OffsetOutOfRangeException;
import io.millrace.client.error.RecordsLostException;
import io.millrace.client.error.UnknownTopicException;
import io.millrace.client.error.UnreadableBatchException;
import io.millrace.client.fake.FakeCluster;
import io.millrace.client.fake.Fault;
import io.millrace.protocol.batch.Compression;
import io.millrace.protocol.batch.RecordHeader;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.FetchPartition;
import io.millrace.protocol.message.FetchRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(30)
class ReaderTest {

  private static final TopicPartition T0 = new TopicPartition("t", 0);

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

  private void produce(int partition, int from, int count, int recordsPerBatch) {
    try (Producer producer =
        client.producer(new ProducerConfig().withLingerMillis(60_000).withBatchBytes(1 << 20))) {
      for (int i = from; i < from + count; i++) {
        producer.send(to("t", partition, "v" + i).at(1_000 + i));
        if ((i - from + 1) % recordsPerBatch == 0) {
          producer.flush();
        }
      }
    }
  }

  private Reader reader(ReaderConfig config, TopicPartition... partitions) {
    Reader reader = client.reader(config);
    reader.assign(List.of(partitions));
    return reader;
  }

  private Reader reader(ReaderConfig config) {
    return reader(config, T0);
  }

  private static List<String> numbers(int from, int count) {
    List<String> numbers = new ArrayList<>();
    for (int i = from; i < from + count; i++) {
      numbers.add("v" + i);
    }
    return numbers;
  }

  private List<FetchRequest> fetches() {
    return cluster.seen(ApiKind.FETCH).stream().map(s -> (FetchRequest) s.request()).toList();
  }

  // ------------------------------------------------------------------------------ reading

  @Test
  void readsInOrderWithOffsetsHeadersAndTimestamps() {
    List<RecordHeader> headers = List.of(new RecordHeader("h", bytes("x")));
    Records.get(
        client
            .producer(new ProducerConfig())
            .send(new ProducerRecord("t", 0, bytes("k"), bytes("v"), headers, 77L)));
    ReceivedRecord record = read(reader(new ReaderConfig()), 1).get(0);
    assertThat(record.topic()).isEqualTo("t");
    assertThat(record.partition()).isZero();
    assertThat(record.offset()).isZero();
    assertThat(record.timestampMillis()).isEqualTo(77);
    assertThat(record.key()).isEqualTo(bytes("k"));
    assertThat(record.value()).isEqualTo(bytes("v"));
    assertThat(record.headers()).isEqualTo(headers);
  }

  @Test
  void onePartitionComesInOrder() {
    produce(0, 0, 5_000, 700);
    assertThat(values(read(reader(new ReaderConfig()), 5_000))).isEqualTo(numbers(0, 5_000));
  }

  @ParameterizedTest
  @EnumSource(Compression.class)
  void readsAllCodecs(Compression compression) {
    try (Producer producer = client.producer(new ProducerConfig().withCompression(compression))) {
      for (int i = 0; i < 300; i++) {
        producer.send(to("t", 0, "v" + i));
      }
    }
    assertThat(values(read(reader(new ReaderConfig()), 300))).isEqualTo(numbers(0, 300));
  }

  @Test
  void partitionsOfABrokerShareOneFetch() {
    for (int p = 0; p < 6; p++) {
      produce(p, 0, 10, 10);
    }
    Reader reader = client.reader(new ReaderConfig());
    assertThat(reader.assignAll("t")).hasSize(6);
    read(reader, 60);
    for (FetchRequest fetch : fetches()) {
      assertThat(fetch.getPartitionsCount()).isEqualTo(2);
    }
    int before = fetches().size();
    reader.poll(300);
    // Long polls: three brokers are asked, not again and again.
    assertThat(fetches().size() - before).isLessThanOrEqualTo(6);
  }

  @Test
  void newRecordsEndALongPoll() {
    Reader reader = reader(new ReaderConfig().withMaxWaitMillis(10_000));
    assertThat(reader.poll(50)).isEmpty();
    long start = System.nanoTime();
    CompletableFuture.runAsync(() -> produce(0, 0, 1, 1));
    assertThat(values(read(reader, 1))).containsExactly("v0");
    assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(8));
  }

  @Test
  void fetchesAheadWhileTheApplicationWorks() {
    produce(0, 0, 100, 50);
    Reader reader = reader(new ReaderConfig().withPrefetchRecords(200).withMaxPollRecords(50));
    assertThat(reader.poll(5_000)).hasSize(50);
    // No poll from here on: credit is left, so fetches go out by themselves.
    produce(0, 100, 100, 50);
    await().until(() -> reader.health().contains("150 records wait here for poll"));
    assertThat(values(read(reader, 150))).isEqualTo(numbers(50, 150));
  }

  @Test
  void creditIsNeverExceeded() {
    produce(0, 0, 400, 7);
    Reader reader = reader(new ReaderConfig().withPrefetchRecords(20).withMaxPollRecords(10));
    int got = 0;
    while (got < 400) {
      List<ReceivedRecord> records = reader.poll(1_000);
      assertThat(records.size()).isLessThanOrEqualTo(10);
      got += records.size();
    }
    for (FetchRequest fetch : fetches()) {
      assertThat(fetch.getPrefetchRecords()).isBetween(1L, 20L);
      for (FetchPartition p : fetch.getPartitionsList()) {
        assertThat(p.getInFlightRecords()).isEqualTo(p.getPosition() - p.getProcessed());
      }
    }
  }

  /** A batch far over the credit is kept back and handed over bit by bit, without being resent. */
  @Test
  void batchLargerThanTheCreditIsKeptBack() {
    produce(0, 0, 50, 50);
    Reader reader = reader(new ReaderConfig().withPrefetchRecords(3));
    List<String> all = new ArrayList<>();
    while (all.size() < 50) {
      List<ReceivedRecord> records = reader.poll(2_000);
      assertThat(records.size()).isBetween(1, 3);
      all.addAll(values(records));
    }
    assertThat(all).isEqualTo(numbers(0, 50));
    assertThat(fetches().stream().filter(f -> f.getPartitions(0).getPosition() == 0)).hasSize(1);
  }

  @Test
  void keptBackRecordsOfSeveralBrokersAllCome() {
    for (int p = 0; p < 6; p++) {
      produce(p, 0, 40, 20);
    }
    Reader reader = client.reader(new ReaderConfig().withPrefetchRecords(4).withMaxWaitMillis(50));
    reader.assignAll("t");
    Map<Integer, List<String>> perPartition = new HashMap<>();
    int got = 0;
    while (got < 240) {
      List<ReceivedRecord> records = reader.poll(2_000);
      assertThat(records.size()).as(reader.health()).isBetween(1, 4);
      got += records.size();
      records.forEach(
          r ->
              perPartition
                  .computeIfAbsent(r.partition(), p -> new ArrayList<>())
                  .add(new String(r.value())));
    }
    assertThat(perPartition)
        .hasSize(6)
        .allSatisfy((p, v) -> assertThat(v).isEqualTo(numbers(0, 40)));
  }

  @Test
  void byteLimitBoundsWhatIsFetchedAhead() {
    try (Producer producer = client.producer(new ProducerConfig().withBatchBytes(2_000))) {
      for (int i = 0; i < 100; i++) {
        producer.send(to("t", 0, "x".repeat(1_500)));
      }
    }
    Reader reader =
        reader(
            new ReaderConfig()
                .withPrefetchRecords(10_000)
                .withMaxPollRecords(1)
                .withPrefetchBytes(5_000));
    assertThat(reader.poll(5_000)).hasSize(1);
    await().during(200, TimeUnit.MILLISECONDS).until(() -> true);
    for (FetchRequest fetch : fetches()) {
      assertThat(fetch.getInFlightBytes()).isLessThanOrEqualTo(5_000 + 2_000);
      assertThat(fetch.getPartitions(0).getPosition()).isLessThan(10);
    }
    assertThat(read(reader, 99)).hasSize(99);
  }

  // ------------------------------------------------------------------------------ positions

  @Test
  void seeksToOffsetsEndsAndTimes() {
    produce(0, 0, 100, 10);
    Reader reader = reader(new ReaderConfig());
    reader.seek(T0, 37);
    assertThat(reader.position(T0)).isEqualTo(37);
    assertThat(values(read(reader, 63))).isEqualTo(numbers(37, 63));
    reader.seekToEarliest(List.of(T0));
    assertThat(reader.position(T0)).isZero();
    assertThat(values(read(reader, 100))).isEqualTo(numbers(0, 100));
    reader.seekToLatest(List.of());
    assertThat(reader.position(T0)).isEqualTo(100);
    assertThat(reader.poll(50)).isEmpty();
    reader.seekToTime(List.of(T0), 1_000 + 55);
    assertThat(values(read(reader, 45))).isEqualTo(numbers(55, 45));
    reader.seekToTime(List.of(T0), 99_999);
    assertThat(reader.position(T0)).isEqualTo(100);
    assertThat(reader.endOffsets()).containsExactly(Map.entry(T0, 100L));
  }

  @Test
  void startSettingIsUsedForNewPartitions() {
    produce(0, 0, 10, 10);
    Reader reader = reader(new ReaderConfig().withStart(OffsetSpec.latest()));
    assertThat(reader.position(T0)).isEqualTo(10);
    produce(0, 10, 5, 5);
    assertThat(values(read(reader, 5))).isEqualTo(numbers(10, 5));
  }

  @Test
  void seekDropsAnswersUnderWay() {
    produce(0, 0, 100, 10);
    // The first fetch is answered late, with what was asked before the seek.
    cluster.script(
        (broker, kind, request) ->
            kind == ApiKind.FETCH && ((FetchRequest) request).getPartitions(0).getPosition() == 0
                ? new Fault.Delay(400, true)
                : Fault.NONE);
    Reader reader = reader(new ReaderConfig());
    assertThat(reader.poll(100)).isEmpty();
    reader.seek(T0, 60);
    assertThat(values(read(reader, 40))).isEqualTo(numbers(60, 40));
    assertThat(reader.poll(600)).isEmpty();
    assertThat(reader.position(T0)).isEqualTo(100);
  }

  @Test
  void seekInsideFetchedRecordsRepeatsThem() {
    produce(0, 0, 100, 100);
    Reader reader = reader(new ReaderConfig().withMaxPollRecords(10));
    assertThat(values(read(reader, 10))).isEqualTo(numbers(0, 10));
    reader.seek(T0, 5);
    assertThat(values(read(reader, 20))).isEqualTo(numbers(5, 20));
  }

  @Test
  void assignKeepsPositionsOfPartitionsThatStay() {
    produce(0, 0, 20, 20);
    produce(1, 100, 20, 20);
    Reader reader = reader(new ReaderConfig());
    read(reader, 20);
    TopicPartition t1 = new TopicPartition("t", 1);
    reader.assign(List.of(T0, t1));
    assertThat(values(read(reader, 20))).isEqualTo(numbers(100, 20));
    assertThat(reader.position(T0)).isEqualTo(20);
    reader.assign(List.of(t1));
    assertThat(reader.assignment()).containsExactly(t1);
    assertThatThrownBy(() -> reader.seek(T0, 0))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("t-0 is not assigned");
  }

  // ------------------------------------------------------------------------------ trouble

  @ParameterizedTest
  @EnumSource(
      value = ErrorCode.class,
      names = {"NOT_READY", "NOT_LEADER", "THROTTLED", "STORAGE_ERROR", "SERVER_ERROR"})
  void troubleIsRetriedQuietly(ErrorCode code) {
    produce(0, 0, 50, 10);
    int[] count = {0};
    cluster.script(
        (broker, kind, request) ->
            kind == ApiKind.FETCH && count[0]++ % 2 == 0 ? Fault.refuseEach(code) : Fault.NONE);
    Reader reader = reader(new ReaderConfig().withPrefetchRecords(10));
    assertThat(values(read(reader, 50))).isEqualTo(numbers(0, 50));
  }

  @ParameterizedTest
  @EnumSource(
      value = ErrorCode.class,
      names = {"UNSUPPORTED_VERSION", "UNKNOWN_API", "UNAUTHENTICATED"})
  void refusalsThatNeverPassAreThrown(ErrorCode code) {
    produce(0, 0, 1, 1);
    cluster.script(
        (broker, kind, request) -> kind == ApiKind.FETCH ? Fault.refuse(code) : Fault.NONE);
    Reader reader = reader(new ReaderConfig());
    assertThat(pollFailure(reader, MillraceException.class).code()).isEqualTo(code);
    cluster.script((broker, kind, request) -> Fault.NONE);
    reader.seek(T0, 0);
    assertThat(values(read(reader, 1))).containsExactly("v0");
  }

  @Test
  void brokenConnectionsAreOpenedAgain() {
    produce(0, 0, 50, 10);
    int[] count = {0};
    cluster.script(
        (broker, kind, request) ->
            kind == ApiKind.FETCH && count[0]++ % 2 == 0 ? new Fault.Drop(true) : Fault.NONE);
    Reader reader = reader(new ReaderConfig().withPrefetchRecords(10));
    assertThat(values(read(reader, 50))).isEqualTo(numbers(0, 50));
  }

  @Test
  void followsTheLeader() {
    produce(0, 0, 10, 10);
    Reader reader = reader(new ReaderConfig());
    read(reader, 10);
    cluster.moveLeader("t", 0, 2);
    produce(0, 10, 10, 10);
    assertThat(values(read(reader, 10))).isEqualTo(numbers(10, 10));
    cluster.hints(false);
    cluster.moveLeader("t", 0, 3);
    produce(0, 20, 10, 10);
    assertThat(values(read(reader, 10))).isEqualTo(numbers(20, 10));
  }

  @Test
  void silentLeaderIsGivenUpWhenAnotherLeads() {
    produce(0, 0, 10, 10);
    Reader reader = reader(new ReaderConfig().withMaxWaitMillis(200));
    read(reader, 10);
    cluster.script(
        (broker, kind, request) -> broker.id() == 1 ? new Fault.Silence(false) : Fault.NONE);
    reader.poll(300);
    cluster.moveLeader("t", 0, 2);
    try (Producer producer = client.producer(new ProducerConfig())) {
      producer.send(to("t", 0, "after"));
    }
    long start = System.nanoTime();
    assertThat(values(read(reader, 1))).containsExactly("after");
    assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(8));
  }

  @Test
  void healthSaysWhyNothingArrives() {
    Reader reader = client.reader(new ReaderConfig());
    assertThat(reader.health()).isEqualTo("nothing is assigned");
    cluster.moveLeader("t", 0, 0);
    reader.assign(List.of(T0));
    reader.seek(T0, 0);
    reader.poll(100);
    await()
        .untilAsserted(
            () -> {
              reader.poll(10);
              assertThat(reader.health()).startsWith("t-0: position 0; ").contains("no leader");
            });
    cluster.moveLeader("t", 0, 2);
    await()
        .untilAsserted(
            () -> {
              reader.poll(10);
              assertThat(reader.health()).contains("broker 2 is asked");
            });
    cluster.broker(2).stop();
    await()
        .untilAsserted(
            () -> {
              reader.poll(10);
              assertThat(reader.health()).contains(cluster.broker(2).address());
            });
    cluster.broker(2).start();
    produce(0, 0, 1, 1);
    read(reader, 1);
  }

  @Test
  void unknownTopicAndPartitionAreThrown() {
    Reader reader = reader(new ReaderConfig(), new TopicPartition("nosuch", 0));
    UnknownTopicException topic = pollFailure(reader, UnknownTopicException.class);
    assertThat(topic.topic()).isEqualTo("nosuch");
    Reader other = reader(new ReaderConfig(), T0, new TopicPartition("t", 17));
    UnknownTopicException partition = pollFailure(other, UnknownTopicException.class);
    assertThat(partition.code()).isEqualTo(ErrorCode.UNKNOWN_PARTITION);
    assertThat(partition.getMessage()).contains("17").contains("0 to 5");
    assertThatThrownBy(() -> client.reader(new ReaderConfig()).assignAll("nosuch"))
        .isInstanceOf(UnknownTopicException.class);
  }

  @Test
  void deletedTopicIsThrown() {
    produce(0, 0, 5, 5);
    Reader reader = reader(new ReaderConfig());
    read(reader, 5);
    cluster.deleteTopic("t");
    assertThat(pollFailure(reader, UnknownTopicException.class).getMessage()).contains("deleted");
  }

  private static <T extends RuntimeException> T pollFailure(Reader reader, Class<T> type) {
    return catchThrowableOfType(
        type,
        () -> {
          for (int i = 0; i < 50; i++) {
            assertThat(reader.poll(200)).isEmpty();
          }
        });
  }

  @Test
  void lostRecordsAreThrownWithTheirNumber() {
    produce(0, 0, 100, 10);
    Reader reader = reader(new ReaderConfig().withPrefetchRecords(10));
    read(reader, 10);
    cluster.deleteBelow("t", 0, 60);
    List<ReceivedRecord> before = new ArrayList<>();
    RecordsLostException lost =
        catchThrowableOfType(
            RecordsLostException.class,
            () -> {
              for (int i = 0; i < 50; i++) {
                before.addAll(reader.poll(200));
              }
            });
    // What had been fetched ahead is handed over first.
    long position = 10 + before.size();
    assertThat(lost.position()).isEqualTo(position);
    assertThat(lost.logStart()).isEqualTo(60);
    assertThat(lost.recordsLost()).isEqualTo(60 - position);
    assertThat(lost.partition()).isEqualTo(T0);
    assertThatThrownBy(() -> reader.poll(10)).isSameAs(lost);
    assertThat(reader.health()).contains("stopped").contains((60 - position) + " records");
    reader.seek(T0, lost.logStart());
    assertThat(values(read(reader, 40))).isEqualTo(numbers(60, 40));
  }

  @Test
  void lostRecordsAreSkippedAndCountedOnRequest() {
    produce(0, 0, 100, 10);
    Reader reader = reader(new ReaderConfig().withOnLost(OnLost.SKIP));
    cluster.deleteBelow("t", 0, 60);
    reader.seek(T0, 5);
    assertThat(values(read(reader, 40))).isEqualTo(numbers(60, 40));
    assertThat(reader.recordsLost()).isEqualTo(55);
    assertThat(reader.health()).contains("55 records were lost");
  }

  @Test
  void positionBeyondTheEndIsThrown() {
    produce(0, 0, 10, 10);
    Reader reader = reader(new ReaderConfig());
    reader.seek(T0, 1_000);
    OffsetOutOfRangeException failure = pollFailure(reader, OffsetOutOfRangeException.class);
    assertThat(failure.position()).isEqualTo(1_000);
    assertThat(failure.end()).isEqualTo(10);
    reader.seek(T0, 9);
    assertThat(values(read(reader, 1))).containsExactly("v9");
  }

  @Test
  void truncatedLogIsThrownWithItsRange() {
    produce(0, 0, 30, 10);
    Reader reader = reader(new ReaderConfig());
    read(reader, 30);
    cluster.truncate("t", 0, 10);
    LogTruncatedException failure = pollFailure(reader, LogTruncatedException.class);
    assertThat(failure.first()).isEqualTo(10);
    assertThat(failure.end()).isEqualTo(30);
    reader.seek(T0, failure.first());
    produce(0, 500, 5, 5);
    assertThat(values(read(reader, 5))).isEqualTo(numbers(500, 5));
  }

  @Test
  void corruptBatchIsFetchedAgainAndThenReported() {
    produce(0, 0, 30, 10);
    cluster.corrupt("t", 0, 1);
    Reader reader = reader(new ReaderConfig());
    assertThat(values(read(reader, 10))).isEqualTo(numbers(0, 10));
    UnreadableBatchException failure = pollFailure(reader, UnreadableBatchException.class);
    assertThat(failure.baseOffset()).isEqualTo(10);
    assertThat(failure.nextOffset()).isEqualTo(20);
    assertThat(fetches().stream().filter(f -> f.getPartitions(0).getPosition() == 10).count())
        .isGreaterThanOrEqualTo(2);
    reader.seek(T0, failure.nextOffset());
    assertThat(values(read(reader, 10))).isEqualTo(numbers(20, 10));
    cluster.corrupt("t", 0, 1);
    reader.seek(T0, 10);
    assertThat(values(read(reader, 20))).isEqualTo(numbers(10, 20));
  }

  @Test
  void oneStoppedPartitionDoesNotHideRecordsOfAnother() {
    produce(0, 0, 10, 10);
    produce(1, 100, 10, 10);
    TopicPartition t1 = new TopicPartition("t", 1);
    Reader reader = reader(new ReaderConfig(), T0, t1);
    reader.seek(T0, 1_000);
    List<ReceivedRecord> records = new ArrayList<>();
    int failures = 0;
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while ((records.size() < 10 || failures == 0) && System.nanoTime() < deadline) {
      try {
        records.addAll(reader.poll(200));
      } catch (OffsetOutOfRangeException e) {
        failures++;
      }
    }
    assertThat(values(records)).isEqualTo(numbers(100, 10));
    assertThat(failures).isPositive();
  }

  // ------------------------------------------------------------------------------ wake-up, close

  @Test
  void wakeupEndsThePollThatWaitsOrTheNext() {
    Reader reader = reader(new ReaderConfig());
    reader.wakeup();
    long start = System.nanoTime();
    assertThat(reader.poll(10_000)).isEmpty();
    CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS).execute(reader::wakeup);
    assertThat(reader.poll(10_000)).isEmpty();
    assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(8));
  }

  @Test
  void closeFromAnotherThreadEndsThePoll() {
    Reader reader = reader(new ReaderConfig());
    CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS).execute(reader::close);
    assertThatThrownBy(() -> reader.poll(10_000)).isInstanceOf(ClientClosedException.class);
    assertThatThrownBy(() -> reader.seek(T0, 0)).isInstanceOf(ClientClosedException.class);
    reader.close();
  }
}
