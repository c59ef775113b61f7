package io.millrace.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The main job, end to end. */
@Timeout(120)
class QuickstartIT {
  @TempDir private Path directory;

  @Test
  void tellsTheStoryAndLeavesTheClusterUp() throws IOException {
    try (var cluster = new RunningCluster(directory.resolve("home"))) {
      cluster.up();

      TestTerminal.Finished first = cluster.succeed("quickstart", "--lines", "20000");
      JsonObject second =
          cluster.json("quickstart", "--lines", "5000", "--output", "json").getAsJsonObject();

      assertThat(first.out())
          .contains("kill -9 of broker", "20,000 lines acknowledged", "read back: 20,000 records")
          .contains("0 missing, 0 twice, 0 out of order, 0 foreign -> the same")
          .contains("millrace cluster down");
      assertThat(directory.resolve("home/quickstart/read-back.tsv")).exists();
      assertThat(second.get("topic").getAsString()).isEqualTo("quickstart-2");
      assertThat(second.get("read").getAsLong()).isEqualTo(5_000);
      assertThat(second.get("missing").getAsLong()).isZero();
      cluster.awaitHealthy();

      cluster.succeed("cluster", "down");

      TestTerminal.Finished down = cluster.run("cluster", "status");
      assertThat(down.exitCode()).isEqualTo(ExitCodes.FAILED);
      assertThat(down.out().lines().filter(line -> line.matches(" +\\d +down .*"))).hasSize(3);
    }
  }
}
