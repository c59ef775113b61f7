package io.millrace.broker;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/**
 * The reference page is generated from {@link ConfigKey}. After a change run this test with {@code
 * -Dmillrace.write.reference=true}, which writes the page.
 */
class ConfigReferenceTest {

  private static final Path PAGE = Path.of("..", "docs", "reference", "broker-configuration.md");

  private static String page() {
    StringBuilder page =
        new StringBuilder(
            """
            # Configuration of a broker

            A properties file (UTF-8), given with `--config`. An unknown key, a value outside its limits, or two values that contradict each other end the start with one line. Sizes are bytes, or whole
            numbers with KiB, MiB or GiB. The effective values are logged at start with their origin.

            | key | | |
            |---|---|---|
            """);
    for (ConfigKey key : ConfigKey.values()) {
      page.append("| `")
          .append(key.key())
          .append("` | ")
          .append(key.required() ? "required" : "")
          .append(" | ")
          .append(key.text())
          .append(" |\n");
    }
    return page.toString();
  }

  @Test
  void thePageSaysWhatTheCodeDoes() throws IOException {
    if (Boolean.getBoolean("millrace.write.reference")) {
      Files.createDirectories(PAGE.getParent());
      Files.writeString(PAGE, page());
    }
    assertThat(PAGE).content().isEqualTo(page());
  }
}
