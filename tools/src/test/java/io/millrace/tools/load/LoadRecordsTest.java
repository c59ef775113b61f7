package io.millrace.tools.load;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.client.ProducerRecord;
import io.millrace.client.ReceivedRecord;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LoadRecordsTest {
  private static final String TOPIC = "t";

  private final LoadVerifier verifier = new LoadVerifier(20);
  private final LoadRecords records = new LoadRecords("run1", TOPIC, 100);

  @BeforeEach
  void begin() {
    verifier.startsAt(0, 0);
    verifier.send(7);
  }

  private static ReceivedRecord received(byte[] key, byte[] value) {
    return new ReceivedRecord(TOPIC, 0, 0, 0, key, value, List.of());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 10, 100, 5_000})
  void aRecordComesBackAsItself(int size) {
    var sized = new LoadRecords("run1", TOPIC, size);
    ProducerRecord sent = sized.record(7, 0);

    sized.judge(received(sent.key(), sent.value()), verifier);

    assertThat(verifier.counts().read()).isEqualTo(1);
    assertThat(verifier.counts().violations()).isEmpty();
    assertThat(sent.value().length).isGreaterThanOrEqualTo(size);
  }

  @Test
  void eachFlippedByteIsSeen() {
    ProducerRecord sent = records.record(7, 0);
    for (int i = 0; i < sent.value().length; i++) {
      var judge = new LoadVerifier(20);
      judge.startsAt(0, 0);
      judge.send(7);
      byte[] value = sent.value().clone();
      value[i] ^= 1;

      records.judge(received(sent.key(), value), judge);

      assertThat(
              judge.counts().violations(Violation.CHANGED)
                  + judge.counts().violations(Violation.FOREIGN))
          .as("byte %d", i)
          .isEqualTo(1);
    }
  }

  @Test
  void aValueUnderTheWrongKeyIsSeen() {
    records.judge(received("run1:8".getBytes(), records.value(7, 0)), verifier);

    assertThat(verifier.counts().violations(Violation.CHANGED)).isEqualTo(1);
  }

  @Test
  void aMissingValueIsSeen() {
    records.judge(received("run1:7".getBytes(), null), verifier);

    assertThat(verifier.counts().violations(Violation.CHANGED)).isEqualTo(1);
  }

  @Test
  void recordsOfOthersArePassed() {
    records.judge(received("other:7".getBytes(), "x".getBytes()), verifier);
    records.judge(
        new ReceivedRecord(TOPIC, 0, 1, 0, null, "no key".getBytes(), List.of()), verifier);

    assertThat(verifier.counts().read()).isZero();
    assertThat(verifier.counts().violations()).isEmpty();
  }
}
