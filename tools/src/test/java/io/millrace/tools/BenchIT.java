package io.millrace.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** The benches that hurt brokers, with small numbers, against three broker processes. */
@Timeout(180)
class BenchIT {
  @TempDir private static Path directory;
  private static RunningCluster cluster;

  @BeforeAll
  static void up() throws IOException {
    cluster = new RunningCluster(directory.resolve("home"));
    cluster.up();
  }

  @AfterAll
  static void down() {
    cluster.close();
  }

  private static JsonObject failover(String fault) {
    return cluster
        .json(
            "bench",
            "failover",
            "--fault",
            fault,
            "--runs",
            "1",
            "--rate",
            "200",
            "--steady",
            "1s",
            "--after",
            "1s",
            "--pause-for",
            "5s",
            "--output",
            "json")
        .getAsJsonObject();
  }

  private static void assertNothingLost(JsonObject json) {
    assertThat(json.get("violations").getAsInt()).isZero();
    JsonObject run = json.getAsJsonArray("runs").get(0).getAsJsonObject();
    assertThat(run.getAsJsonArray("violations")).isEmpty();
    assertThat(run.get("acked").getAsLong()).isPositive();
    // The balancer may have made the old leader the leader again, in a new term.
    long probesStored =
        run.has("probesAckedInNewTerm") ? run.get("probesAckedInNewTerm").getAsLong() : 0;
    assertThat(run.get("readBack").getAsLong())
        .isEqualTo(
            run.get("acked").getAsLong() + run.get("unknownStored").getAsLong() + probesStored);
    assertThat(run.get("gapMillis").getAsDouble()).isPositive();
    assertThat(run.get("beforeMillis").getAsDouble()).isNotNegative();
    assertThat(json.getAsJsonArray("figures").get(0).getAsJsonObject().get("median").getAsDouble())
        .isEqualTo(run.get("gapMillis").getAsDouble());
  }

  @Test
  void aKilledLeaderIsReplacedAndNothingIsLost() {
    JsonObject json = failover("kill");

    assertNothingLost(json);
    JsonObject run = json.getAsJsonArray("runs").get(0).getAsJsonObject();
    assertThat(run.get("newLeader").getAsInt()).isNotEqualTo(run.get("broker").getAsInt());
    cluster.awaitHealthy();
    assertThat(cluster.succeed("topic", "list", "--output", "plain").out())
        .doesNotContain("bench-failover");
  }

  @Test
  void aFrozenLeaderAcknowledgesNothingInItsOldTerm() {
    JsonObject json = failover("pause");

    assertNothingLost(json);
    JsonObject run = json.getAsJsonArray("runs").get(0).getAsJsonObject();
    assertThat(run.get("probes").getAsInt()).isGreaterThan(10);
    assertThat(run.get("staleAcks").getAsInt()).isZero();
    assertThat(run.get("probesRefused").getAsInt() + run.get("probesUnknown").getAsInt())
        .isPositive();
    cluster.awaitHealthy();
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void partitionsAreMadeMeasuredAndLedAgainAfterAKill() {
    JsonObject json =
        cluster
            .json(
                "bench",
                "partitions",
                "--partitions",
                "5",
                "--settle",
                "1s",
                "--idle",
                "2s",
                "--kill",
                "--output",
                "json")
            .getAsJsonObject();

    assertThat(json.get("acked").getAsInt()).isEqualTo(5);
    assertThat(json.get("allLedMillis").getAsDouble())
        .isGreaterThanOrEqualTo(json.get("createReturnedMillis").getAsDouble())
        .isLessThan(json.get("ackedOnEachMillis").getAsDouble());
    assertThat(json.getAsJsonArray("idle")).hasSize(3);
    JsonObject broker = json.getAsJsonArray("idle").get(0).getAsJsonObject();
    assertThat(broker.get("seconds").getAsDouble()).isBetween(2.0, 20.0);
    assertThat(broker.get("cpuPercent").getAsDouble()).isPositive();
    assertThat(broker.get("threads").getAsInt()).isPositive();
    assertThat(broker.get("rssMib").getAsDouble()).isGreaterThan(20);
    assertThat(broker.get("heapMib").getAsDouble()).isPositive();
    assertThat(broker.get("waitsPerSecond").getAsDouble()).isPositive();
    assertThat(json.getAsJsonArray("idleRequests").toString()).contains("\"RAFT\"");
    assertThat(json.get("killedLed").getAsInt()).isPositive();
    assertThat(json.get("withoutLeader").getAsInt()).isZero();
    assertThat(json.get("ledAgainMaxMillis").getAsDouble()).isPositive();
    assertThat(json.get("ackedAfterKill").getAsInt()).isEqualTo(5);
    cluster.awaitHealthy();
    assertThat(cluster.succeed("topic", "list", "--output", "plain").out())
        .doesNotContain("bench-partitions");
  }
}
