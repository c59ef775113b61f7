package io.millrace.tools.records;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.tools.CommandFailure;
import io.millrace.tools.UsageFailure;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class KeyedLineTest {
  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void assertParts(String separator, String line, String key, String value) {
    KeyedLine parsed = new KeyedLine.Parser(separator).parse(bytes(line), 1);
    assertThat(parsed.key()).isEqualTo(bytes(key));
    assertThat(parsed.value()).isEqualTo(bytes(value));
  }

  @Test
  void theFirstSeparatorCounts() {
    assertParts("\t", "k\tv\tw", "k", "v\tw");
    assertParts("=>", "k=v=>w=>x", "k=v", "w=>x");
    assertParts("→", "schlüssel→wert", "schlüssel", "wert");
  }

  @Test
  void keyAndValueMayBeEmpty() {
    assertParts(":", ":v", "", "v");
    assertParts(":", "k:", "k", "");
    assertParts(":", ":", "", "");
  }

  @Test
  void withoutSeparatorThereIsNoKey() {
    KeyedLine parsed = new KeyedLine.Parser(null).parse(bytes("a\tb"), 1);

    assertThat(parsed.key()).isNull();
    assertThat(parsed.value()).isEqualTo(bytes("a\tb"));
  }

  @Test
  void aLineWithoutItIsNamedWithWhatToDo() {
    assertThatThrownBy(() -> new KeyedLine.Parser("\t").parse(bytes("no tab"), 17))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("line 17 has no key separator '\\t'")
        .hasMessageContaining("--key-separator");
  }

  @Test
  void anEmptySeparatorIsRefused() {
    assertThatThrownBy(() -> new KeyedLine.Parser("")).isInstanceOf(UsageFailure.class);
  }
}
