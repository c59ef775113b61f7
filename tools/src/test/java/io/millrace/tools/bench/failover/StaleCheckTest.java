package io.millrace.tools.bench.failover;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.tools.bench.failover.AckLog.Ack;
import io.millrace.tools.bench.failover.StaleLeaderProbe.Answer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StaleCheckTest {
  private static final long OLD = 4;
  private static final long NEW = 5;

  /** The new leader's first: at time 1000, offset 50. */
  private static final Ack FIRST = new Ack(1_000, 600, 50, NEW, false);

  private static final Ack BEFORE = new Ack(500, 495, 10, OLD, false);

  private static StaleCheck.Result judge(Ack... more) {
    var acks = new ArrayList<>(List.of(BEFORE, FIRST));
    acks.addAll(List.of(more));
    return StaleCheck.judge(acks, OLD, 0, List.of());
  }

  @Test
  void receiptsInOrderOfTermsAreFine() {
    assertThat(judge(new Ack(1_100, 1_090, 51, NEW, false)))
        .isEqualTo(new StaleCheck.Result(0, 0, 0, 0, 0, 0));
  }

  @Test
  void aLateReceiptOfWhatWasStoredBeforeIsTrue() {
    StaleCheck.Result result = judge(new Ack(1_500, 505, 11, OLD, false));

    assertThat(result.lateReceipts()).isEqualTo(1);
    assertThat(result.violations()).isZero();
  }

  @Test
  void anOldTermForARecordSentAfterTheNewLeadersFirstIsAViolation() {
    assertThat(judge(new Ack(1_500, 1_001, 49, OLD, false)).violations()).isEqualTo(1);
  }

  @Test
  void anOldTermAtAnOffsetOfTheNewLeaderIsAViolation() {
    assertThat(judge(new Ack(1_500, 505, 50, OLD, false)).violations()).isEqualTo(1);
  }

  @Test
  void aRepetitionCarriesTheTermOfItsFirstAttempt() {
    StaleCheck.Result result = judge(new Ack(1_001, 505, 11, OLD, true));

    assertThat(result.lateReceipts()).isZero();
    assertThat(result.violations()).isZero();
    assertThat(StaleCheck.firstOfNewLeader(List.of(new Ack(900, 1, 2, NEW, true), FIRST), OLD))
        .contains(FIRST);
  }

  @Test
  void withoutANewLeaderNothingIsStale() {
    var result =
        StaleCheck.judge(List.of(BEFORE, new Ack(9_000, 400, 11, OLD, false)), OLD, 0, List.of());

    assertThat(result.lateReceipts()).isZero();
    assertThat(result.violations()).isZero();
  }

  @Test
  void theOldLeadersAnswersAreCountedByOutcome() {
    var result =
        StaleCheck.judge(
            List.of(BEFORE, FIRST),
            OLD,
            6,
            List.of(
                new Answer(ErrorCode.NOT_LEADER, 0, -1),
                new Answer(ErrorCode.NOT_LEADER, 0, -1),
                new Answer(ErrorCode.OUTCOME_UNKNOWN, 0, -1),
                new Answer(ErrorCode.NONE, OLD, 12),
                new Answer(ErrorCode.NONE, NEW + 1, 90)));

    assertThat(result).isEqualTo(new StaleCheck.Result(6, 1, 2, 2, 0, 1));
  }
}
