package io.millrace.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Network faults by command, against three broker processes. */
@Timeout(180)
class FaultsIT {
  @TempDir private static Path directory;
  private static RunningCluster cluster;
  private static final List<String> REFUSALS = new ArrayList<>();
  private static String restartNotice;

  /** The cluster is first made without the permission, so that it can be seen missing. */
  @BeforeAll
  static void up() throws IOException {
    cluster = new RunningCluster(directory.resolve("home"));
    cluster.up();
    REFUSALS.add(cluster.fail("cluster", "isolate", "2"));
    restartNotice = cluster.succeed("cluster", "up", "--allow-faults").err();
    REFUSALS.add(cluster.fail("cluster", "slow", "2", "--latency", "5ms"));
    REFUSALS.add(cluster.fail("cluster", "heal"));
    cluster.succeed("cluster", "down");
    cluster.succeed("cluster", "up");
  }

  @AfterAll
  static void down() {
    cluster.close();
  }

  @AfterEach
  void allIsWellAgain() {
    // First: an isolated broker may know no metadata leader, for which cluster up would wait.
    cluster.succeed("cluster", "heal");
    cluster.succeed("cluster", "up");
    cluster.awaitHealthy();
  }

  /** As "broker: from>to what", of every broker that says something. */
  private static List<String> faults() {
    TestTerminal.Finished status = cluster.run("cluster", "status", "--output", "json");
    JsonObject json = com.google.gson.JsonParser.parseString(status.out()).getAsJsonObject();
    return StreamSupport.stream(json.getAsJsonArray("networkFaults").spliterator(), false)
        .map(JsonElement::getAsJsonObject)
        .map(
            row ->
                row.get("broker")
                    + ": "
                    + row.get("from")
                    + ">"
                    + row.get("to")
                    + (row.get("dropped").getAsBoolean() ? " dropped" : "")
                    + (row.get("latencyMillis").getAsInt() == 0
                        ? ""
                        : " "
                            + row.get("latencyMillis")
                            + "+"
                            + row.get("jitterMillis")
                            + "ms "
                            + row.get("lossPercent")
                            + "%"))
        .toList();
  }

  private static int leaderOf(String topic) {
    return cluster
        .json("topic", "describe", topic, "--output", "json")
        .getAsJsonObject()
        .getAsJsonArray("partitions")
        .get(0)
        .getAsJsonObject()
        .get("leader")
        .getAsInt();
  }

  @Test
  void areRefusedUntilAllowedAndTheBrokersRestarted() {
    assertThat(REFUSALS)
        .hasSize(3)
        .allSatisfy(
            line -> assertThat(line).contains("does not allow network faults", "--allow-faults"));
    assertThat(REFUSALS.get(0)).endsWith("; nothing was changed");
    assertThat(restartNotice)
        .contains("faults are not allowed yet on brokers 1, 2 and 3", "restart with");
    // Allowed by the cluster's file since then: the last cluster up did not say it again.
    cluster.succeed("cluster", "isolate", "2");
  }

  @Test
  void commandsAddUpAreShownAndHealed() {
    TestTerminal.Finished isolated = cluster.succeed("cluster", "isolate", "2");
    assertThat(isolated.err())
        .contains("broker 2 is cut off from the others; clients still reach it")
        .contains("millrace cluster heal");
    assertThat(faults())
        .containsExactly("2: 2>1 dropped", "2: 1>2 dropped", "2: 2>3 dropped", "2: 3>2 dropped");

    cluster.succeed("cluster", "one-way", "1>3");
    cluster.succeed(
        "cluster", "slow", "3", "--latency", "10ms", "--jitter", "5ms", "--loss", "0.5%");
    assertThat(faults())
        .contains("1: 1>3 dropped", "3: 3>1 10+5ms 0.5%", "3: 2>3 10+5ms 0.5%")
        .hasSize(9);
    assertThat(cluster.run("cluster", "status").out())
        .contains("LATENCY MILLIS")
        .containsPattern("1 +1 +3 +true +0 +0 +0.00");

    assertThat(cluster.succeed("cluster", "heal").err())
        .contains("no faults any more on brokers 1, 2 and 3");
    assertThat(faults()).isEmpty();

    cluster.succeed("cluster", "split", "1,3/2");
    assertThat(faults()).hasSize(4).allMatch(line -> line.startsWith("2: "));
  }

  @Test
  void aBrokerThatIsCutOffIsShownWithAllThatItMisses() {
    cluster.succeed("topic", "create", "before", "--partitions", "1", "--replicas", "3");
    cluster.awaitHealthy();
    // One that leads neither it nor the metadata, so that nothing has to be elected.
    List<Integer> leaders = List.of(newestLeader("before"), newestLeader("(metadata)"));
    int cutOff =
        Stream.of(1, 2, 3).filter(broker -> !leaders.contains(broker)).findFirst().orElseThrow();
    List<Integer> others = Stream.of(1, 2, 3).filter(broker -> broker != cutOff).toList();

    cluster.succeed("cluster", "isolate", Integer.toString(cutOff));
    await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(
            () ->
                assertThat(partition("before").get("health").getAsString())
                    .isEqualTo("broker " + cutOff + " does not follow the leader"));
    // The one that is cut off would be asked in vain, and knows it only at the end of its patience.
    String reached =
        others.stream()
            .map(broker -> "127.0.0.1:" + (cluster.basePort() + broker - 1))
            .collect(Collectors.joining(","));
    cluster.succeed(
        "topic",
        "create",
        "during",
        "--partitions",
        "1",
        "--replicas",
        "3",
        "--bootstrap",
        reached);

    String missing = "broker " + cutOff + " has not started it";
    await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(
            () -> assertThat(partition("during").get("health").getAsString()).isEqualTo(missing));
    // Several times: any broker could be the one that is asked first.
    for (int i = 0; i < 4; i++) {
      TestTerminal.Finished status = cluster.run("cluster", "status");
      assertThat(status.exitCode()).isEqualTo(ExitCodes.FAILED);
      assertThat(status.out())
          .containsOnlyOnce(
              "brokers " + others.get(0) + " and " + others.get(1) + " do not reach it");
      assertThat(partition("during").getAsJsonArray("replicas")).hasSize(3);
      assertThat(partition("during").get("health").getAsString()).isEqualTo(missing);
    }

    cluster.succeed("cluster", "heal");
    cluster.awaitHealthy();
  }

  @Test
  void anIsolatedLeaderIsReplacedAndNothingIsLost() throws Exception {
    cluster.succeed("topic", "create", "isolated", "--partitions", "1", "--replicas", "3");
    CompletableFuture<TestTerminal.Finished> load =
        CompletableFuture.supplyAsync(
            () ->
                cluster
                    .terminal()
                    .run(
                        "load",
                        "isolated",
                        "--rate",
                        "500",
                        "--keys",
                        "10",
                        "--duration",
                        "15s",
                        "--output",
                        "json"));
    await().atMost(Duration.ofSeconds(20)).until(() -> leaderOf("isolated") != 0);
    int old = leaderOf("isolated");

    cluster.succeed("cluster", "isolate", Integer.toString(old));

    await().atMost(Duration.ofSeconds(20)).until(() -> newestLeader("isolated") != old);
    cluster.succeed("cluster", "heal");
    TestTerminal.Finished finished = load.get(100, TimeUnit.SECONDS);
    assertThat(finished.exitCode()).as(finished.out() + finished.err()).isEqualTo(ExitCodes.OK);
    assertThat(finished.out()).contains("ok: every acknowledged record is there once");
    cluster.awaitHealthy();
    await()
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(() -> assertThat(lags("isolated")).containsOnly(0));
  }

  private static JsonObject partition(String topic) {
    TestTerminal.Finished status = cluster.run("cluster", "status", "--output", "json");
    JsonObject json = com.google.gson.JsonParser.parseString(status.out()).getAsJsonObject();
    return StreamSupport.stream(json.getAsJsonArray("partitions").spliterator(), false)
        .map(JsonElement::getAsJsonObject)
        .filter(row -> row.get("topic").getAsString().equals(topic))
        .findFirst()
        .orElseThrow();
  }

  private static int newestLeader(String topic) {
    JsonElement leader = partition(topic).get("leader");
    return leader.isJsonNull() ? 0 : leader.getAsInt();
  }

  private static List<Integer> lags(String topic) {
    return StreamSupport.stream(partition(topic).getAsJsonArray("lag").spliterator(), false)
        .map(JsonElement::getAsInt)
        .toList();
  }

  @Test
  void badInputChangesNothing() {
    List<List<String>> wrong =
        List.of(
            List.of("isolate", "7"),
            List.of("split", "1/1,2"),
            List.of("split", "1/2"),
            List.of("split", "1,2,3"),
            List.of("one-way", "1>1"),
            List.of("one-way", "1>7"),
            List.of("one-way"),
            List.of("slow", "2"),
            List.of("slow", "2", "--loss", "120%"),
            List.of("slow", "2", "--latency", "11s"),
            List.of("slow", "7", "--latency", "1s"));
    for (List<String> each : wrong) {
      var line = new ArrayList<>(List.of("cluster"));
      line.addAll(each);
      TestTerminal.Finished finished = cluster.run(line.toArray(String[]::new));
      assertThat(finished.exitCode()).as("%s", each).isNotZero();
      assertThat(finished.errorLines()).as("%s", each).hasSize(1);
    }
    assertThat(faults()).isEmpty();
  }

  @Test
  void whoCanNotBeToldIsNamed() {
    cluster.succeed("cluster", "isolate", "1");
    cluster.succeed("cluster", "pause", "3");
    cluster.succeed("cluster", "kill", "2");

    assertThat(cluster.fail("cluster", "isolate", "3"))
        .contains("broker 3 can not be told: it is paused", "cluster resume 3", "nothing was");
    assertThat(cluster.fail("cluster", "one-way", "2:1"))
        .contains("broker 2 can not be told: it does not run", "cluster start 2", "nothing was");
    assertThat(cluster.fail("cluster", "heal"))
        .contains("broker 3 could not be told: it is paused")
        .contains("broker 1: no faults any more");

    cluster.succeed("cluster", "resume", "3");
    assertThat(faults()).isEmpty();
  }

  @Test
  void aRestartEndsWhatTheBrokerMade() {
    cluster.succeed("cluster", "isolate", "2");
    cluster.succeed("cluster", "one-way", "3>1");

    cluster.succeed("cluster", "kill", "2");
    cluster.succeed("cluster", "start", "2");

    assertThat(faults()).containsExactly("3: 3>1 dropped");
  }
}
