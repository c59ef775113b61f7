package io.millrace.tools.records;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.client.error.ClientClosedException;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import org.junit.jupiter.api.Test;

class OutcomesTest {
  private final Outcomes outcomes = new Outcomes();

  @Test
  void eachErrorIsCountedOnceWithItsFirstRecord() {
    outcomes.succeeded();
    outcomes.failed(9, new MillraceException(ErrorCode.NOT_SENT_IN_TIME, "late"));
    outcomes.failed(7, new MillraceException(ErrorCode.NOT_SENT_IN_TIME, "later"));
    outcomes.failed(8, new MillraceException(ErrorCode.DELIVERY_TIMEOUT, "who knows"));

    assertThat(outcomes.done()).isEqualTo(1);
    assertThat(outcomes.notDone()).isEqualTo(2);
    assertThat(outcomes.unknown()).isEqualTo(1);
    assertThat(outcomes.failed()).isEqualTo(3);
    assertThat(outcomes.failures())
        .containsExactlyInAnyOrder(
            new Outcomes.Failure(
                ErrorCode.NOT_SENT_IN_TIME, Outcome.NOT_DONE, 2, 7, "NOT_SENT_IN_TIME: late"),
            new Outcomes.Failure(
                ErrorCode.DELIVERY_TIMEOUT, Outcome.UNKNOWN, 1, 8, "DELIVERY_TIMEOUT: who knows"));
  }

  @Test
  void anUntypedFailureIsUnknownNeverNotDone() {
    outcomes.failed(1, new IllegalStateException("a defect"));

    assertThat(outcomes.unknown()).isEqualTo(1);
    assertThat(outcomes.notDone()).isZero();
  }

  @Test
  void anErrorThatLeavesBothOutcomesIsCountedForEach() {
    outcomes.failed(1, new ClientClosedException("before sending", Outcome.NOT_DONE));
    outcomes.failed(2, new ClientClosedException("after sending", Outcome.UNKNOWN));

    assertThat(outcomes.failures())
        .extracting(Outcomes.Failure::outcome)
        .containsExactly(Outcome.NOT_DONE, Outcome.UNKNOWN);
  }
}
