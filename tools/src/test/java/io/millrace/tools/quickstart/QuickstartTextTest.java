package io.millrace.tools.quickstart;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class QuickstartTextTest {
  @TempDir private Path directory;

  @Test
  void isTheSameEachTimeAndNoLineTwice() throws IOException {
    Path first = directory.resolve("a/first.tsv");
    Path second = directory.resolve("second.tsv");

    QuickstartText.write(first, 20_000);
    QuickstartText.write(second, 20_000);

    List<String> lines = Files.readAllLines(first);
    assertThat(lines).hasSize(20_000).doesNotHaveDuplicates();
    assertThat(lines).allMatch(line -> line.matches("order-\\d{4}\t2026-\\S+ event \\d+: .+"));
    assertThat(Files.readAllLines(second)).isEqualTo(lines);
  }
}
