package io.millrace.broker.partition;

import static io.millrace.broker.partition.FetchFixture.baseOffsets;
import static io.millrace.broker.partition.FetchFixture.request;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.millrace.broker.partition.FetchFixture.Fetch;
import io.millrace.broker.partition.PartitionCounters.Counter;
import io.millrace.broker.state.message.LogStartEntry;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.OffsetRange;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What one look of a fetch gives. */
@Timeout(30)
class FetchTest {

  @TempDir private Path directory;

  private FetchFixture fixture;
  private final List<Fetch> answered = new ArrayList<>();

  @BeforeEach
  void open() {
    fixture = new FetchFixture(directory, 3);
  }

  @AfterEach
  void close() {
    answered.forEach(fetch -> fetch.answer.release());
    assertThat(fixture.budget.responseBytes()).isZero();
    assertThat(fixture.budget.waiting()).isZero();
    assertThat(fixture.counters.value(Counter.CONTROL_BATCHES_SERVED)).isZero();
    fixture.close();
  }

  private PartitionFixture partition(int i) {
    return fixture.get(i);
  }

  private Fetch answeredAtOnce(Fetch fetch) {
    assertThat(fetch.done()).as("answered at once").isTrue();
    answered.add(fetch);
    return fetch;
  }

  // ---------------------------------------------------------------------------------------- data

  @Test
  void committedRecordsAreServedFromThePosition() {
    partition(0).store(3);
    partition(0).store(4);
    partition(0).store(2);
    partition(0).produce(Batches.plain(5, 10)); // not committed
    Fetch fetch = answeredAtOnce(fixture.fetch(partition(0).from(3)));
    assertThat(baseOffsets(fetch.answer.slices().get(0))).containsExactly(3L, 7L);
    assertThat(fetch.result(0).getSize()).isEqualTo(fetch.answer.slices().get(0).bytes());
    assertThat(fetch.result(0).getReadableEnd()).isEqualTo(9);
    assertThat(fetch.result(0).getCommittedEnd()).isEqualTo(9);
    assertThat(fetch.result(0).getLastStableOffset()).isEqualTo(9);
    assertThat(fetch.result(0).getDeliverUpTo()).isEqualTo(9);
    assertThat(fetch.result(0).getTerm()).isEqualTo(1);
    assertThat(fetch.result(0).getLogStart()).isZero();
    partition(0).raft.commitAll();
  }

  @Test
  void aPositionInsideABatchGetsTheWholeBatch() {
    partition(0).store(3);
    partition(0).store(4);
    Fetch fetch = answeredAtOnce(fixture.fetch(partition(0).from(5)));
    assertThat(baseOffsets(fetch.answer.slices().get(0))).containsExactly(3L);
    assertThat(fetch.result(0).getDeliverUpTo()).isEqualTo(7);
  }

  @Test
  void resultsStandInTheOrderOfTheRequestWithTheirSlices() {
    partition(0).store(1);
    partition(2).store(2);
    Fetch fetch =
        answeredAtOnce(
            fixture.fetch(partition(2).from(0), partition(1).from(0), partition(0).from(0)));
    assertThat(fetch.answer.header().getResultsCount()).isEqualTo(3);
    assertThat(fetch.result(0).getPartition()).isEqualTo(2);
    assertThat(fetch.result(1).getPartition()).isEqualTo(1);
    assertThat(fetch.result(1).getSize()).isZero();
    assertThat(fetch.result(1).getDeliverUpTo()).isZero();
    assertThat(fetch.result(2).getPartition()).isZero();
    assertThat(fetch.answer.slices()).hasSize(2);
    assertThat(fetch.answer.slices().get(0).nextOffset()).isEqualTo(2);
    assertThat(fetch.answer.bytes())
        .isEqualTo((long) fetch.result(0).getSize() + fetch.result(2).getSize());
    assertThat(fixture.budget.responseBytes()).isEqualTo(fetch.answer.bytes());
  }

  @Test
  void atLeastOneBatchIsServedEvenAboveTheLimitButOnlyOne() {
    for (PartitionFixture each : fixture.partitions) {
      each.store(1, 5000);
      each.store(1, 5000);
    }
    Fetch fetch =
        answeredAtOnce(
            fixture.fetch(
                request(partition(0).from(0), partition(1).from(0), partition(2).from(0))
                    .setMaxBytes(100)));
    assertThat(fetch.answer.slices()).hasSize(1);
    assertThat(baseOffsets(fetch.answer.slices().get(0))).containsExactly(0L);
  }

  @Test
  void everyPartitionGetsItsTurnWhenOneAloneFillsTheAnswer() {
    for (PartitionFixture each : fixture.partitions) {
      each.store(1, 5000);
    }
    int[] served = new int[3];
    for (int i = 0; i < 60; i++) {
      Fetch fetch =
          answeredAtOnce(
              fixture.fetch(
                  request(partition(0).from(0), partition(1).from(0), partition(2).from(0))
                      .setMaxBytes(100)));
      for (int p = 0; p < 3; p++) {
        served[p] += fetch.result(p).getSize() > 0 ? 1 : 0;
      }
    }
    assertThat(Arrays.stream(served).sum()).isEqualTo(60);
    assertThat(Arrays.stream(served).boxed()).allSatisfy(n -> assertThat(n).isBetween(15, 25));
  }

  @Test
  void aPartitionsOwnLimitCutsOnlyIt() {
    partition(0).store(1, 100);
    partition(0).store(1, 100);
    partition(1).store(1, 100);
    Fetch fetch =
        answeredAtOnce(fixture.fetch(partition(0).from(0).setMaxBytes(1), partition(1).from(0)));
    assertThat(baseOffsets(fetch.answer.slices().get(0))).containsExactly(0L);
    assertThat(fetch.answer.slices()).hasSize(2);
  }

  @Test
  void anAnswerIsReleasedOnce() {
    partition(0).store(1);
    Fetch fetch = fixture.fetch(partition(0).from(0));
    fetch.answer.release();
    assertThatThrownBy(fetch.answer::release).isInstanceOf(IllegalStateException.class);
  }

  // --------------------------------------------------------------------------------------- errors

  @Test
  void whatIsNotHereIsSaidAndTheRestIsServed() {
    partition(0).store(1);
    Fetch fetch =
        answeredAtOnce(
            fixture.fetch(
                partition(0).from(0),
                partition(0).from(0).setPartition(9),
                partition(0).from(0).setTopicId(ByteString.EMPTY)));
    assertThat(fetch.code(0)).isEqualTo(ErrorCode.NONE);
    assertThat(fetch.answer.slices()).hasSize(1);
    assertThat(fetch.code(1)).isEqualTo(ErrorCode.UNKNOWN_PARTITION);
    assertThat(fetch.code(2)).isEqualTo(ErrorCode.UNKNOWN_TOPIC);
    assertThat(fixture.counters.fetchesRefused(ErrorCode.UNKNOWN_PARTITION)).isEqualTo(1);
  }

  @Test
  void belowTheLogStartTheLossIsCounted() {
    partition(0).store(10);
    partition(0)
        .raft
        .commitForeign(
            ControlBatch.encode(
                ControlType.LOG_START, LogStartEntry.newBuilder().setLogStart(7).build()));
    Fetch fetch = answeredAtOnce(fixture.fetch(partition(0).from(2)));
    assertThat(fetch.code(0)).isEqualTo(ErrorCode.OFFSET_OUT_OF_RANGE);
    assertThat(fetch.result(0).getRecordsLost()).isEqualTo(5);
    assertThat(fetch.result(0).getLogStart()).isEqualTo(7);
    assertThat(answeredAtOnce(fixture.fetch(partition(0).from(-1))).code(0))
        .isEqualTo(ErrorCode.OFFSET_OUT_OF_RANGE);
    assertThat(answeredAtOnce(fixture.fetch(partition(0).from(7))).code(0))
        .isEqualTo(ErrorCode.NONE);
  }

  @Test
  void aReaderThatSawMoreOfAnOlderTermIsToldWhatIsGone() {
    partition(0).store(10); // term 1
    partition(0).raft.stepDown(2, 0);
    partition(0).raft.lead(5);
    partition(0).store(10); // 10..19 in term 5
    // It was given 10..13 in term 1 or 3; these are other records now.
    Fetch fetch = answeredAtOnce(fixture.fetch(partition(0).from(14).setLastFetchedTerm(1)));
    assertThat(fetch.code(0)).isEqualTo(ErrorCode.LOG_TRUNCATED);
    assertThat(fetch.result(0).getTruncated())
        .isEqualTo(OffsetRange.newBuilder().setFirst(10).setEnd(14).build());
    assertThat(answeredAtOnce(fixture.fetch(partition(0).from(14).setLastFetchedTerm(3))).code(0))
        .isEqualTo(ErrorCode.LOG_TRUNCATED);
    assertThat(answeredAtOnce(fixture.fetch(partition(0).from(10).setLastFetchedTerm(1))).code(0))
        .isEqualTo(ErrorCode.NONE);
    assertThat(answeredAtOnce(fixture.fetch(partition(0).from(14).setLastFetchedTerm(5))).code(0))
        .isEqualTo(ErrorCode.NONE);
  }

  @Test
  void aReaderBeyondTheEndOfAnOlderTermIsToldAndDoesNotWait() {
    partition(0).store(10);
    partition(0).raft.stepDown(2, 0);
    partition(0).raft.lead(5);
    partition(0).raft.quorumContact = false; // no lease is needed to know
    Fetch fetch = answeredAtOnce(fixture.fetch(partition(0).from(15).setLastFetchedTerm(1)));
    assertThat(fetch.code(0)).isEqualTo(ErrorCode.LOG_TRUNCATED);
    assertThat(fetch.result(0).getTruncated())
        .isEqualTo(OffsetRange.newBuilder().setFirst(10).setEnd(15).build());
  }

  @Test
  void aReaderBeyondTheEndThatKnowsNoTermIsOutOfRangeOnceTheEndIsSure() {
    partition(0).store(10);
    partition(0).raft.quorumContact = false;
    assertThat(answeredAtOnce(fixture.fetch(partition(0).from(11))).code(0))
        .isEqualTo(ErrorCode.NOT_READY);
    partition(0).raft.quorumContact = true;
    Fetch fetch = answeredAtOnce(fixture.fetch(partition(0).from(11)));
    assertThat(fetch.code(0)).isEqualTo(ErrorCode.OFFSET_OUT_OF_RANGE);
    assertThat(fetch.result(0).getRecordsLost()).isZero();
  }

  @Test
  void aReaderThatSawANewerTermIsSentOn() {
    partition(0).store(10);
    assertThat(answeredAtOnce(fixture.fetch(partition(0).from(5).setLastFetchedTerm(2))).code(0))
        .isEqualTo(ErrorCode.NOT_LEADER);
  }

  @Test
  void onlyAStartedLeaderServes() {
    partition(0).store(10);
    partition(0).raft.stepDown(3, 0);
    Fetch fetch = answeredAtOnce(fixture.fetch(partition(0).from(0)));
    assertThat(fetch.code(0)).isEqualTo(ErrorCode.NOT_LEADER);
    assertThat(fetch.result(0).getError().getLeader().getBrokerId()).isEqualTo(3);
    partition(0).raft.elect(4);
    assertThat(answeredAtOnce(fixture.fetch(partition(0).from(0))).code(0))
        .isEqualTo(ErrorCode.NOT_READY);
  }

  @Test
  void aMalformedRequestIsRefusedAsAWhole() {
    assertThat(answeredAtOnce(fixture.fetch()).requestCode())
        .isEqualTo(ErrorCode.MALFORMED_REQUEST);
    assertThat(
            answeredAtOnce(fixture.fetch(request(partition(0).from(0)).setMaxWaitMillis(-1)))
                .requestCode())
        .isEqualTo(ErrorCode.MALFORMED_REQUEST);
    assertThat(
            answeredAtOnce(fixture.fetch(partition(0).from(0).setInFlightRecords(-1)))
                .requestCode())
        .isEqualTo(ErrorCode.MALFORMED_REQUEST);
    assertThat(fixture.counters.value(Counter.FETCHES)).isEqualTo(3);
  }

  @Test
  void aFullBudgetThrottlesInsteadOfQueueing() {
    fixture.close();
    fixture = new FetchFixture(directory.resolve("small"), 1, new FetchBudget(1000, 100));
    partition(0).store(1, 2000);
    Fetch first = fixture.fetch(partition(0).from(0)); // alone, so larger than the budget
    Fetch second = answeredAtOnce(fixture.fetch(partition(0).from(0)));
    assertThat(second.requestCode()).isEqualTo(ErrorCode.THROTTLED);
    assertThat(second.answer.header().getContext().getThrottleMillis()).isPositive();
    assertThat(second.answer.slices()).isEmpty();
    first.answer.release();
    assertThat(answeredAtOnce(fixture.fetch(partition(0).from(0))).answer.slices()).hasSize(1);
  }

  @Test
  void aLogThatCannotBeReadIsAnErrorOfItsPartition() throws Exception {
    partition(0).store(1);
    partition(1).store(1);
    // The file goes away below the log.
    try (var files = Files.walk(partition(0).log.directory())) {
      for (Path file : files.filter(f -> f.toString().endsWith(".log")).toList()) {
        Files.write(file, new byte[0]);
      }
    }
    Fetch fetch = answeredAtOnce(fixture.fetch(partition(0).from(0), partition(1).from(0)));
    assertThat(fetch.code(0)).isEqualTo(ErrorCode.STORAGE_ERROR);
    assertThat(fetch.code(1)).isEqualTo(ErrorCode.NONE);
    assertThat(fetch.answer.slices()).hasSize(1);
  }

  // ------------------------------------------------------------------------------- control batches

  @Test
  void aLoopOver20000ControlBatchesBetweenTwoRecordsEnds() {
    partition(0).store(1);
    ByteBuffer noOp = ControlBatch.encode(ControlType.NO_OP.code(), new byte[10]);
    ByteBuffer[] run = new ByteBuffer[1000];
    Arrays.fill(run, noOp);
    for (int i = 0; i < 20; i++) {
      partition(0).raft.commitForeign(run);
    }
    partition(0).store(1);
    assertThat(partition(0).log.lastIndex()).isGreaterThan(20_000);
    long position = 0;
    int fetches = 0;
    while (position < 2) {
      Fetch fetch =
          fixture.fetch(request(partition(0).from(position)).setMaxBytes(1000).setMaxWaitMillis(0));
      fetches++;
      assertThat(fetch.done()).isTrue();
      assertThat(fetch.answer.slices()).hasSize(1);
      assertThat(baseOffsets(fetch.answer.slices().get(0))).startsWith(position);
      position = fetch.answer.slices().get(0).nextOffset();
      fetch.answer.release();
    }
    assertThat(fetches).isLessThanOrEqualTo(2);
    assertThat(fixture.counters.value(Counter.CONTROL_BATCHES_SERVED)).isZero();
  }

  // ---------------------------------------------------------------------------------------- credit

  @Test
  void oneRecordOfCreditGetsAWholeBatchAndDeliversOneRecord() {
    partition(0).store(500);
    partition(0).store(500);
    Fetch fetch =
        answeredAtOnce(fixture.fetch(request(partition(0).from(0)).setPrefetchRecords(1)));
    assertThat(baseOffsets(fetch.answer.slices().get(0))).containsExactly(0L);
    assertThat(fetch.result(0).getDeliverUpTo()).isEqualTo(1);
  }

  @Test
  void batchesAreSentWhileCreditIsLeft() {
    for (int i = 0; i < 5; i++) {
      partition(0).store(10);
    }
    Fetch fetch =
        answeredAtOnce(
            fixture.fetch(
                request(partition(0).from(0)).setPrefetchRecords(100).setInFlightRecords(75)));
    assertThat(fetch.answer.slices().get(0).nextOffset()).isBetween(20L, 30L);
    assertThat(fetch.result(0).getDeliverUpTo())
        .isEqualTo(Math.min(25, fetch.answer.slices().get(0).nextOffset()));
  }

  @Test
  void creditIsSharedByThePartitionsOfARequest() {
    partition(0).store(6);
    partition(1).store(6);
    partition(2).store(6);
    Fetch fetch =
        answeredAtOnce(
            fixture.fetch(
                request(partition(0).from(0), partition(1).from(0), partition(2).from(0))
                    .setPrefetchRecords(10)));
    long delivered = 0;
    for (int i = 0; i < 3; i++) {
      delivered += fetch.result(i).getDeliverUpTo();
    }
    assertThat(delivered).isEqualTo(10);
    assertThat(fetch.answer.slices()).hasSize(2);
  }

  @Test
  void aPartitionsOwnCapLeavesCreditToTheOthers() {
    partition(0).store(6);
    partition(1).store(6);
    Fetch fetch =
        answeredAtOnce(
            fixture.fetch(
                request(
                        partition(0).from(0).setPrefetchRecords(4).setInFlightRecords(4),
                        partition(1).from(0).setPrefetchRecords(4).setInFlightRecords(1))
                    .setPrefetchRecords(100)
                    .setInFlightRecords(5)));
    assertThat(fetch.result(0).getSize()).isZero();
    assertThat(fetch.result(1).getSize()).isPositive();
    assertThat(fetch.result(1).getDeliverUpTo()).isEqualTo(3);
  }

  @Test
  void byteCreditIsKeptButForOneBatch() {
    partition(0).store(1, 1000);
    partition(0).store(1, 1000);
    partition(0).store(1, 1000);
    Fetch fetch =
        answeredAtOnce(
            fixture.fetch(
                request(partition(0).from(0)).setPrefetchBytes(5000).setInFlightBytes(4999)));
    assertThat(baseOffsets(fetch.answer.slices().get(0))).containsExactly(0L);
  }

  @Test
  void withoutCreditTheAnswerSaysHowMuchOfWhatTheReaderHasItMayHandOver() {
    partition(0).store(500);
    partition(0).store(500);
    // It has 1..499 of the first batch, prefetch 1, and has processed record 0.
    Fetch fetch =
        answeredAtOnce(
            fixture.fetch(
                request(partition(0).from(500).setInFlightRecords(499).setProcessed(1))
                    .setPrefetchRecords(1)
                    .setInFlightRecords(499)
                    .setMaxWaitMillis(0)));
    assertThat(fetch.answer.slices()).isEmpty();
    assertThat(fetch.result(0).getDeliverUpTo()).isEqualTo(2);
  }

  @Test
  void keptBackRecordsOfTwoPartitionsNeverStopEachOtherForGood() {
    partition(0).store(500);
    partition(1).store(500);
    // Fetched in two requests: 499 kept back in each, nothing handed over.
    Fetch fetch =
        answeredAtOnce(
            fixture.fetch(
                request(
                        partition(0).from(500).setInFlightRecords(499),
                        partition(1).from(500).setInFlightRecords(499))
                    .setPrefetchRecords(10)
                    .setInFlightRecords(998)
                    .setMaxWaitMillis(0)));
    assertThat(fetch.result(0).getDeliverUpTo()).isEqualTo(11);
    assertThat(fetch.result(1).getDeliverUpTo()).isEqualTo(1);
  }
}
