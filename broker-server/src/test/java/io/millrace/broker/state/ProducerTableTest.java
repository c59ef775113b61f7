package io.millrace.broker.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.Outcome;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class ProducerTableTest {

  private static final long PRODUCER = 7;
  private static final int BATCH = 10;

  private final ProducerTable<String> table = new ProducerTable<>(100);
  private long nextOffset;

  private static BatchId batch(int firstSequence) {
    return batch(firstSequence, 0);
  }

  private static BatchId batch(int firstSequence, int epoch) {
    return new BatchId(
        PRODUCER, (short) epoch, firstSequence, Sequences.plus(firstSequence, BATCH - 1));
  }

  /** Decides as a sequencer does, with the batch's first sequence as its handle. */
  private Decision<String> send(BatchId id, boolean resume) {
    Decision<String> decision = table.decide(id, resume);
    if (decision instanceof Decision.Accept<String>) {
      table.accepted(id, handle(id));
    } else if (decision instanceof Decision.Refuse<String>) {
      table.refused(id);
    }
    return decision;
  }

  private Decision<String> send(BatchId id) {
    return send(id, false);
  }

  /** The same object for the same batch: handles are compared by identity. */
  private static String handle(BatchId id) {
    return (id.epoch() + ":" + id.firstSequence()).intern();
  }

  private void apply(BatchId id, long logTime) {
    table.applied(id, nextOffset, 1, logTime);
    nextOffset += BATCH;
  }

  private void store(int... firstSequences) {
    for (int first : firstSequences) {
      assertAccepted(send(batch(first)));
      apply(batch(first), 0);
    }
  }

  private static void assertAccepted(Decision<String> decision) {
    assertThat(decision).isEqualTo(new Decision.Accept<String>());
  }

  private static void assertRefused(Decision<String> decision, ErrorCode code) {
    assertThat(decision).isInstanceOf(Decision.Refuse.class);
    assertThat(((Decision.Refuse<String>) decision).code()).isEqualTo(code);
  }

  @Nested
  class KnownProducer {

    @Test
    void takesTheNextSequenceWhileEarlierOnesAreInFlight() {
      assertAccepted(send(batch(0)));
      assertAccepted(send(batch(10)));
      assertAccepted(send(batch(20)));
      assertRefused(send(batch(40)), ErrorCode.OUT_OF_ORDER_SEQUENCE);
      assertAccepted(send(batch(30)));
    }

    @Test
    void answersTheLastFiveWithTheirOffsets() {
      store(0, 10, 20, 30, 40, 50);
      for (int first = 10; first <= 50; first += BATCH) {
        assertThat(send(batch(first))).isEqualTo(new Decision.Duplicate<String>(first, 1));
      }
    }

    @Test
    void saysUnknownBelowTheWindowAndGoesOn() {
      store(0, 10, 20, 30, 40, 50);
      Decision<String> decision = send(batch(0));
      assertRefused(decision, ErrorCode.SEQUENCE_BELOW_WINDOW);
      assertThat(ErrorCode.SEQUENCE_BELOW_WINDOW.outcome()).isEqualTo(Outcome.UNKNOWN);
      assertAccepted(send(batch(60)));
    }

    @Test
    void saysUnknownBelowWhatIsInFlightAndGoesOn() {
      assertAccepted(send(batch(0)));
      assertAccepted(send(batch(10)));
      assertRefused(send(batch(5)), ErrorCode.SEQUENCE_BELOW_WINDOW);
      assertAccepted(send(batch(20)));
    }

    @Test
    void neverTakesAnotherCutOfStoredSequencesForADuplicate() {
      store(0, 10);
      assertRefused(
          table.decide(new BatchId(PRODUCER, (short) 0, 10, 14), false),
          ErrorCode.SEQUENCE_BELOW_WINDOW);
      assertRefused(
          table.decide(new BatchId(PRODUCER, (short) 0, 10, 24), false),
          ErrorCode.SEQUENCE_BELOW_WINDOW);
    }

    @Test
    void parksTheRetryOfABatchInFlight() {
      assertAccepted(send(batch(0)));
      assertAccepted(send(batch(10)));
      assertThat(send(batch(0))).isEqualTo(new Decision.DuplicatePending<>(handle(batch(0))));
      assertThat(send(batch(10), true))
          .isEqualTo(new Decision.DuplicatePending<>(handle(batch(10))));
    }

    @Test
    void wrapsToSequenceZero() {
      int last = Integer.MAX_VALUE - BATCH + 1;
      assertAccepted(send(batch(last), true));
      apply(batch(last), 0);
      assertAccepted(send(batch(0)));
      assertAccepted(send(batch(10)));
      assertThat(send(batch(last))).isEqualTo(new Decision.Duplicate<String>(0, 1));
    }

    @Test
    void wrapsInsideABatch() {
      int first = Integer.MAX_VALUE - 4;
      assertAccepted(send(batch(first), true));
      assertThat(batch(first).lastSequence()).isEqualTo(4);
      assertAccepted(send(batch(5)));
    }

    @Test
    void resumeSkipsWhatWasGivenUpButNeverGoesBack() {
      store(0, 10);
      assertRefused(send(batch(50)), ErrorCode.OUT_OF_ORDER_SEQUENCE);
      assertAccepted(send(batch(50), true));
      assertAccepted(send(batch(60)));
      assertRefused(send(batch(20), true), ErrorCode.SEQUENCE_BELOW_WINDOW);
    }
  }

  @Nested
  class UnknownProducer {

    @Test
    void startsAtZeroOrResumes() {
      assertRefused(send(batch(10)), ErrorCode.UNKNOWN_PRODUCER);
      assertAccepted(send(batch(0)));
      table.clearPending();
      assertAccepted(send(batch(70), true));
      assertAccepted(send(batch(80)));
    }

    @Test
    void theFirstRefusedBatchPinsItsSequence() {
      BatchId first = batch(30);
      assertAccepted(table.decide(first, true));
      table.refused(first); // throttled
      assertRefused(send(batch(40)), ErrorCode.OUT_OF_ORDER_SEQUENCE);
      assertRefused(send(batch(50)), ErrorCode.OUT_OF_ORDER_SEQUENCE);
      assertAccepted(send(first, true));
      assertAccepted(send(batch(40)));
    }

    @Test
    void aPinHoldsAgainstSequenceZeroBehindTheWrap() {
      BatchId first = batch(Integer.MAX_VALUE - BATCH + 1);
      table.refused(first);
      assertRefused(send(batch(0)), ErrorCode.OUT_OF_ORDER_SEQUENCE);
      assertAccepted(send(first, true));
      assertAccepted(send(batch(0)));
    }

    @Test
    void sequenceZeroMayComeBehindARefusedLaterOne() {
      assertRefused(send(batch(10)), ErrorCode.UNKNOWN_PRODUCER);
      assertAccepted(send(batch(0)));
      assertAccepted(send(batch(10)));
    }

    @Test
    void isRefusedWhenTooManyAreRemembered() {
      ProducerTable<String> small = new ProducerTable<>(1);
      small.applied(new BatchId(1, (short) 0, 0, 0), 0, 1, 0);
      assertRefused(small.decide(new BatchId(2, (short) 0, 0, 0), false), ErrorCode.THROTTLED);
      assertAccepted(small.decide(new BatchId(1, (short) 0, 1, 1), false));
      assertAccepted(small.decide(new BatchId(1, (short) 1, 0, 0), false));
    }

    @Test
    void pinsOfIdleLanesAreBounded() {
      for (long producer = 0; producer < 2L * ProducerLanes.MAX_IDLE_LANES; producer++) {
        BatchId id = new BatchId(producer, (short) 0, 5, 5);
        assertRefused(table.decide(id, false), ErrorCode.UNKNOWN_PRODUCER);
        table.refused(id);
      }
      assertThat(table.laneCount()).isEqualTo(ProducerLanes.MAX_IDLE_LANES);
    }
  }

  @Nested
  class Epochs {

    @Test
    void anOlderEpochIsFenced() {
      store(0);
      assertAccepted(send(batch(0, 1)));
      assertRefused(send(batch(10, 0)), ErrorCode.PRODUCER_FENCED);
      apply(batch(0, 1), 0);
      assertRefused(send(batch(10, 0)), ErrorCode.PRODUCER_FENCED);
      assertAccepted(send(batch(10, 1)));
    }

    @Test
    void aNewEpochStartsAtZero() {
      store(0, 10);
      assertRefused(send(batch(20, 1)), ErrorCode.UNKNOWN_PRODUCER);
      assertAccepted(send(batch(0, 1)));
    }

    @Test
    void aFencedBatchDoesNotCloseTheLane() {
      store(0);
      assertAccepted(send(batch(0, 1)));
      assertRefused(send(batch(10, 0)), ErrorCode.PRODUCER_FENCED);
      assertAccepted(send(batch(10, 1)));
    }
  }

  @Nested
  class Failures {

    @Test
    void aBatchThatWasNotAppendedMustComeAgainFirst() {
      store(0);
      assertAccepted(send(batch(10)));
      table.failed(batch(10), handle(batch(10)), true);
      assertRefused(send(batch(20)), ErrorCode.OUT_OF_ORDER_SEQUENCE);
      assertAccepted(send(batch(10)));
      assertAccepted(send(batch(20)));
    }

    @Test
    void nothingNewIsTakenUntilTheOthersInFlightAreDecided() {
      store(0);
      assertAccepted(send(batch(10)));
      assertAccepted(send(batch(20)));
      table.failed(batch(10), handle(batch(10)), true);
      assertRefused(send(batch(10)), ErrorCode.OUT_OF_ORDER_SEQUENCE);
      assertRefused(send(batch(30)), ErrorCode.OUT_OF_ORDER_SEQUENCE);
      table.failed(batch(20), handle(batch(20)), true);
      assertAccepted(send(batch(10)));
      assertAccepted(send(batch(20)));
    }

    @Test
    void aBatchOfUnknownOutcomeStaysInFlight() {
      store(0);
      assertAccepted(send(batch(10)));
      table.failed(batch(10), handle(batch(10)), false);
      assertThat(send(batch(10))).isEqualTo(new Decision.DuplicatePending<>(handle(batch(10))));
      assertRefused(send(batch(20)), ErrorCode.OUT_OF_ORDER_SEQUENCE);
      assertThat(table.applied(batch(10), 10, 1, 0)).isEqualTo(handle(batch(10)));
      assertThat(send(batch(10))).isEqualTo(new Decision.Duplicate<String>(10, 1));
      assertAccepted(send(batch(20)));
    }

    @Test
    void aGapInTheLogIsUnknownAndDoesNotCloseTheLaneForGood() {
      store(0);
      assertAccepted(send(batch(10)));
      assertAccepted(send(batch(20)));
      table.failed(batch(10), handle(batch(10)), true);
      apply(batch(20), 0); // raft took the later one: must not happen, must not wedge
      assertRefused(send(batch(10)), ErrorCode.SEQUENCE_BELOW_WINDOW);
      assertAccepted(send(batch(30)));
    }

    @Test
    void afterAnInterruptionOfTheTermNothingNewIsTakenBeforeWhatWasInFlight() {
      store(0);
      assertAccepted(send(batch(10)));
      table.resumed();
      assertRefused(send(batch(20)), ErrorCode.OUT_OF_ORDER_SEQUENCE);
      apply(batch(10), 0);
      assertAccepted(send(batch(20)));
    }

    @Test
    void clearingReturnsWhatWasInFlight() {
      store(0);
      assertAccepted(send(batch(10)));
      assertAccepted(send(batch(20)));
      assertThat(table.clearPending()).containsExactly(handle(batch(10)), handle(batch(20)));
      assertThat(table.laneCount()).isZero();
      assertAccepted(send(batch(10)));
    }

    @Test
    void aLateFailureOfAClearedBatchChangesNothing() {
      assertAccepted(send(batch(0)));
      table.clearPending();
      assertAccepted(send(batch(0)));
      table.failed(batch(0), "another handle", true);
      assertAccepted(send(batch(10)));
    }
  }

  @Nested
  class Expiry {

    @Test
    void forgetsByLogTimeOnly() {
      assertAccepted(send(batch(0)));
      apply(batch(0), 1_000);
      table.applied(new BatchId(8, (short) 0, 0, 0), 10, 1, 2_000);
      assertThat(table.oldestLogTime()).isEqualTo(1_000);
      assertThat(table.expire(1_000)).isZero();
      assertThat(table.expire(1_001)).isEqualTo(1);
      assertThat(table.size()).isEqualTo(1);
      assertThat(table.oldestLogTime()).isEqualTo(2_000);
    }

    @Test
    void aNewerBatchKeepsAProducer() {
      assertAccepted(send(batch(0)));
      apply(batch(0), 1_000);
      table.applied(new BatchId(8, (short) 0, 0, 0), 10, 1, 1_500);
      assertAccepted(send(batch(10)));
      apply(batch(10), 2_000);
      assertThat(table.expire(2_000)).isEqualTo(1);
      assertThat(send(batch(0))).isInstanceOf(Decision.Duplicate.class);
    }

    @Test
    void aLookDoesNotKeepAProducer() {
      apply(batch(0), 1_000);
      table.applied(new BatchId(8, (short) 0, 0, 0), 10, 1, 1_500);
      send(batch(0));
      assertThat(table.expire(1_200)).isEqualTo(1);
      assertRefused(send(batch(10)), ErrorCode.UNKNOWN_PRODUCER);
    }
  }

  @Test
  void theImageHoldsTheCommittedPartAndIsTheSameForAnyOrderOfProducers() {
    apply(batch(0), 5);
    table.applied(new BatchId(3, (short) 2, 40, 44), 10, 6, 5);
    assertAccepted(send(batch(10))); // in flight: not part of it

    ProducerTable<String> other = new ProducerTable<>(100);
    other.applied(new BatchId(3, (short) 2, 40, 44), 10, 6, 5);
    other.applied(batch(0), 0, 1, 5);
    assertThat(other.toImage()).isEqualTo(table.toImage());

    ProducerTable<String> restored = new ProducerTable<>(100);
    restored.restore(table.toImage());
    assertThat(restored.toImage()).isEqualTo(table.toImage());
    assertThat(restored.decide(batch(0), false)).isEqualTo(new Decision.Duplicate<String>(0, 1));
    assertThat(restored.decide(new BatchId(3, (short) 2, 40, 44), false))
        .isEqualTo(new Decision.Duplicate<String>(10, 6));
    assertAccepted(restored.decide(batch(10), false));
  }
}
