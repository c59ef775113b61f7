package io.millrace.tools.records;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.tools.UsageFailure;
import java.time.ZoneId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StartPointTest {
  private static final ZoneId ZONE = ZoneId.of("Europe/Berlin");

  private static StartPoint parse(String text) {
    return StartPoint.parse(text, ZONE);
  }

  @Test
  void everyForm() {
    assertThat(parse("earliest")).isEqualTo(new StartPoint.Earliest());
    assertThat(parse("LATEST")).isEqualTo(new StartPoint.Latest());
    assertThat(parse("0")).isEqualTo(new StartPoint.AtOffset(0));
    assertThat(parse("123456789012")).isEqualTo(new StartPoint.AtOffset(123_456_789_012L));
    assertThat(parse("@1700000000123")).isEqualTo(new StartPoint.AtTime(1_700_000_000_123L));
    assertThat(parse("2026-01-31T08:00:00Z")).isEqualTo(new StartPoint.AtTime(1_769_846_400_000L));
    assertThat(parse("2026-01-31T08:00:00.250+01:00"))
        .isEqualTo(new StartPoint.AtTime(1_769_842_800_250L));
    assertThat(parse("2026-01-31T08:00")).isEqualTo(new StartPoint.AtTime(1_769_842_800_000L));
    assertThat(parse("2026-01-31")).isEqualTo(new StartPoint.AtTime(1_769_814_000_000L));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "-1",
        "1.5",
        "@",
        "@x",
        "yesterday",
        "2026-13-01",
        "T08:00",
        "12345678901234567890"
      })
  void everythingElseIsRefusedWithTheForms(String text) {
    assertThatThrownBy(() -> parse(text))
        .isInstanceOf(UsageFailure.class)
        .hasMessageContaining("--from '" + text + "' is not earliest, latest, an offset");
  }
}
