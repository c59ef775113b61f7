package io.millrace.broker.partition;

import static io.millrace.broker.partition.SequencerFixture.ID;
import static io.millrace.broker.partition.SequencerFixture.batch;
import static io.millrace.broker.partition.SequencerFixture.code;
import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.partition.PartitionCounters.Counter;
import io.millrace.broker.state.BatchId;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.Outcome;
import io.millrace.protocol.message.FsyncPolicy;
import io.millrace.protocol.message.ProduceResult;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(10)
class SequencerTest {

  private static final long PRODUCER = 42;

  private SequencerFixture fixture = new SequencerFixture();

  @AfterEach
  void nothingLeaks() {
    fixture.sequencer.stop(ErrorCode.SHUTTING_DOWN.toInfo("test ends"));
    assertThat(fixture.budget.usedBytes()).isZero();
    assertThat(fixture.sequencer.inFlightBytes()).isZero();
    assertThat(fixture.faults).isEmpty();
  }

  private CompletableFuture<ProduceResult> send(BatchId id) {
    return fixture.send(id);
  }

  // -------------------------------------------------------------------------------- receipts

  @Test
  void aReceiptNamesOffsetTermAndPolicyAndComesWhenTheEntryIsApplied() {
    fixture.raft.lead(5);
    CompletableFuture<ProduceResult> first = send(batch(PRODUCER, 0, 3));
    CompletableFuture<ProduceResult> second = fixture.send(Batches.plain(2, 10));
    assertThat(first).isNotDone();
    fixture.raft.commit(2); // TIME and the first batch
    assertThat(second).isNotDone();
    fixture.raft.commitAll();
    assertThat(first.join())
        .isEqualTo(
            ProduceResult.newBuilder()
                .setBaseOffset(0)
                .setTerm(5)
                .setFsync(FsyncPolicy.FSYNC_ALWAYS)
                .build());
    assertThat(second.join().getBaseOffset()).isEqualTo(3);
    assertThat(fixture.counters.value(Counter.BATCHES_ACKNOWLEDGED)).isEqualTo(2);
  }

  @Test
  void receiptsComeInTheOrderOfTheLog() {
    fixture.raft.lead(1);
    List<Long> offsets = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      send(batch(PRODUCER, i * 2, 2)).thenAccept(r -> offsets.add(r.getBaseOffset()));
    }
    fixture.raft.commitAll();
    assertThat(offsets).containsExactly(0L, 2L, 4L, 6L, 8L);
  }

  @Test
  void aRetryOfAStoredBatchGetsItsOffsetAndTerm() {
    fixture.raft.lead(1);
    send(batch(PRODUCER, 0, 2));
    fixture.raft.commitAll();
    fixture.raft.stepDown(2, 0);
    fixture.raft.lead(4);
    CompletableFuture<ProduceResult> retry = send(batch(PRODUCER, 0, 2));
    assertThat(retry.join().getBaseOffset()).isZero();
    assertThat(retry.join().getTerm()).isEqualTo(1);
    assertThat(retry.join().getDuplicate()).isTrue();
    assertThat(fixture.stored()).hasSize(1);
    assertThat(fixture.counters.value(Counter.DUPLICATES_ANSWERED)).isEqualTo(1);
  }

  @Test
  void aRetryOfABatchInFlightGetsTheSameOutcome() {
    fixture.raft.lead(1);
    CompletableFuture<ProduceResult> first = send(batch(PRODUCER, 0, 2));
    CompletableFuture<ProduceResult> retry = send(batch(PRODUCER, 0, 2));
    assertThat(retry).isNotDone();
    fixture.raft.commitAll();
    assertThat(first.join().getDuplicate()).isFalse();
    assertThat(retry.join().getDuplicate()).isTrue();
    assertThat(retry.join().getBaseOffset()).isZero();
    assertThat(fixture.stored()).hasSize(1);
  }

  @Test
  void parkedRetriesAreBounded() {
    fixture.raft.lead(1);
    send(batch(PRODUCER, 0, 2));
    List<CompletableFuture<ProduceResult>> retries = new ArrayList<>();
    for (int i = 0; i <= Proposal.OfRecords.MAX_PARKED; i++) {
      retries.add(send(batch(PRODUCER, 0, 2)));
    }
    assertThat(code(retries.get(Proposal.OfRecords.MAX_PARKED)))
        .isEqualTo(ErrorCode.OUTCOME_UNKNOWN);
    fixture.raft.commitAll();
    assertThat(retries.subList(0, Proposal.OfRecords.MAX_PARKED))
        .allSatisfy(retry -> assertThat(code(retry)).isEqualTo(ErrorCode.NONE));
  }

  @Test
  void aReceiverThatThrowsHurtsNobody() {
    fixture.raft.lead(1);
    ByteBuffer bad = Batches.of(batch(PRODUCER, 0, 2), 10);
    fixture.sequencer.produce(
        Batches.request(ID, bad).build(),
        bad,
        r -> {
          throw new IllegalStateException("thrown by the test's receiver");
        });
    CompletableFuture<ProduceResult> next = send(batch(PRODUCER, 2, 2));
    fixture.raft.commitAll();
    assertThat(next.join().getBaseOffset()).isEqualTo(2);
  }

  // ---------------------------------------------------------------------------------- checks

  @Test
  void whatIsNotABatchForThisPartitionIsRefusedAndNothingIsProposed() {
    fixture.raft.lead(1);
    ByteBuffer batch = Batches.of(batch(PRODUCER, 0, 2), 10);
    assertThat(code(fixture.send(Batches.request(ID, batch).setPartition(4), batch)))
        .isEqualTo(ErrorCode.UNKNOWN_PARTITION);
    assertThat(
            code(
                fixture.send(
                    Batches.request(ID, batch).setTopicId(PartitionId.toBytes(new UUID(9, 9))),
                    batch)))
        .isEqualTo(ErrorCode.UNKNOWN_PARTITION);
    assertThat(code(fixture.send(Batches.request(ID, batch).setSize(5), batch)))
        .isEqualTo(ErrorCode.MALFORMED_REQUEST);
    assertThat(code(fixture.send(Batches.request(ID, batch).setCrc(5), batch)))
        .isEqualTo(ErrorCode.CORRUPT_BATCH);
    ByteBuffer flipped = Batches.of(batch(PRODUCER, 0, 2), 10);
    flipped.put(70, (byte) (flipped.get(70) ^ 1));
    assertThat(code(fixture.send(flipped))).isEqualTo(ErrorCode.CORRUPT_BATCH);
    ByteBuffer magic1 = Batches.of(batch(PRODUCER, 0, 2), 10);
    magic1.put(BatchHeader.MAGIC_OFFSET, (byte) 1);
    assertThat(code(fixture.send(magic1))).isEqualTo(ErrorCode.UNSUPPORTED_MAGIC);
    assertThat(code(fixture.send(ControlBatch.encode((short) 1007, new byte[3]))))
        .isEqualTo(ErrorCode.INVALID_BATCH);
    assertThat(code(fixture.send(Batches.plain(1, 1024 * 1024))))
        .isEqualTo(ErrorCode.RECORD_TOO_LARGE);
    assertThat(fixture.raft.proposals()).isZero();
    assertThat(fixture.counters.producesRefused(ErrorCode.CORRUPT_BATCH)).isEqualTo(2);
  }

  // ------------------------------------------------------------------------------ leadership

  @Test
  void aFollowerNamesTheLeaderAndAnElectedLeaderWaitsForItsStart() {
    fixture.raft.lead(1);
    fixture.raft.stepDown(3, 0);
    CompletableFuture<ProduceResult> atFollower = send(batch(PRODUCER, 0, 1));
    assertThat(code(atFollower)).isEqualTo(ErrorCode.NOT_LEADER);
    assertThat(atFollower.join().getError().getLeader().getBrokerId()).isEqualTo(3);
    assertThat(atFollower.join().getError().getLeader().getTerm()).isEqualTo(2);
    fixture.raft.elect(4);
    assertThat(code(send(batch(PRODUCER, 0, 1)))).isEqualTo(ErrorCode.NOT_READY);
    fixture.raft.lead(4);
    assertThat(send(batch(PRODUCER, 0, 1))).isNotDone();
  }

  @Test
  void aRequestOfAnotherTermIsRefusedAndClosesTheLane() {
    fixture.raft.lead(5);
    ByteBuffer batch = Batches.of(batch(PRODUCER, 0, 1), 10);
    assertThat(code(fixture.send(Batches.request(ID, batch).setExpectedTerm(4), batch)))
        .isEqualTo(ErrorCode.STALE_TERM);
    assertThat(code(send(batch(PRODUCER, 1, 1)))).isEqualTo(ErrorCode.OUT_OF_ORDER_SEQUENCE);
    assertThat(fixture.send(Batches.request(ID, batch).setExpectedTerm(5), batch)).isNotDone();
  }

  @Test
  void aStepDownMakesTheOutcomeUnknownAndTheRetryFindsIt() {
    fixture.raft.lead(1);
    CompletableFuture<ProduceResult> survives = send(batch(PRODUCER, 0, 1));
    CompletableFuture<ProduceResult> isLost = send(batch(PRODUCER, 1, 1));
    fixture.raft.stepDown(2, 2); // TIME and the first
    assertThat(code(survives)).isEqualTo(ErrorCode.OUTCOME_UNKNOWN);
    assertThat(code(isLost)).isEqualTo(ErrorCode.OUTCOME_UNKNOWN);
    assertThat(ErrorCode.OUTCOME_UNKNOWN.outcome()).isEqualTo(Outcome.UNKNOWN);
    fixture.raft.lead(3);
    assertThat(send(batch(PRODUCER, 0, 1)).join().getDuplicate()).isTrue();
    CompletableFuture<ProduceResult> again = send(batch(PRODUCER, 1, 1));
    fixture.raft.commitAll();
    assertThat(again.join().getBaseOffset()).isEqualTo(1);
    assertThat(again.join().getDuplicate()).isFalse();
    assertThat(fixture.counters.value(Counter.OUTCOMES_UNKNOWN)).isEqualTo(2);
  }

  @Test
  void aProposalThatCertainlyFailedIsNotDone() {
    fixture.raft.lead(1);
    send(batch(PRODUCER, 0, 1));
    fixture.raft.commitAll();
    fixture.raft.mode = FakeRaft.Mode.REJECT_NOW;
    CompletableFuture<ProduceResult> rejected = send(batch(PRODUCER, 1, 1));
    assertThat(code(rejected)).isEqualTo(ErrorCode.NOT_READY);
    assertThat(ErrorCode.NOT_READY.outcome()).isEqualTo(Outcome.NOT_DONE);
    fixture.raft.mode = FakeRaft.Mode.ACCEPT;
    assertThat(code(send(batch(PRODUCER, 2, 1)))).isEqualTo(ErrorCode.OUT_OF_ORDER_SEQUENCE);
    assertThat(send(batch(PRODUCER, 1, 1))).isNotDone();
  }

  @Test
  void aBatchToldUnknownThatIsAppliedAfterAllAnswersItsRetry() {
    fixture.raft.lead(1);
    fixture.raft.mode = FakeRaft.Mode.REJECT_NOW;
    fixture.raft.rejectionIsCertain = false;
    BatchId id = batch(PRODUCER, 0, 1);
    assertThat(code(send(id))).isEqualTo(ErrorCode.OUTCOME_UNKNOWN);
    fixture.raft.mode = FakeRaft.Mode.ACCEPT;
    CompletableFuture<ProduceResult> retry = send(id);
    assertThat(retry).isNotDone();
    assertThat(code(send(batch(PRODUCER, 1, 1)))).isEqualTo(ErrorCode.OUT_OF_ORDER_SEQUENCE);
    fixture.raft.commitForeign(Batches.of(id, 10));
    assertThat(retry.join().getDuplicate()).isTrue();
    assertThat(send(batch(PRODUCER, 1, 1))).isNotDone();
  }

  @Test
  void aBatchToldUnknownEndsWithTheTermForItsRetry() {
    fixture.raft.lead(1);
    fixture.raft.mode = FakeRaft.Mode.REJECT_NOW;
    fixture.raft.rejectionIsCertain = false;
    send(batch(PRODUCER, 0, 1));
    CompletableFuture<ProduceResult> retry = send(batch(PRODUCER, 0, 1));
    assertThat(retry).isNotDone();
    fixture.raft.mode = FakeRaft.Mode.ACCEPT;
    fixture.raft.stepDown(2, 0);
    assertThat(code(retry)).isEqualTo(ErrorCode.OUTCOME_UNKNOWN);
    fixture.raft.lead(3);
    assertThat(send(batch(PRODUCER, 0, 1))).isNotDone();
  }

  @Test
  void aFailureThatComesLateOrTwiceChangesNothing() {
    fixture.raft.lead(1);
    fixture.raft.mode = FakeRaft.Mode.REJECT_LATER;
    CompletableFuture<ProduceResult> result = send(batch(PRODUCER, 0, 1));
    assertThat(result).isNotDone();
    fixture.raft.mode = FakeRaft.Mode.ACCEPT;
    fixture.raft.stepDown(2, 0);
    fixture.raft.lead(3); // the new term answers what raft has not
    assertThat(code(result)).isEqualTo(ErrorCode.OUTCOME_UNKNOWN);
    CompletableFuture<ProduceResult> again = send(batch(PRODUCER, 0, 1));
    fixture.raft.tellRejected();
    assertThat(again).isNotDone();
    fixture.raft.commitAll();
    assertThat(again.join().getBaseOffset()).isZero();
  }

  @Test
  void proposeThatThrowsIsReportedAndUnknown() {
    fixture.raft.lead(1);
    fixture.raft.mode = FakeRaft.Mode.THROW;
    assertThat(code(send(batch(PRODUCER, 0, 1)))).isEqualTo(ErrorCode.OUTCOME_UNKNOWN);
    assertThat(fixture.faults).hasSize(2); // TIME and the batch
    fixture.faults.clear();
  }

  @Test
  void stopAnswersEverything() {
    fixture.raft.lead(1);
    CompletableFuture<ProduceResult> inFlight = send(batch(PRODUCER, 0, 1));
    CompletableFuture<ProduceResult> parked = send(batch(PRODUCER, 0, 1));
    fixture.sequencer.stop(ErrorCode.SHUTTING_DOWN.toInfo("stopping"));
    assertThat(code(inFlight)).isEqualTo(ErrorCode.OUTCOME_UNKNOWN);
    assertThat(code(parked)).isEqualTo(ErrorCode.OUTCOME_UNKNOWN);
    assertThat(code(send(batch(PRODUCER, 1, 1)))).isEqualTo(ErrorCode.SHUTTING_DOWN);
    fixture.raft.lead(2);
    assertThat(code(send(batch(PRODUCER, 1, 1)))).isEqualTo(ErrorCode.SHUTTING_DOWN);
    fixture.raft.commitAll(); // late: no second answer
  }

  // -------------------------------------------------------------------------------- admission

  @Test
  void aFullPartitionThrottlesAndTakesAgainWhatComesNext() {
    fixture.raft.lead(1);
    ByteBuffer large = Batches.of(batch(PRODUCER, 0, 1), 4000);
    assertThat(fixture.send(large)).isNotDone();
    ByteBuffer second = Batches.of(batch(PRODUCER, 1, 1), 200);
    CompletableFuture<ProduceResult> throttled = fixture.send(second);
    assertThat(code(throttled)).isEqualTo(ErrorCode.THROTTLED);
    assertThat(throttled.join().getError().getText()).contains("4096 bytes", "2 of 16 entries");
    assertThat(code(send(batch(PRODUCER, 2, 1)))).isEqualTo(ErrorCode.OUT_OF_ORDER_SEQUENCE);
    fixture.raft.commitAll();
    assertThat(code(send(batch(PRODUCER, 2, 1)))).isEqualTo(ErrorCode.OUT_OF_ORDER_SEQUENCE);
    assertThat(fixture.send(second)).isNotDone();
    assertThat(fixture.counters.producesRefused(ErrorCode.THROTTLED)).isEqualTo(1);
  }

  @Test
  void entriesInFlightAreBounded() {
    fixture.raft.lead(1);
    int taken = 0;
    while (!fixture.send(Batches.plain(1, 1)).isDone()) {
      taken++;
    }
    assertThat(fixture.raft.inFlight())
        .isEqualTo(taken + 1)
        .isLessThanOrEqualTo(SequencerFixture.SETTINGS.maxPendingEntries());
  }

  @Test
  void aBatchLargerThanAllBudgetsPassesAlone() {
    fixture =
        new SequencerFixture(
            new PartitionSettings(1 << 20, FsyncPolicy.FSYNC_OS, 100, 16, 1000, 10), 100);
    fixture.raft.lead(1);
    CompletableFuture<ProduceResult> alone = fixture.send(Batches.plain(1, 10_000));
    assertThat(alone).isNotDone();
    assertThat(code(fixture.send(Batches.plain(1, 1)))).isEqualTo(ErrorCode.THROTTLED);
    fixture.raft.commitAll();
    assertThat(alone.join().getFsync()).isEqualTo(FsyncPolicy.FSYNC_OS);
    assertThat(fixture.send(Batches.plain(1, 1))).isNotDone();
  }

  @Test
  void theBudgetOfTheBrokerIsSharedAndGivenBack() {
    fixture = new SequencerFixture(SequencerFixture.SETTINGS, 1000);
    assertThat(fixture.budget.tryAcquire(900)).isTrue(); // another partition
    fixture.raft.lead(1);
    CompletableFuture<ProduceResult> throttled = fixture.send(Batches.plain(1, 100));
    assertThat(code(throttled)).isEqualTo(ErrorCode.THROTTLED);
    assertThat(throttled.join().getError().getText()).contains("900 of 1000 bytes of this broker");
    fixture.budget.release(900);
    fixture.send(Batches.plain(1, 100));
    assertThat(fixture.budget.usedBytes()).isPositive();
    fixture.raft.stepDown(2, 0);
    assertThat(fixture.budget.usedBytes()).isZero();
  }

  /** Design review A10.2. */
  @Test
  void a10_2_afterAThrottledFirstBatchOfAnUnknownProducerTheSecondDoesNotGetIn() {
    fixture.raft.lead(1);
    assertThat(fixture.send(Batches.plain(1, 4000))).isNotDone();
    BatchId first = batch(PRODUCER, 0, 10);
    BatchId second = batch(PRODUCER, 10, 10);
    ByteBuffer firstBatch = Batches.of(first, 100);
    assertThat(code(fixture.send(firstBatch))).isEqualTo(ErrorCode.THROTTLED);
    fixture.raft.commitAll(); // there is room again
    assertThat(code(send(second))).isEqualTo(ErrorCode.OUT_OF_ORDER_SEQUENCE);
    CompletableFuture<ProduceResult> retry = fixture.send(firstBatch);
    CompletableFuture<ProduceResult> secondRetry = send(second);
    fixture.raft.commitAll();
    assertThat(retry.join().getDuplicate()).isFalse();
    assertThat(retry.join().getBaseOffset()).isEqualTo(1);
    assertThat(secondRetry.join().getBaseOffset()).isEqualTo(11);
    assertThat(fixture.stored().subList(1, 3)).containsExactly(first, second);
  }

  // --------------------------------------------------------------------------------- transfer

  /** Design review A10.1. */
  @Test
  void a10_1_aTransferBetweenTwoBatchesInFlightLetsNoLaterBatchOvertake() {
    fixture.raft.lead(1);
    CompletableFuture<ProduceResult> first = send(batch(PRODUCER, 0, 1));
    CompletableFuture<Void> drained = fixture.sequencer.closeForTransfer();
    assertThat(drained).isNotDone();
    CompletableFuture<ProduceResult> second = send(batch(PRODUCER, 1, 1));
    assertThat(code(second)).isEqualTo(ErrorCode.NOT_READY);
    fixture.raft.commitAll();
    assertThat(first.join().getBaseOffset()).isZero();
    assertThat(drained).isCompleted();
    fixture.raft.transferLeadership(2);
    assertThat(code(send(batch(PRODUCER, 1, 1)))).isEqualTo(ErrorCode.NOT_LEADER);
    fixture.raft.transferFailed(); // the same term goes on
    assertThat(fixture.raft.rejected()).as("nothing for raft to reject").isZero();

    CompletableFuture<ProduceResult> third = send(batch(PRODUCER, 2, 1));
    assertThat(code(third)).isEqualTo(ErrorCode.OUT_OF_ORDER_SEQUENCE);
    CompletableFuture<ProduceResult> secondRetry = send(batch(PRODUCER, 1, 1));
    CompletableFuture<ProduceResult> thirdRetry = send(batch(PRODUCER, 2, 1));
    fixture.raft.commitAll();
    assertThat(secondRetry.join().getBaseOffset()).isEqualTo(1);
    assertThat(thirdRetry.join().getBaseOffset()).isEqualTo(2);
  }

  /** The same with a raft that transfers by itself: what it rejected is not overtaken either. */
  @Test
  void a10_1_afterAnUndrainedTransferNothingIsTakenBeforeTheRejectionsAreKnown() {
    fixture.raft.lead(1);
    send(batch(PRODUCER, 0, 1));
    fixture.raft.commitAll();
    fixture.raft.mode = FakeRaft.Mode.REJECT_LATER; // it transfers, and has not told us yet
    CompletableFuture<ProduceResult> second = send(batch(PRODUCER, 1, 1));
    fixture.raft.beginTransfer();
    fixture.raft.transferFailed();
    assertThat(code(send(batch(PRODUCER, 2, 1)))).isEqualTo(ErrorCode.OUT_OF_ORDER_SEQUENCE);
    assertThat(second).isNotDone();
    fixture.raft.tellRejected();
    assertThat(code(second)).isEqualTo(ErrorCode.NOT_READY);
    assertThat(code(send(batch(PRODUCER, 2, 1)))).isEqualTo(ErrorCode.OUT_OF_ORDER_SEQUENCE);
    send(batch(PRODUCER, 1, 1));
    send(batch(PRODUCER, 2, 1));
    fixture.raft.commitAll();
    assertThat(fixture.stored())
        .containsExactly(batch(PRODUCER, 0, 1), batch(PRODUCER, 1, 1), batch(PRODUCER, 2, 1));
  }

  @Test
  void aTransferOfAnIdlePartitionIsDrainedAtOnceAndCanBeUndone() {
    fixture.raft.lead(1);
    assertThat(fixture.sequencer.closeForTransfer()).isCompleted();
    assertThat(code(send(batch(PRODUCER, 0, 1)))).isEqualTo(ErrorCode.NOT_READY);
    fixture.sequencer.reopenAfterNoTransfer();
    assertThat(send(batch(PRODUCER, 0, 1))).isNotDone();
  }

  @Test
  void losingLeadershipEndsTheDrain() {
    fixture.raft.lead(1);
    send(batch(PRODUCER, 0, 1));
    CompletableFuture<Void> drained = fixture.sequencer.closeForTransfer();
    CompletableFuture<Void> twice = fixture.sequencer.closeForTransfer();
    fixture.raft.stepDown(2, 0);
    assertThat(drained).isCompleted();
    assertThat(twice).isCompleted();
    assertThat(fixture.sequencer.closeForTransfer()).isCompleted();
    fixture.raft.lead(3);
    assertThat(send(batch(PRODUCER, 0, 1))).isNotDone();
  }

  // --------------------------------------------------------------------------------- log time

  @Test
  void timeComesBeforeTheFirstBatchAndThenOnceASecond() throws Exception {
    fixture.raft.lead(1);
    send(batch(PRODUCER, 0, 1));
    fixture.clock.millis += 999;
    send(batch(PRODUCER, 1, 1));
    assertThat(fixture.raft.inFlight()).isEqualTo(3);
    fixture.clock.millis += 1;
    send(batch(PRODUCER, 2, 1));
    fixture.raft.commitAll();
    assertThat(fixture.storedControl()).containsExactly(ControlType.TIME, ControlType.TIME);
    assertThat(BatchHeader.isControl(fixture.raft.committed().get(0).batch(), 0)).isTrue();
    assertThat(fixture.state.logTime()).isEqualTo(TestClock.START + 1000);
  }

  @Test
  void logTimeNeverDecreasesAndWaitsForASlowClock() throws Exception {
    fixture.raft.lead(1);
    send(batch(PRODUCER, 0, 1));
    fixture.raft.commitAll();
    fixture.clock.millis -= 60_000;
    fixture.raft.stepDown(2, 0);
    fixture.raft.lead(3);
    send(batch(PRODUCER, 1, 1));
    fixture.raft.commitAll();
    assertThat(fixture.storedControl()).containsExactly(ControlType.TIME);
    assertThat(fixture.state.logTime()).isEqualTo(TestClock.START);
    fixture.clock.millis += 61_000;
    send(batch(PRODUCER, 2, 1));
    fixture.raft.commitAll();
    assertThat(fixture.state.logTime()).isEqualTo(TestClock.START + 1000);
  }

  @Test
  void aTimeEntryThatWasLostIsProposedAgain() throws Exception {
    fixture.raft.lead(1);
    send(batch(PRODUCER, 0, 1));
    fixture.raft.failInFlight(0, true); // TIME only
    send(batch(PRODUCER, 1, 1));
    fixture.raft.commitAll();
    assertThat(fixture.storedControl()).containsExactly(ControlType.TIME);
  }

  @Test
  void aRefusedBatchProposesNoTime() {
    fixture.raft.lead(1);
    assertThat(code(send(batch(PRODUCER, 5, 1)))).isEqualTo(ErrorCode.UNKNOWN_PRODUCER);
    assertThat(fixture.raft.proposals()).isZero();
  }

  @Test
  void idleProducersAreForgottenThroughTheLogAndResume() throws Exception {
    fixture.raft.lead(1);
    send(batch(PRODUCER, 0, 1));
    fixture.raft.commitAll();
    fixture.clock.millis += SequencerFixture.SETTINGS.producerExpiryMillis();
    fixture.send(Batches.plain(1, 10));
    fixture.raft.commitAll();
    assertThat(fixture.state.producers().size()).as("not later than the limit").isEqualTo(1);
    fixture.clock.millis += 1000;
    fixture.send(Batches.plain(1, 10));
    fixture.send(Batches.plain(1, 10));
    fixture.raft.commitAll();
    assertThat(fixture.storedControl())
        .containsExactly(
            ControlType.TIME, ControlType.TIME, ControlType.TIME, ControlType.PRODUCER_EXPIRE);
    assertThat(fixture.state.producers().size()).isZero();
    assertThat(fixture.counters.value(Counter.PRODUCERS_EXPIRED)).isEqualTo(1);
    assertThat(code(send(batch(PRODUCER, 1, 1)))).isEqualTo(ErrorCode.UNKNOWN_PRODUCER);
    CompletableFuture<ProduceResult> resumed = fixture.resume(batch(PRODUCER, 1, 1));
    fixture.raft.commitAll();
    assertThat(code(resumed)).isEqualTo(ErrorCode.NONE);
  }

  @Test
  void aBatchBehindTheExpiryOfItsOwnProducerIsStored() {
    fixture.raft.lead(1);
    send(batch(PRODUCER, 0, 1));
    fixture.raft.commitAll();
    fixture.clock.millis += SequencerFixture.SETTINGS.producerExpiryMillis() + 1000;
    CompletableFuture<ProduceResult> late = send(batch(PRODUCER, 1, 1));
    CompletableFuture<ProduceResult> next = send(batch(PRODUCER, 2, 1));
    fixture.raft.commitAll();
    assertThat(code(late)).isEqualTo(ErrorCode.NONE);
    assertThat(code(next)).isEqualTo(ErrorCode.NONE);
    assertThat(fixture.state.producers().size()).isEqualTo(1);
  }
}
