package io.millrace.broker.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import io.millrace.broker.cluster.LocalBroker;
import io.millrace.broker.log.DirectDisk;
import io.millrace.broker.log.FsyncPolicy;
import io.millrace.broker.log.LogConfig;
import io.millrace.broker.log.LogIdentity;
import io.millrace.broker.log.LogListener;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.log.RecoveryHint;
import io.millrace.broker.net.NettyServer;
import io.millrace.broker.net.NetworkConfig;
import io.millrace.broker.net.NetworkCounters;
import io.millrace.broker.net.RawClient;
import io.millrace.broker.partition.AppendBudget;
import io.millrace.broker.partition.FetchBudget;
import io.millrace.broker.partition.FetchCoordinator;
import io.millrace.broker.partition.FetchLimits;
import io.millrace.broker.partition.Partition;
import io.millrace.broker.partition.PartitionCounters;
import io.millrace.broker.partition.PartitionEnvironment;
import io.millrace.broker.partition.PartitionId;
import io.millrace.broker.partition.PartitionLookup;
import io.millrace.broker.partition.PartitionSettings;
import io.millrace.broker.partition.SliceInspector;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.BatchReader;
import io.millrace.protocol.batch.BatchWriter;
import io.millrace.protocol.batch.Compression;
import io.millrace.protocol.batch.RecordView;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.DeleteRecordsPartition;
import io.millrace.protocol.message.DeleteRecordsRequest;
import io.millrace.protocol.message.DeleteRecordsResponse;
import io.millrace.protocol.message.DeleteRecordsResult;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.FetchPartition;
import io.millrace.protocol.message.FetchRequest;
import io.millrace.protocol.message.FetchResponse;
import io.millrace.protocol.message.FetchResult;
import io.millrace.protocol.message.ListOffsetsPartition;
import io.millrace.protocol.message.ListOffsetsRequest;
import io.millrace.protocol.message.ListOffsetsResponse;
import io.millrace.protocol.message.OffsetKind;
import io.millrace.protocol.message.ProduceBatch;
import io.millrace.protocol.message.ProduceRequest;
import io.millrace.protocol.message.ProduceResponse;
import io.millrace.protocol.message.ProduceResult;
import io.netty.util.HashedWheelTimer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Produce, fetch and offsets through a socket, down to a real log and back. */
@Timeout(60)
class DataPathTest {

  private static final PartitionId ID = new PartitionId(new UUID(1, 2), 3, "orders");
  private static final LocalBroker SELF = new LocalBroker("shop", 1, new UUID(3, 4));
  private static final int MAX_PENDING_BYTES = 4 << 20;

  @TempDir Path dir;

  private final HashedWheelTimer timer = new HashedWheelTimer(5, TimeUnit.MILLISECONDS);
  private final ExecutorService readers = Executors.newFixedThreadPool(2);
  private final PartitionCounters counters = new PartitionCounters();
  private final FetchBudget fetchBudget = new FetchBudget(64 << 20, 100);
  private final List<String> faults = new ArrayList<>();
  private PartitionLog log;
  private SoloRaft raft;
  private Partition partition;
  private FetchCoordinator fetches;
  private NettyServer server;
  private RawClient client;
  private InetSocketAddress address;

  @BeforeEach
  void start() throws Exception {
    log =
        PartitionLog.open(
            new DirectDisk(),
            dir.resolve("log"),
            new LogIdentity("shop", ID.topicId(), ID.partition()),
            new LogConfig(FsyncPolicy.OS, 1_000, LogConfig.DEFAULT_SEGMENT_BYTES),
            RecoveryHint.NONE,
            LogListener.NONE);
    raft = new SoloRaft(log);
    PartitionSettings settings =
        new PartitionSettings(
            PartitionSettings.DEFAULT_MAX_RECORD_BYTES,
            io.millrace.protocol.message.FsyncPolicy.FSYNC_OS,
            MAX_PENDING_BYTES,
            PartitionSettings.DEFAULT_MAX_PENDING_ENTRIES,
            PartitionSettings.DEFAULT_PRODUCER_EXPIRY_MILLIS,
            PartitionSettings.DEFAULT_MAX_PRODUCERS);
    partition =
        new Partition(
            ID,
            settings,
            new PartitionEnvironment(
                Clock.systemUTC(), new AppendBudget(64 << 20), counters, faults::add),
            raft,
            log);
    raft.lead(partition);
    PartitionLookup lookup =
        (topicId, number) ->
            topicId.equals(ID.topicId()) && number == ID.partition() ? partition : null;
    fetches =
        new FetchCoordinator(
            new FetchCoordinator.Context(
                timer,
                readers,
                fetchBudget,
                FetchLimits.defaults(),
                counters,
                SliceInspector.EVERY_HEADER));
    DistinctErrors errors = new DistinctErrors(LoggerFactory.getLogger(DataPathTest.class));
    RequestLimits limits = new RequestLimits(10, 10);
    NetworkConfig config = NetworkConfig.defaults(256 << 20);
    server =
        new NettyServer(
            config,
            new Handlers(
                List.of(
                    new HelloHandler(SELF, config.maxFrameBytes(), 1, "test"),
                    new ProduceHandler(lookup, timer, limits, errors),
                    new FetchHandler(fetches, lookup),
                    new ListOffsetsHandler(lookup, readers, limits, errors),
                    new DeleteRecordsHandler(lookup, timer, limits, errors))),
            new NetworkCounters(),
            "path");
    address = server.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    client = new RawClient(address);
    client.hello();
  }

  @AfterEach
  void stop() throws Exception {
    client.close();
    server.close();
    fetches.close();
    raft.close();
    log.close();
    readers.shutdownNow();
    timer.stop();
    assertThat(faults).isEmpty();
    assertThat(fetchBudget.responseBytes()).isZero();
    assertThat(fetchBudget.waiting()).isZero();
  }

  // -------------------------------------------------------------------------------------- helpers

  private static ByteBuffer batch(String... values) {
    BatchWriter writer = new BatchWriter(Compression.NONE, 4 << 20);
    for (String value : values) {
      writer.tryAppend(1_700_000_000_000L, null, value.getBytes(StandardCharsets.UTF_8), List.of());
    }
    return writer.build(
        BatchHeader.NO_PRODUCER_ID, BatchHeader.NO_PRODUCER_EPOCH, BatchHeader.NO_SEQUENCE);
  }

  private static ProduceBatch.Builder meta(ByteBuffer batch) {
    return ProduceBatch.newBuilder()
        .setTopicId(ID.topicIdBytes())
        .setPartition(ID.partition())
        .setSize(batch.remaining())
        .setCrc(BatchHeader.crc(batch, batch.position()));
  }

  private static byte[] bytes(ByteBuffer... buffers) {
    int size = 0;
    for (ByteBuffer buffer : buffers) {
      size += buffer.remaining();
    }
    ByteBuffer all = ByteBuffer.allocate(size);
    for (ByteBuffer buffer : buffers) {
      all.put(buffer.duplicate());
    }
    return all.array();
  }

  private ProduceResponse produce(ProduceRequest request, byte[] payload) throws IOException {
    client.send(ApiKind.PRODUCE, 5, request, payload);
    return client.read().header(ProduceResponse.parser());
  }

  private ProduceResult produce(ByteBuffer batch) throws IOException {
    return produce(ProduceRequest.newBuilder().addBatches(meta(batch)).build(), bytes(batch))
        .getResults(0);
  }

  private static FetchRequest.Builder fetchFrom(long position) {
    return FetchRequest.newBuilder()
        .addPartitions(
            FetchPartition.newBuilder()
                .setTopicId(ID.topicIdBytes())
                .setPartition(ID.partition())
                .setPosition(position))
        .setMinBytes(1)
        .setMaxBytes(16 << 20)
        .setMaxWaitMillis(10_000)
        .setPrefetchRecords(1_000_000);
  }

  private static List<String> values(byte[] payload) throws Exception {
    List<String> values = new ArrayList<>();
    ByteBuffer rest = ByteBuffer.wrap(payload);
    while (rest.hasRemaining()) {
      int size = (int) BatchHeader.read(rest, rest.position()).sizeInBytes();
      ByteBuffer one = rest.slice(rest.position(), size);
      for (RecordView record : BatchReader.records(one, 64 << 20)) {
        values.add(record.offset() + "=" + new String(record.value(), StandardCharsets.UTF_8));
      }
      rest.position(rest.position() + size);
    }
    return values;
  }

  // ------------------------------------------------------------------------------- delete records

  private static DeleteRecordsPartition.Builder before(long offset) {
    return DeleteRecordsPartition.newBuilder()
        .setTopicId(ID.topicIdBytes())
        .setPartition(ID.partition())
        .setBefore(offset);
  }

  private List<DeleteRecordsResult> delete(long waitMillis, DeleteRecordsPartition.Builder... all)
      throws Exception {
    DeleteRecordsRequest.Builder request =
        DeleteRecordsRequest.newBuilder()
            .setContext(
                io.millrace.protocol.message.RequestContext.newBuilder()
                    .setDeadlineMillis(waitMillis));
    for (DeleteRecordsPartition.Builder each : all) {
      request.addPartitions(each);
    }
    client.send(ApiKind.DELETE_RECORDS, 9, request.build());
    return client.read().header(DeleteRecordsResponse.parser()).getResultsList();
  }

  private static ErrorCode code(DeleteRecordsResult result) {
    return ErrorCode.of(result.getError().getCode());
  }

  @Test
  void deletedRecordsAreCountedForWhoAsksForThem() throws Exception {
    produce(batch("a", "b", "c"));
    List<DeleteRecordsResult> results =
        delete(
            5000,
            before(2),
            before(4),
            before(1).setPartition(99),
            before(1).setTopicId(ByteString.copyFromUtf8("short")));
    assertThat(results)
        .extracting(DataPathTest::code)
        .containsExactly(
            ErrorCode.NONE,
            ErrorCode.OFFSET_OUT_OF_RANGE,
            ErrorCode.UNKNOWN_PARTITION,
            ErrorCode.UNKNOWN_TOPIC);
    assertThat(results.get(0).getLogStart()).isEqualTo(2);

    client.send(ApiKind.FETCH, 6, fetchFrom(0).build());
    FetchResult lost = client.read().header(FetchResponse.parser()).getResults(0);
    assertThat(ErrorCode.of(lost.getError().getCode())).isEqualTo(ErrorCode.OFFSET_OUT_OF_RANGE);
    assertThat(lost.getRecordsLost()).isEqualTo(2);
    assertThat(lost.getLogStart()).isEqualTo(2);
    client.send(ApiKind.FETCH, 7, fetchFrom(2).build());
    assertThat(values(client.read().payload())).contains("2=c");
  }

  @Test
  void aDeletionThatIsNotCommittedInTimeIsUnknownAndCanBeRepeated() throws Exception {
    produce(batch("a", "b"));
    raft.hold();
    List<DeleteRecordsResult> late = delete(200, before(1));
    assertThat(late).extracting(DataPathTest::code).containsExactly(ErrorCode.REQUEST_TIMEOUT);
    raft.release();
    List<DeleteRecordsResult> again = delete(5000, before(1));
    assertThat(again).extracting(DataPathTest::code).containsExactly(ErrorCode.NONE);
    assertThat(again.get(0).getLogStart()).isEqualTo(1);
  }

  // -------------------------------------------------------------------------------------- produce

  @Test
  void recordsComeBackAtTheOffsetsOfTheReceipts() throws Exception {
    ProduceResult first = produce(batch("a", "b"));
    ProduceResult second = produce(batch("c"));
    assertThat(first.hasError()).isFalse();
    assertThat(first.getBaseOffset()).isZero();
    assertThat(first.getTerm()).isEqualTo(7);
    assertThat(first.getFsync()).isEqualTo(io.millrace.protocol.message.FsyncPolicy.FSYNC_OS);
    assertThat(second.getBaseOffset()).isEqualTo(2);
    client.send(ApiKind.FETCH, 6, fetchFrom(0).build());
    RawClient.Answer answer = client.read();
    FetchResponse response = answer.header(FetchResponse.parser());
    assertThat(response.getResults(0).getSize()).isEqualTo(answer.payload().length);
    assertThat(response.getResults(0).getReadableEnd()).isEqualTo(3);
    assertThat(values(answer.payload())).containsExactly("0=a", "1=b", "2=c");
  }

  @Test
  void eachBadBatchHasItsOwnErrorAndGoodOnesBesideItAreStored() throws Exception {
    ByteBuffer good = batch("good");
    ByteBuffer flipped = batch("flipped");
    flipped.put(flipped.limit() - 1, (byte) (flipped.get(flipped.limit() - 1) ^ 1));
    ByteBuffer wrongMagic = batch("magic");
    wrongMagic.put(BatchHeader.MAGIC_OFFSET, (byte) 1);
    ByteBuffer control = batch("control");
    control.putShort(BatchHeader.ATTRIBUTES_OFFSET, (short) 0x20);
    ByteBuffer count = batch("count");
    count.putInt(BatchHeader.RECORD_COUNT_OFFSET, 5);
    List<ByteBuffer> batches =
        List.of(good, good, flipped, wrongMagic, control, count, good, good, good);
    List<ProduceBatch.Builder> metas = batches.stream().map(DataPathTest::meta).toList();
    metas.get(1).setCrc(metas.get(1).getCrc() + 1);
    metas.get(6).setPartition(99);
    metas.get(7).setTopicId(ByteString.copyFromUtf8("short"));
    ProduceRequest.Builder request = ProduceRequest.newBuilder();
    metas.forEach(request::addBatches);
    ProduceResponse response = produce(request.build(), bytes(batches.toArray(ByteBuffer[]::new)));
    assertThat(
            response.getResultsList().stream()
                .map(result -> ErrorCode.of(result.getError().getCode()))
                .toList())
        .satisfiesExactly(
            code -> assertThat(code).isEqualTo(ErrorCode.NONE),
            code -> assertThat(code).isEqualTo(ErrorCode.CORRUPT_BATCH),
            code -> assertThat(code).isEqualTo(ErrorCode.CORRUPT_BATCH),
            code -> assertThat(code).isEqualTo(ErrorCode.UNSUPPORTED_MAGIC),
            code -> assertThat(code).isIn(ErrorCode.INVALID_BATCH, ErrorCode.CORRUPT_BATCH),
            code -> assertThat(code).isIn(ErrorCode.INVALID_BATCH, ErrorCode.CORRUPT_BATCH),
            code -> assertThat(code).isEqualTo(ErrorCode.UNKNOWN_PARTITION),
            code -> assertThat(code).isEqualTo(ErrorCode.UNKNOWN_TOPIC),
            code -> assertThat(code).isEqualTo(ErrorCode.NONE));
    assertThat(response.getResultsList().stream().map(ProduceResult::getBaseOffset).toList())
        .containsExactly(0L, -1L, -1L, -1L, -1L, -1L, -1L, -1L, 1L);
    assertThat(partition.committedEnd()).isEqualTo(2);
    assertThat(log.logEnd()).isEqualTo(2);
  }

  @Test
  void sizesThatDoNotAddUpRefuseTheWholeRequest() throws Exception {
    ByteBuffer good = batch("good");
    int size = good.remaining();
    for (int wrong : new int[] {size - 1, size + 1, Integer.MAX_VALUE}) {
      client.send(
          ApiKind.PRODUCE,
          9,
          ProduceRequest.newBuilder()
              .addBatches(meta(good))
              .addBatches(meta(good).setSize(wrong))
              .build(),
          bytes(good, good));
      RawClient.Answer answer = client.read();
      assertThat(answer.error().getCode()).isEqualTo(ErrorCode.MALFORMED_REQUEST.number());
      assertThat(answer.error().getText())
          .isEqualTo(
              "the sizes of 2 batches add up to "
                  + ((long) size + wrong)
                  + " bytes, the payload has "
                  + 2 * size);
    }
    assertThat(log.lastIndex()).isZero();
    assertThat(produce(good).getBaseOffset()).isZero();
  }

  @Test
  void senselessRequestsAreMalformed() throws Exception {
    ByteBuffer good = batch("good");
    ProduceRequest.Builder many = ProduceRequest.newBuilder();
    for (int i = 0; i < 11; i++) {
      many.addBatches(meta(good).setSize(0));
    }
    List<ProduceRequest> requests =
        List.of(
            ProduceRequest.getDefaultInstance(),
            ProduceRequest.newBuilder().addBatches(meta(good).setSize(-5)).build(),
            many.build());
    List<String> texts = new ArrayList<>();
    for (ProduceRequest request : requests) {
      client.send(ApiKind.PRODUCE, 9, request);
      RawClient.Answer answer = client.read();
      assertThat(answer.error().getCode()).isEqualTo(ErrorCode.MALFORMED_REQUEST.number());
      texts.add(answer.error().getText());
    }
    assertThat(texts)
        .containsExactly(
            "a produce request without a batch",
            "size of a batch is -5, it must not be negative",
            "partitions in one request: 11, the limit is 10; split the request");
    assertThat(log.lastIndex()).isZero();
  }

  @Test
  void anEmptyBatchIsAnErrorOfItsOwn() throws Exception {
    ProduceResponse response =
        produce(
            ProduceRequest.newBuilder().addBatches(meta(batch("x")).setSize(0)).build(),
            new byte[0]);
    assertThat(response.getResults(0).getError().getCode())
        .isEqualTo(ErrorCode.INVALID_BATCH.number());
  }

  @Test
  void atTheDeadlineTheOutcomeIsUnknownAndALateCommitAnswersNothing() throws Exception {
    raft.hold();
    ByteBuffer slow = batch("slow");
    long started = System.nanoTime();
    ProduceResponse response =
        produce(
            ProduceRequest.newBuilder()
                .setContext(
                    io.millrace.protocol.message.RequestContext.newBuilder().setDeadlineMillis(400))
                .addBatches(meta(slow))
                .addBatches(meta(slow).setPartition(99))
                .build(),
            bytes(slow, slow));
    assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - started)).isBetween(300L, 5_000L);
    ErrorInfo late = response.getResults(0).getError();
    assertThat(late.getCode()).isEqualTo(ErrorCode.REQUEST_TIMEOUT.number());
    assertThat(late.getText())
        .isEqualTo("not committed within 360 ms; it may still be: retry with the same sequence");
    assertThat(response.getResults(1).getError().getCode())
        .isEqualTo(ErrorCode.UNKNOWN_PARTITION.number());
    raft.release();
    await().until(() -> partition.committedEnd() == 1);
    assertThat(produce(batch("next")).getBaseOffset()).isEqualTo(1);
    assertThat(server.counters().errorCount()).isZero();
  }

  @Test
  void beyondTheBudgetProduceIsThrottledWithADelay() throws Exception {
    raft.hold();
    ByteBuffer large = batch("x".repeat(1_000_000));
    int sent = 6;
    for (int i = 0; i < sent; i++) {
      client.send(
          ApiKind.PRODUCE,
          i,
          ProduceRequest.newBuilder().addBatches(meta(large)).build(),
          bytes(large));
    }
    RawClient.Answer refused = client.read();
    ProduceResponse response = refused.header(ProduceResponse.parser());
    assertThat(response.getResults(0).getError().getCode()).isEqualTo(ErrorCode.THROTTLED.number());
    assertThat(response.getContext().getThrottleMillis()).isEqualTo(PendingProduce.THROTTLE_MILLIS);
    raft.release();
    for (int i = 1; i < sent; i++) {
      client.read();
    }
    await().until(() -> server.unanswered() == 0);
    assertThat(partition.committedEnd()).isBetween(3L, 5L);
  }

  @Test
  void pipelinedRequestsForOnePartitionAreStoredInTheOrderOfTheirArrival() throws Exception {
    int count = 200;
    for (int i = 0; i < count; i++) {
      ByteBuffer batch = batch("v" + i);
      client.send(
          ApiKind.PRODUCE,
          i,
          ProduceRequest.newBuilder().addBatches(meta(batch)).build(),
          bytes(batch));
    }
    for (int i = 0; i < count; i++) {
      RawClient.Answer answer = client.read();
      ProduceResult result = answer.header(ProduceResponse.parser()).getResults(0);
      assertThat(result.getBaseOffset()).isEqualTo(answer.correlation());
    }
  }

  // ---------------------------------------------------------------------------------------- fetch

  @Test
  void aFetchOfMegabytesIsTheBytesOfTheLog() throws Exception {
    Random random = new Random(5);
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      byte[] letters = new byte[100_000];
      for (int j = 0; j < letters.length; j++) {
        letters[j] = (byte) ('a' + random.nextInt(26));
      }
      String value = new String(letters, StandardCharsets.US_ASCII);
      expected.add(i + "=" + value);
      assertThat(produce(batch(value)).getBaseOffset()).isEqualTo(i);
    }
    List<String> read = new ArrayList<>();
    while (read.size() < expected.size()) {
      client.send(ApiKind.FETCH, read.size(), fetchFrom(read.size()).build());
      RawClient.Answer answer = client.read();
      assertThat(answer.correlation()).isEqualTo(read.size());
      read.addAll(values(answer.payload()));
    }
    assertThat(read).isEqualTo(expected);
    assertThat(server.counters().fileBytesOut()).isGreaterThan(3_900_000);
  }

  @Test
  void aWaitingFetchIsWokenByAProduce() throws Exception {
    try (RawClient reader = new RawClient(address)) {
      reader.hello();
      reader.send(ApiKind.FETCH, 1, fetchFrom(0).build());
      await().until(() -> fetchBudget.waiting() == 1);
      produce(batch("now"));
      assertThat(values(reader.read().payload())).containsExactly("0=now");
    }
    await().until(() -> fetchBudget.waiting() == 0);
  }

  @Test
  void aWaitingFetchOfAConnectionThatClosesIsCancelled() throws Exception {
    try (RawClient reader = new RawClient(address)) {
      reader.hello();
      for (int i = 0; i < 5; i++) {
        reader.send(ApiKind.FETCH, i, fetchFrom(0).build());
      }
      await().until(() -> fetchBudget.waiting() == 5);
    }
    await().until(() -> fetchBudget.waiting() == 0);
    assertThat(counters.value(PartitionCounters.Counter.FETCHES_CANCELLED)).isEqualTo(5);
    assertThat(counters.value(PartitionCounters.Counter.FETCHES_EXPIRED)).isZero();
  }

  @Test
  void aWaitThatIsOverIsAnsweredEmpty() throws Exception {
    client.send(ApiKind.FETCH, 1, fetchFrom(0).setMaxWaitMillis(50).build());
    RawClient.Answer answer = client.read();
    assertThat(answer.payload()).isEmpty();
    assertThat(answer.error().getCode()).isZero();
  }

  @Test
  void aFetchWithoutPartitionsIsMalformed() throws Exception {
    client.send(ApiKind.FETCH, 1, FetchRequest.getDefaultInstance());
    assertThat(client.read().error().getCode()).isEqualTo(ErrorCode.MALFORMED_REQUEST.number());
  }

  // -------------------------------------------------------------------------------------- offsets

  @Test
  void offsetsByNameAndByTime() throws Exception {
    produce(batch("a", "b"));
    ListOffsetsRequest.Builder request = ListOffsetsRequest.newBuilder();
    ListOffsetsPartition wanted =
        ListOffsetsPartition.newBuilder()
            .setTopicId(ID.topicIdBytes())
            .setPartition(ID.partition())
            .build();
    request.addPartitions(wanted.toBuilder().setKind(OffsetKind.OFFSET_EARLIEST));
    request.addPartitions(wanted.toBuilder().setKind(OffsetKind.OFFSET_LATEST));
    request.addPartitions(wanted.toBuilder().setPartition(8));
    request.addPartitions(wanted.toBuilder().setTopicId(ByteString.EMPTY));
    client.send(ApiKind.LIST_OFFSETS, 1, request.build());
    ListOffsetsResponse byName = client.read().header(ListOffsetsResponse.parser());
    assertThat(byName.getResults(0).getOffset()).isZero();
    assertThat(byName.getResults(1).getOffset()).isEqualTo(2);
    assertThat(byName.getResults(2).getError().getCode())
        .isEqualTo(ErrorCode.UNKNOWN_PARTITION.number());
    assertThat(byName.getResults(3).getError().getText())
        .isEqualTo("a topic id has 16 bytes, this one 0");
    client.send(
        ApiKind.LIST_OFFSETS,
        2,
        ListOffsetsRequest.newBuilder()
            .addPartitions(
                wanted.toBuilder().setKind(OffsetKind.OFFSET_TIMESTAMP).setTimestamp(1_000))
            .build());
    ListOffsetsResponse byTime = client.read().header(ListOffsetsResponse.parser());
    assertThat(byTime.getResults(0).getOffset()).isZero();
    assertThat(byTime.getResults(0).getTimestamp()).isEqualTo(1_700_000_000_000L);
  }
}
