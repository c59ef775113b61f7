package io.millrace.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.TypeConversionException;

class QuantitiesTest {
  @ParameterizedTest
  @CsvSource({
    "250ms,250",
    "3s,3000",
    "2m,120000",
    "1h,3600000",
    "1d,86400000",
    "0,0",
    "PT1.5S,1500",
    " 5S ,5000"
  })
  void durations(String text, long millis) {
    assertThat(Quantities.duration(text)).isEqualTo(Duration.ofMillis(millis));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "5", "s", "-5s", "1.5s", "5 minutes", "PTx"})
  void notDurations(String text) {
    assertThatThrownBy(() -> Quantities.duration(text))
        .isInstanceOf(TypeConversionException.class)
        .hasMessageContaining("'" + text + "' is not a duration");
  }

  @ParameterizedTest
  @CsvSource({
    "0,0",
    "17,17",
    "1k,1024",
    "128K,131072",
    "64m,67108864",
    "2g,2147483648",
    "1MiB,1048576",
    "1 kb,1024"
  })
  void sizes(String text, long bytes) {
    assertThat(Quantities.bytes(text)).isEqualTo(bytes);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "k", "-1", "1.5m", "5t", "ten"})
  void notSizes(String text) {
    assertThatThrownBy(() -> Quantities.bytes(text))
        .isInstanceOf(TypeConversionException.class)
        .hasMessageContaining("'" + text + "' is not a size");
  }

  @Test
  void aSizeThatCanNotBeCountedIsRefused() {
    assertThatThrownBy(() -> Quantities.bytes("99999999999999g"))
        .isInstanceOf(TypeConversionException.class)
        .hasMessageContaining("too large");
  }

  @Test
  void escapes() {
    assertThat(Quantities.unescaped("a\\tb\\n\\\\t\\0\\x\\")).isEqualTo("a\tb\n\\t\0\\x\\");
  }
}
