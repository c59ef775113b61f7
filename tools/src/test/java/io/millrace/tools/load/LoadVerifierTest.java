package io.millrace.tools.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LoadVerifierTest {
  private final LoadVerifier verifier = new LoadVerifier(2);

  @BeforeEach
  void begin() {
    verifier.startsAt(0, 50);
  }

  @Test
  void anAcknowledgedRecordThatTheReaderHasNotReachedIsUnreadNotLost() {
    verifier.send(0);
    verifier.acked(0, 0, 0, 50);

    assertThat(verifier.counts().unread()).isEqualTo(1);
    assertThat(verifier.counts().violations()).isEmpty();
    assertThat(verifier.counts().provesEverything()).isFalse();
  }

  @Test
  void aReceiptBeyondTheEndIsLostOnceTheEndIsRead() {
    verifier.send(0);
    verifier.acked(0, 0, 0, 60);

    verifier.readToEnd(0);

    assertThat(verifier.counts().violations(Violation.LOST)).isEqualTo(1);
    assertThat(verifier.examples())
        .containsExactly("LOST: key 0 record 0, receipt partition 0 offset 60");
  }

  @Test
  void aLateRecordTurnsFromLostIntoReordered() {
    verifier.send(0);
    verifier.send(0);
    verifier.acked(0, 0, 0, 50);
    verifier.acked(0, 1, 0, 50);
    verifier.seen(0, 1, 0, 50);
    assertThat(verifier.counts().violations(Violation.LOST)).isEqualTo(1);

    verifier.seen(0, 0, 0, 51);

    assertThat(verifier.counts().violations(Violation.LOST)).isZero();
    assertThat(verifier.counts().violations(Violation.REORDERED)).isEqualTo(1);
    assertThat(verifier.counts().violations(Violation.MISPLACED)).isEqualTo(1);
  }

  @Test
  void anUnknownRecordMayAppearOnceAndNotTwice() {
    verifier.send(0);
    verifier.unknown(0, 0);
    verifier.seen(0, 0, 0, 50);
    assertThat(verifier.counts().unknownAppeared()).isEqualTo(1);
    assertThat(verifier.counts().unknownAbsent()).isZero();
    assertThat(verifier.counts().violations()).isEmpty();

    verifier.seen(0, 0, 0, 51);

    assertThat(verifier.counts().violations(Violation.DOUBLED)).isEqualTo(1);
  }

  @Test
  void anUnknownRecordIsAbsentOnlyWhenEveryPartitionIsReadToItsEnd() {
    verifier.startsAt(1, 0);
    verifier.send(0);
    verifier.unknown(0, 0);
    verifier.readToEnd(0);
    assertThat(verifier.counts().unknownAbsent()).isZero();
    assertThat(verifier.counts().unknownUnchecked()).isEqualTo(1);

    verifier.readToEnd(1);

    assertThat(verifier.counts().unknownAbsent()).isEqualTo(1);
    assertThat(verifier.counts().unknownUnchecked()).isZero();
  }

  @Test
  void whatWasReadButNotToTheEndIsNotProven() {
    verifier.send(0);
    verifier.acked(0, 0, 0, 50);
    verifier.seen(0, 0, 0, 50);
    assertThat(verifier.counts().provesEverything()).isFalse();
    assertThat(LoadReport.verdict(verifier.counts(), true, "interrupted"))
        .isEqualTo(
            "COULD NOT BE CHECKED (interrupted): nothing wrong found so far; 0 acknowledged records"
                + " not read, 0 without an answer, 0 unknown not looked for; the partitions were"
                + " not read to their ends");

    verifier.readToEnd(0);

    assertThat(verifier.counts().provesEverything()).isTrue();
    assertThat(LoadReport.verdict(verifier.counts(), true, "")).startsWith("ok: ");
  }

  @Test
  void nothingAcknowledgedProvesNothing() {
    verifier.send(0);
    verifier.refused(0, 0);
    verifier.readToEnd(0);

    assertThat(verifier.counts().violations()).isEmpty();
    assertThat(verifier.counts().provesEverything()).isFalse();
  }

  @Test
  void aSkippedOffsetIsAGapEvenWithoutRecordsOfThisRun() {
    verifier.passed(0, 50);
    verifier.passed(0, 53);

    assertThat(verifier.counts().violations(Violation.GAP)).isEqualTo(1);
    assertThat(verifier.examples()).containsExactly("GAP: partition 0 offsets 51 to 52");
  }

  @Test
  void changedBytesAndARefusedReaderAreViolations() {
    verifier.changed(0, 50, "key x");
    verifier.unreadable("LOG_TRUNCATED: 3 records are gone");

    assertThat(verifier.counts().violations(Violation.CHANGED)).isEqualTo(1);
    assertThat(verifier.counts().violations(Violation.UNREADABLE)).isEqualTo(1);
  }

  @Test
  void aSecondAnswerIsADefectOfTheClient() {
    verifier.send(1);
    verifier.acked(1, 0, 0, 50);

    assertThatThrownBy(() -> verifier.unknown(1, 0))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("second answer");
  }

  @Test
  void memoryFollowsWhatIsUnderWay() {
    var key = new KeyHistory();
    var none =
        new KeyHistory.Findings() {
          @Override
          public void found(Violation violation, long number, String facts) {
            throw new AssertionError(violation + " " + facts);
          }

          @Override
          public void unknownAppeared() {
            throw new AssertionError("nothing was unknown");
          }
        };
    for (int i = 0; i < 10_000; i++) {
      long number = key.send();
      key.acked(number, new KeyHistory.Place(0, i), none);
      key.seen(number, new KeyHistory.Place(0, i), none);
    }

    assertThat(key.openCount()).isZero();
  }
}
