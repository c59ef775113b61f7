package io.millrace.tools.log;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.tools.TestTerminal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The example on the page about the files is what the command prints. After a change run this test
 * with {@code -Dmillrace.write.reference=true}, which writes it into the page.
 */
class AnnotatedExampleTest {
  private static final Path PAGE = Path.of("..", "docs", "inside", "reading-files.md");
  private static final Pattern EXAMPLE =
      Pattern.compile("```\n(\\S+\\.log  \\d+ bytes\n.*?)```", Pattern.DOTALL);

  @TempDir private Path home;

  @Test
  void thePageShowsWhatIsPrinted() throws IOException {
    Path log = home.resolve(StoredLog.TOPIC + "-0");
    StoredLog.writeTiny(log);
    String printed =
        new TestTerminal(home.resolve("cluster"))
            .run("log", "dump", log.toString(), "--annotate")
            .out()
            .replace(log + "/", "");
    Matcher example = EXAMPLE.matcher(Files.readString(PAGE));
    assertThat(example.find()).as("an example in " + PAGE).isTrue();
    if (Boolean.getBoolean("millrace.write.reference")) {
      Files.writeString(
          PAGE, example.replaceFirst(Matcher.quoteReplacement("```\n" + printed + "```")));
      return;
    }
    assertThat(example.group(1)).isEqualTo(printed);
  }
}
