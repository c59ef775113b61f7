package io.millrace.tools.records;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.client.error.DeliveryTimeoutException;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import org.junit.jupiter.api.Test;

class ProduceCommandTest {
  private final Outcomes outcomes = new Outcomes();

  @Test
  void withoutALeaderThatAndWhereToLookComeFirst() {
    outcomes.succeeded();
    outcomes.failed(
        2,
        new DeliveryTimeoutException(
            false,
            "no leader for orders-11 within 60000 ms; 1 record was not stored; last: no leader is"
                + " known for orders-11"));

    assertThat(ProduceCommand.failureText(outcomes, 2))
        .isEqualTo(
            "no leader for orders-11 within 60000 ms; see: millrace cluster status (1 of 2 records"
                + " failed: 1 done, 1 not done, 0 unknown; lines after 2 were not sent; line 2: 1"
                + " record was not stored; last: no leader is known for orders-11)");
  }

  @Test
  void anUnknownOutcomeIsToldTheSameWay() {
    outcomes.failed(
        1,
        new DeliveryTimeoutException(
            true, "1 record for t-0 was sent, but not acknowledged within 300 ms"));

    assertThat(ProduceCommand.failureText(outcomes, 1))
        .isEqualTo(
            "1 record for t-0 was sent, but not acknowledged within 300 ms; see: millrace cluster"
                + " status (1 of 1 record failed: 0 done, 0 not done, 1 unknown; lines after 1 were"
                + " not sent; line 1)");
  }

  @Test
  void ofARefusedRecordTheCountsAndTheReasonAreTold() {
    outcomes.failed(2, new MillraceException(ErrorCode.RECORD_TOO_LARGE, "it has 3000 bytes"));
    outcomes.failed(3, new DeliveryTimeoutException(false, "later"));

    assertThat(ProduceCommand.failureText(outcomes, 3))
        .isEqualTo(
            "2 of 3 records failed: 0 done, 2 not done, 0 unknown; lines after 3 were not sent."
                + " First error: line 2: RECORD_TOO_LARGE: it has 3000 bytes");
  }
}
