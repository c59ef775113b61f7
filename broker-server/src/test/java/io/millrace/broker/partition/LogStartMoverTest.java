package io.millrace.broker.partition;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.log.LogPrefix.SegmentStats;
import io.millrace.broker.partition.PartitionCounters.Counter;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.DeleteRecordsPartition;
import io.millrace.protocol.message.DeleteRecordsResult;
import io.millrace.protocol.message.ListOffsetsResult;
import io.millrace.protocol.message.OffsetKind;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Moves of the log start, by request and by the topic's limits. */
@Timeout(30)
class LogStartMoverTest {

  @TempDir Path directory;
  private PartitionFixture fixture;

  @BeforeEach
  void start() {
    fixture = new PartitionFixture(directory);
    fixture.raft.lead(1);
  }

  @AfterEach
  void stop() {
    fixture.close();
  }

  private CompletableFuture<DeleteRecordsResult> delete(long before) {
    CompletableFuture<DeleteRecordsResult> result = new CompletableFuture<>();
    fixture.partition.deleteRecords(
        DeleteRecordsPartition.newBuilder()
            .setTopicId(fixture.id.topicIdBytes())
            .setPartition(fixture.id.partition())
            .setBefore(before)
            .build(),
        answer -> assertThat(result.complete(answer)).as("answered once").isTrue());
    return result;
  }

  private static ErrorCode code(CompletableFuture<DeleteRecordsResult> result) {
    assertThat(result).isDone();
    return ErrorCode.of(result.join().getError().getCode());
  }

  private List<ControlType> controls() throws Exception {
    List<ControlType> types = new ArrayList<>();
    for (FakeRaft.Entry entry : fixture.raft.committed()) {
      if (BatchHeader.isControl(entry.batch(), 0)) {
        types.add(ControlBatch.decode(entry.batch().duplicate()).type());
      }
    }
    return types;
  }

  private long offset(OffsetKind kind) {
    ListOffsetsResult result = fixture.list(kind, 0);
    assertThat(PartitionFixture.code(result)).isEqualTo(ErrorCode.NONE);
    return result.getOffset();
  }

  private ReadCheck.Failed readAt(long position) {
    return (ReadCheck.Failed) fixture.partition.checkRead(position, 0);
  }

  // ---------------------------------------------------------------------------------- by request

  @Test
  void recordsAreGoneWhenTheAnswerComes() {
    fixture.store(5);
    fixture.store(5);
    CompletableFuture<DeleteRecordsResult> deletion = delete(7);
    assertThat(deletion).isNotDone();
    assertThat(fixture.partition.logStart()).isZero();
    fixture.raft.commitAll();

    assertThat(code(deletion)).isEqualTo(ErrorCode.NONE);
    assertThat(deletion.join().getLogStart()).isEqualTo(7);
    assertThat(offset(OffsetKind.OFFSET_EARLIEST)).isEqualTo(7);
    assertThat(offset(OffsetKind.OFFSET_LATEST)).isEqualTo(10);
    assertThat(readAt(2).recordsLost()).isEqualTo(5);
    assertThat(readAt(6).recordsLost()).isEqualTo(1);
    assertThat(fixture.partition.checkRead(7, 0)).isInstanceOf(ReadCheck.Ready.class);
    assertThat(fixture.counters.value(Counter.RECORDS_REMOVED)).isEqualTo(7);
  }

  @Test
  void whatIsGoneAlreadyIsDoneAtOnce() {
    fixture.store(10);
    delete(6);
    fixture.raft.commitAll();
    int proposals = fixture.raft.proposals();
    for (long before : new long[] {0, 3, 6}) {
      CompletableFuture<DeleteRecordsResult> again = delete(before);
      assertThat(code(again)).isEqualTo(ErrorCode.NONE);
      assertThat(again.join().getLogStart()).isEqualTo(6);
    }
    assertThat(fixture.raft.proposals()).isEqualTo(proposals);
  }

  @Test
  void everythingThatIsCommittedCanGo() {
    fixture.store(10);
    delete(10);
    fixture.raft.commitAll();
    assertThat(offset(OffsetKind.OFFSET_EARLIEST)).isEqualTo(10);
    assertThat(offset(OffsetKind.OFFSET_LATEST)).isEqualTo(10);
    assertThat(fixture.partition.checkRead(10, 0)).isInstanceOf(ReadCheck.Wait.class);
    assertThat(fixture.store(1)).isEqualTo(10);
    assertThat(fixture.partition.checkRead(10, 0)).isInstanceOf(ReadCheck.Ready.class);
  }

  @Test
  void nothingAboveTheCommittedEnd() {
    fixture.store(10);
    fixture.produce(Batches.plain(5, 20));
    CompletableFuture<DeleteRecordsResult> deletion = delete(11);
    assertThat(code(deletion)).isEqualTo(ErrorCode.OFFSET_OUT_OF_RANGE);
    assertThat(deletion.join().getError().getText()).contains("11").contains("10");

    fixture.raft.quorumContact = false;
    assertThat(code(delete(11))).isEqualTo(ErrorCode.NOT_READY);
    assertThat(code(delete(-1))).isEqualTo(ErrorCode.MALFORMED_REQUEST);
  }

  @Test
  void onlyALeaderThatHasStarted() {
    fixture.store(10);
    fixture.raft.stepDown(2, 0);
    assertThat(code(delete(5))).isEqualTo(ErrorCode.NOT_LEADER);
  }

  @Test
  void aMoveWhoseLeaderIsDeposedIsUnknown() {
    fixture.store(10);
    CompletableFuture<DeleteRecordsResult> deletion = delete(5);
    fixture.raft.stepDown(2, 0);
    assertThat(code(deletion)).isEqualTo(ErrorCode.OUTCOME_UNKNOWN);
    assertThat(fixture.partition.logStart()).isZero();
  }

  @Test
  void aMoveInFlightIsAnsweredWhenTheReplicaStops() {
    fixture.store(10);
    CompletableFuture<DeleteRecordsResult> deletion = delete(5);
    fixture.partition.failed("test");
    assertThat(code(deletion)).isEqualTo(ErrorCode.OUTCOME_UNKNOWN);
    assertThat(code(delete(5))).isEqualTo(ErrorCode.STORAGE_ERROR);
  }

  @Test
  void aRejectedMoveIsToldInsideTheCall() {
    fixture.store(10);
    fixture.raft.mode = FakeRaft.Mode.REJECT_NOW;
    assertThat(code(delete(5))).isEqualTo(ErrorCode.NOT_READY);
    fixture.raft.mode = FakeRaft.Mode.ACCEPT;
    CompletableFuture<DeleteRecordsResult> again = delete(5);
    fixture.raft.commitAll();
    assertThat(code(again)).isEqualTo(ErrorCode.NONE);
  }

  @Test
  void theStartIsInTheCheckpoint() {
    fixture.store(10);
    delete(4);
    fixture.raft.commitAll();
    Partition restored = fixture.newPartition();
    restored.restore(fixture.partition.checkpoint(), 3, 1);
    assertThat(restored.logStart()).isEqualTo(4);
    assertThat(restored.committedEnd()).isEqualTo(10);
  }

  // ----------------------------------------------------------------------------------- by limits

  @Test
  void anIdleTopicIsEmptiedInLogTime() throws Exception {
    fixture.store(10);
    Retention retention = new Retention(10_000, 0);
    fixture.clock.millis += 10_999;
    fixture.partition.retain(retention);
    assertThat(fixture.raft.inFlight()).isZero();

    fixture.clock.millis += 1;
    fixture.partition.retain(retention);
    fixture.partition.retain(retention);
    assertThat(fixture.raft.inFlight()).as("one move at a time").isEqualTo(2);
    fixture.raft.commitAll();
    assertThat(controls())
        .containsExactly(ControlType.TIME, ControlType.TIME, ControlType.LOG_START);
    assertThat(fixture.partition.logStart()).isEqualTo(10);

    fixture.clock.millis += 100_000;
    fixture.partition.retain(retention);
    assertThat(fixture.raft.inFlight()).as("an empty topic needs nothing").isZero();
  }

  @Test
  void aMoveThatFailedIsTriedAgain() {
    fixture.store(10);
    fixture.clock.millis += 60_000;
    Retention retention = new Retention(10_000, 0);
    fixture.partition.retain(retention);
    fixture.raft.failInFlight(1, false);
    fixture.raft.commitAll();
    assertThat(fixture.partition.logStart()).isZero();
    // Log time has moved, and this log closes no segment because of its age.
    fixture.clock.millis += 11_000;
    fixture.partition.retain(retention);
    fixture.raft.commitAll();
    assertThat(fixture.partition.logStart()).isEqualTo(10);
  }

  @Test
  void aFollowerDecidesNothing() {
    fixture.store(10);
    fixture.raft.stepDown(2, 0);
    fixture.clock.millis += 60_000;
    fixture.partition.retain(new Retention(10_000, 0));
    assertThat(fixture.raft.inFlight()).isZero();
  }

  @Test
  void aClockThatWentBackKeepsRecordsLonger() {
    fixture.clock.millis += 100_000;
    fixture.store(10);
    fixture.clock.millis += -90_000;
    fixture.partition.retain(new Retention(1000, 0));
    assertThat(fixture.raft.inFlight()).isZero();
  }

  @Test
  void theOldestGoWhenThereIsTooMuch() {
    for (int i = 0; i < 40; i++) {
      fixture.store(1, 200_000);
    }
    List<SegmentStats> segments = fixture.log.prefix().segments();
    assertThat(segments).hasSizeGreaterThan(5);
    long limit = 4_000_000;
    fixture.partition.retain(new Retention(0, limit));
    fixture.raft.commitAll();

    long start = fixture.partition.logStart();
    assertThat(segments).extracting(SegmentStats::baseOffset).contains(start);
    long left =
        segments.stream().filter(s -> s.baseOffset() >= start).mapToLong(SegmentStats::bytes).sum();
    assertThat(left).isBetween(limit * 4 / 5, limit * 81 / 100 + (1 << 20));
  }
}
