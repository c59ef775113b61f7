package io.millrace.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The commands against three broker processes. */
@Timeout(120)
class CommandsIT {
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

  @AfterEach
  void allBrokersAreBack() {
    cluster.succeed("cluster", "up");
  }

  private static String text(int lines) {
    var text = new StringBuilder();
    for (int i = 0; i < lines; i++) {
      text.append("key-").append(i % 97).append('\t').append("line ").append(i).append('\n');
    }
    return text.toString();
  }

  private static Map<String, List<String>> perKey(String text) {
    var perKey = new HashMap<String, List<String>>();
    text.lines()
        .forEach(
            line -> {
              int tab = line.indexOf('\t');
              perKey
                  .computeIfAbsent(line.substring(0, tab), key -> new ArrayList<>())
                  .add(line.substring(tab + 1));
            });
    return perKey;
  }

  private static int leaderOf(String topic, int partition) {
    for (JsonElement each :
        cluster
            .json("topic", "describe", topic, "--output", "json")
            .getAsJsonObject()
            .getAsJsonArray("partitions")) {
      JsonObject described = each.getAsJsonObject();
      if (described.get("partition").getAsInt() == partition
          && !described.get("leader").isJsonNull()) {
        return described.get("leader").getAsInt();
      }
    }
    return 0;
  }

  @Test
  void linesComeBackOnceAndInOrderWhileLeadersAreKilled() throws Exception {
    cluster.succeed("topic", "create", "kills", "--partitions", "6", "--replicas", "3");
    String text = text(30_000);
    CompletableFuture<TestTerminal.Finished> producing =
        CompletableFuture.supplyAsync(
            () ->
                cluster
                    .terminal()
                    .runWith(text, "produce", "kills", "--key-separator", "\\t", "--rate", "3000"));

    for (int partition = 0; partition < 2; partition++) {
      int wanted = partition;
      await().atMost(Duration.ofSeconds(20)).until(() -> leaderOf("kills", wanted) != 0);
      String victim = Integer.toString(leaderOf("kills", wanted));
      cluster.succeed("cluster", "kill", victim);
      cluster.succeed("cluster", "start", victim);
    }

    TestTerminal.Finished produced = producing.get(90, TimeUnit.SECONDS);
    assertThat(produced.exitCode()).as(produced.err()).isEqualTo(ExitCodes.OK);
    assertThat(produced.err()).contains("30,000 done, 0 not done, 0 unknown");
    String back = cluster.succeed("consume", "kills", "--format", "key-value").out();
    assertThat(back.lines().count()).isEqualTo(30_000);
    assertThat(perKey(back)).isEqualTo(perKey(text));
  }

  @Test
  void consumeStartsAndEndsWhereItIsTold() {
    cluster.succeed("topic", "create", "ends", "--partitions", "2", "--replicas", "3");
    cluster.succeedWith(
        "a\nb\nc\nd\n", "produce", "ends", "--partition", "1", "--header", "origin=test");

    assertThat(consume("--partition", "1")).isEqualTo("a\nb\nc\nd\n");
    assertThat(consume("--partition", "1", "--from", "2")).isEqualTo("c\nd\n");
    assertThat(consume("--max", "1")).isEqualTo("a\n");
    assertThat(consume("--from", "latest")).isEmpty();
    assertThat(consume("--from", "@0", "--format", "%T/%p:%o %v [%h]", "--max", "2"))
        .isEqualTo("ends/1:0 a [origin=test]\nends/1:1 b [origin=test]\n");
    assertThat(consume("--follow", "--timeout", "1s", "--output", "json").lines())
        .hasSize(4)
        .allMatch(line -> line.contains("\"headers\":[{\"key\":\"origin\",\"value\":\"test\"}]"));
    assertThat(cluster.fail("consume", "ends", "--partition", "1", "--from", "9"))
        .contains("--from 9 is beyond the end 4 of partition 1");
  }

  private static String consume(String... more) {
    var args = new ArrayList<>(List.of("consume", "ends"));
    args.addAll(List.of(more));
    return cluster.succeed(args.toArray(String[]::new)).out();
  }

  @Test
  void badInputIsOneLine() {
    cluster.succeed(
        "topic",
        "create",
        "small",
        "--partitions",
        "2",
        "--replicas",
        "3",
        "--max-record-bytes",
        "2000");

    assertThat(cluster.fail("produce", "missing")).contains("UNKNOWN_TOPIC").contains("missing");
    assertThat(cluster.fail("consume", "missing")).contains("UNKNOWN_TOPIC").contains("missing");
    assertThat(cluster.fail("produce", "small", "--partition", "2"))
        .contains("topic small has no partition 2; its 2 partitions are 0 to 1");
    assertThat(
            cluster.failWith("k\tv\nno separator\n", "produce", "small", "--key-separator", "\\t"))
        .contains("line 2 has no key separator '\\t'")
        .contains("1 done");
    assertThat(cluster.failWith("x".repeat(3_000) + "\n", "produce", "small"))
        .contains("RECORD_TOO_LARGE")
        .contains("1 of 1 record failed")
        .contains("2000");
    assertThat(cluster.fail("topic", "create", "small")).contains("TOPIC_EXISTS");
    assertThat(cluster.fail("topic", "create", "two", "--replicas", "2"))
        .contains("INVALID_SETTING");
    assertThat(cluster.fail("topic", "create", "five", "--replicas", "5"))
        .contains("NOT_ENOUGH_BROKERS");
    assertThat(consumeCount("small")).isEqualTo(1);
  }

  private static long consumeCount(String topic) {
    return cluster.succeed("consume", topic).out().lines().count();
  }

  @Test
  void topicsAreListedDescribedAndDeleted() {
    cluster.succeed(
        "topic", "create", "described", "--partitions", "3", "--replicas", "3", "--fsync", "os");

    JsonObject described =
        cluster.json("topic", "describe", "described", "--output", "json").getAsJsonObject();
    assertThat(described.get("fsync").getAsString()).isEqualTo("os");
    assertThat(described.get("promise").getAsString()).isNotBlank();
    assertThat(described.getAsJsonArray("partitions")).hasSize(3);
    assertThat(cluster.succeed("topic", "list", "--output", "plain").out())
        .contains("described\t3\t3\tos\n");

    cluster.succeed("topic", "delete", "described");

    assertThat(cluster.succeed("topic", "list", "--output", "plain").out())
        .doesNotContain("described");
  }

  @Test
  void limitsAreAlteredAndRecordsDeleted() {
    cluster.succeed(
        "topic",
        "create",
        "kept",
        "--partitions",
        "2",
        "--replicas",
        "3",
        "--retention-time",
        "7d");
    JsonObject described =
        cluster.json("topic", "describe", "kept", "--output", "json").getAsJsonObject();
    assertThat(described.get("retentionMillis").getAsLong()).isEqualTo(7L * 86_400_000);
    assertThat(described.get("segmentMillis").getAsLong()).isEqualTo(7L * 8_640_000);
    assertThat(described.get("retentionBytes").isJsonNull()).isTrue();
    JsonObject altered =
        cluster
            .json(
                "topic",
                "alter",
                "kept",
                "--retention-time",
                "0",
                "--retention-bytes",
                "100m",
                "--output",
                "json")
            .getAsJsonObject();
    assertThat(altered.get("retentionMillis").isJsonNull()).isTrue();
    assertThat(altered.get("retentionBytes").getAsLong()).isEqualTo(100L << 20);
    assertThat(altered.get("segmentBytes").getAsLong()).isEqualTo(5L << 20);

    cluster.succeedWith(text(100), "produce", "kept");
    assertThat(consumeCount("kept")).isEqualTo(100);
    long end = 0;
    for (JsonElement row :
        cluster
            .json("topic", "delete-records", "kept", "--all", "--output", "json")
            .getAsJsonArray()) {
      end += row.getAsJsonObject().get("logStart").getAsLong();
    }
    assertThat(end).isEqualTo(100);
    assertThat(consumeCount("kept")).isZero();
    assertThat(
            cluster.fail("topic", "delete-records", "kept", "--partition", "0", "--before", "5000"))
        .contains("OFFSET_OUT_OF_RANGE")
        .contains("5000");
    assertThat(cluster.fail("topic", "delete-records", "kep", "--all"))
        .contains("did you mean kept");
    cluster.succeed("topic", "delete", "kept");
  }

  @Test
  void statusTellsWhoIsDownAndWhoIsPaused() {
    cluster.succeed("topic", "create", "watched", "--partitions", "3", "--replicas", "3");
    cluster.awaitHealthy();

    cluster.succeed("cluster", "kill", "1");
    cluster.succeed("cluster", "pause", "2");
    TestTerminal.Finished status = cluster.run("cluster", "status");

    assertThat(status.exitCode()).isEqualTo(ExitCodes.FAILED);
    assertThat(status.out())
        .containsPattern("1 +down ")
        .containsPattern("2 +paused ")
        .containsPattern("3 +running ")
        .contains("broker 1 does not answer");
    assertThat(cluster.fail("cluster", "kill", "1")).contains("broker 1 is not running");
    assertThat(cluster.fail("cluster", "up")).contains("millrace cluster resume 2");
    cluster.succeed("cluster", "resume", "2");
    assertThat(cluster.fail("cluster", "start", "2")).contains("broker 2 runs already");
  }

  @Test
  void wipingABrokerWithReplicasIsRefused() {
    cluster.succeed("cluster", "kill", "3");

    assertThat(cluster.fail("cluster", "wipe", "3")).contains("broker 3 holds replicas");
  }

  @Test
  void aSecondClusterOnTheSamePortsIsRefused() {
    assertThat(
            cluster.fail(
                "cluster",
                "up",
                "--home",
                directory.resolve("second").toString(),
                "--base-port",
                Integer.toString(cluster.basePort())))
        .contains("port " + cluster.basePort() + " of broker 1")
        .contains("--base-port");
    assertThat(directory.resolve("second")).doesNotExist();
  }

  @Test
  void aForeignDataDirectoryIsRefusedInOneLine() throws IOException {
    cluster.succeed("cluster", "kill", "3");
    Path identity = cluster.home().resolve("broker-3/data/broker.id");
    String own = Files.readString(identity);
    Files.copy(
        cluster.home().resolve("broker-2/data/broker.id"),
        identity,
        java.nio.file.StandardCopyOption.REPLACE_EXISTING);
    try {
      assertThat(cluster.fail("cluster", "start", "3"))
          .contains("broker 3 (process ")
          .contains("ended while starting: ")
          .contains("broker.log");
    } finally {
      Files.writeString(identity, own);
    }
  }

  @Test
  void loadChecksItselfThroughACrash() throws Exception {
    CompletableFuture<TestTerminal.Finished> load =
        CompletableFuture.supplyAsync(
            () ->
                cluster
                    .terminal()
                    .run(
                        "load",
                        "checked",
                        "--rate",
                        "2000",
                        "--keys",
                        "50",
                        "--partitions",
                        "4",
                        "--duration",
                        "10s",
                        "--output",
                        "json"));
    await().atMost(Duration.ofSeconds(20)).until(() -> topicExists("checked"));
    cluster.succeed("cluster", "kill", "2");
    cluster.succeed("cluster", "start", "2");

    TestTerminal.Finished finished = load.get(100, TimeUnit.SECONDS);

    assertThat(finished.exitCode()).as(finished.out() + finished.err()).isEqualTo(ExitCodes.OK);
    assertThat(finished.out()).contains("\"lost\": 0", "\"doubled\": 0", "\"reordered\": 0");
    assertThat(finished.out()).contains("ok: every acknowledged record is there once");
  }

  private static boolean topicExists(String topic) {
    return cluster.succeed("topic", "list", "--output", "plain").out().contains(topic + "\t");
  }

  @Test
  void benchMeasuresBothDirections() {
    JsonObject produce =
        cluster
            .json(
                "bench",
                "produce",
                "measured",
                "--records",
                "20000",
                "--size",
                "200",
                "--partitions",
                "3",
                "--output",
                "json")
            .getAsJsonObject();
    JsonObject consume =
        cluster.json("bench", "consume", "measured", "--output", "json").getAsJsonObject();

    assertThat(produce.get("records").getAsLong()).isEqualTo(16_000);
    assertThat(produce.get("failed").getAsLong()).isZero();
    assertThat(produce.get("recordsPerSecond").getAsDouble()).isPositive();
    assertThat(produce.get("p99Millis").getAsDouble())
        .isGreaterThanOrEqualTo(produce.get("p50Millis").getAsDouble());
    assertThat(consume.get("records").getAsLong()).isEqualTo(16_000);
    assertThat(consume.get("mibPerSecond").getAsDouble()).isPositive();
  }

  @Test
  void sizesAreThoseOfTheFiles() {
    cluster.succeed(
        "topic",
        "create",
        "sizes",
        "--partitions",
        "2",
        "--replicas",
        "3",
        "--segment-bytes",
        "65536");
    cluster.succeedWith(
        text(20_000), "produce", "sizes", "--key-separator", "\\t", "--compression", "none");
    String id =
        cluster
            .json("topic", "describe", "sizes", "--output", "json")
            .getAsJsonObject()
            .get("id")
            .getAsString();

    await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(
            () -> {
              JsonObject sizes =
                  cluster
                      .json("topic", "sizes", "sizes", "--segments", "--output", "json")
                      .getAsJsonObject();
              assertThat(sizes.getAsJsonArray("replicas")).hasSize(6);
              assertThat(sizes.getAsJsonArray("segments").size()).isGreaterThan(12);
              for (JsonElement each : sizes.getAsJsonArray("replicas")) {
                JsonObject replica = each.getAsJsonObject();
                assertThat(replica.get("bytes").getAsLong()).isEqualTo(bytesOnDisk(id, replica));
                assertThat(sumOfSegments(sizes, replica))
                    .isEqualTo(replica.get("bytes").getAsLong());
              }
            });
    Path data = directory.resolve("home/broker-1/data");
    assertThat(cluster.succeed("log", "verify", data.toString()).out()).contains("verdict");
  }

  private static long bytesOnDisk(String topicId, JsonObject replica) throws IOException {
    Path log =
        directory.resolve(
            "home/broker-"
                + replica.get("broker").getAsInt()
                + "/data/topics/"
                + topicId
                + "-"
                + replica.get("partition").getAsInt());
    long bytes = 0;
    try (var files = Files.list(log)) {
      for (Path file : files.filter(each -> each.toString().endsWith(".log")).toList()) {
        bytes += Files.size(file);
      }
    }
    return bytes;
  }

  private static long sumOfSegments(JsonObject sizes, JsonObject replica) {
    long bytes = 0;
    for (JsonElement each : sizes.getAsJsonArray("segments")) {
      JsonObject segment = each.getAsJsonObject();
      if (segment.get("partition").equals(replica.get("partition"))
          && segment.get("broker").equals(replica.get("broker"))) {
        bytes += segment.get("bytes").getAsLong();
      }
    }
    return bytes;
  }
}
