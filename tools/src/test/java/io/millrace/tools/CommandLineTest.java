package io.millrace.tools;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Bad input ends in one line and the right exit code, and nothing is done. */
@Timeout(60)
class CommandLineTest {
  @TempDir private Path home;
  private TestTerminal terminal;

  @BeforeEach
  void terminal() {
    terminal = new TestTerminal(home.resolve("cluster"));
  }

  static List<Arguments> wrongCommandLines() {
    return List.of(
        Arguments.of("", "a command is missing"),
        Arguments.of("produc t", "did you mean produce"),
        Arguments.of("produce", "Missing required parameter: 'TOPIC'"),
        Arguments.of("produce t --fil x", "did you mean --file?"),
        Arguments.of("produce t --output xml", "expected one of [table, json, plain]"),
        Arguments.of("produce t --compression brotli", "none, gzip, snappy, lz4, zstd"),
        Arguments.of("produce t --header novalue", "--header 'novalue' is not KEY=VALUE"),
        Arguments.of("produce t --batch-bytes lots", "'lots' is not a size"),
        Arguments.of("produce t --batch-bytes 2m --buffer-bytes 1m", "is below --batch-bytes"),
        Arguments.of("produce t --linger 5", "'5' is not a duration"),
        Arguments.of("produce t --bootstrap nowhere", "'nowhere' is not host:port"),
        Arguments.of("produce t --bootstrap host:99999", "'host:99999' is not host:port"),
        Arguments.of("consume t --from yesterday", "--from 'yesterday' is not earliest"),
        Arguments.of("consume t --format nothing", "--format 'nothing' is not value"),
        Arguments.of("consume t --format %x", "%x is not known; use %k key"),
        Arguments.of("produce t --rate -1", "--rate -1.0 is below 0; leave it out for no limit"),
        Arguments.of("consume t --max -1", "--max -1 is below 1"),
        Arguments.of("consume t --max 0", "--max 0 is below 1; leave it out to read all"),
        Arguments.of("load --keys 0", "--keys 0 is below 1"),
        Arguments.of("load --rate -5", "--rate -5.0 is below 0"),
        Arguments.of("bench produce --warm-up 1", "--warm-up 1.0 is not in 0 to below 1"),
        Arguments.of("bench failover --runs 0", "--runs 0 is below 1"),
        Arguments.of("bench failover --rate 0", "--rate 0.0 is not above 0"),
        Arguments.of("bench failover --fault crash", "expected one of [kill, restart, pause]"),
        Arguments.of("bench failover --after 10ms", "--after 10ms is below 1000ms"),
        Arguments.of("bench partitions --partitions 0", "--partitions 0 is not in 1 to 10000"),
        Arguments.of("bench partitions --idle 0", "--idle 0ms is below 1000ms"),
        Arguments.of("bench", "a command is missing after 'bench'"),
        Arguments.of("topic", "a command is missing after 'topic'"),
        Arguments.of("topic alter t", "nothing to change: give --retention-time"),
        Arguments.of("topic delete-records t", "--before"),
        Arguments.of("topic delete-records t --before 5", "--before 5 needs --partition"),
        Arguments.of("topic delete-records t --partition 0 --before -5", "--before -5 is below 0"),
        Arguments.of("topic create t --retention-time 0", "--retention-time 0 is not in 1000 ms"),
        Arguments.of("topic create t --retention-bytes 0", "--retention-bytes 0 is not in 1048576"),
        Arguments.of("topic sizes --segments", "--segments needs a TOPIC"),
        Arguments.of("log", "a command is missing after 'log'"),
        Arguments.of("log dump", "Missing required parameter: 'PATH'"),
        Arguments.of("log dump x --limit 0", "--limit 0 is below 1"),
        Arguments.of("log verify x --rate 0", "--rate 0 is below 1; leave it out for no limit"),
        Arguments.of("log dump x --from-index -3", "--from-index -3, --from-offset 0: not below 0"),
        Arguments.of("log dump x --from-index 3 --from-offset 3", "give one of them"),
        Arguments.of("cluster start one", "'one' is not an int"),
        Arguments.of("cluster slow 1", "slow needs --latency, --jitter or --loss"),
        Arguments.of("cluster slow 1 --loss 120%", "--loss 120% is not in 0% to 100%"),
        Arguments.of("cluster slow 1 --latency fast", "'fast' is not a duration"),
        Arguments.of("cluster isolate", "Missing required parameter: 'N'"),
        Arguments.of("cluster split", "Missing required parameter: 'SIDE/SIDE'"),
        Arguments.of("cluster up --brokers 2", "--brokers 2: a cluster has 1, 3 or 5 brokers"),
        Arguments.of("cluster up --heap big", "--heap 'big' is not a heap size"),
        Arguments.of("topic create bad!name", "'!' at position 3"),
        Arguments.of("topic create t --partitions 0", "--partitions 0 is not in 1 to 1000"),
        Arguments.of("topic create t --partitions -1", "--partitions -1 is not in 1 to 1000"),
        Arguments.of("topic create t --replicas 0", "--replicas 0 is not in 1, 3 or 5"),
        Arguments.of(
            "topic create t --fsync-interval 0s", "--fsync-interval 0 is not in 1 to 60000"),
        Arguments.of("topic create t --segment-bytes 0", "--segment-bytes 0 is not in 65536 to"),
        Arguments.of("topic create t --max-record-bytes 0", "--max-record-bytes 0 is not in 1024"),
        Arguments.of("load --partitions 0", "--partitions 0 is not in 1 to 1000"),
        Arguments.of("bench produce --replicas 0", "--replicas 0 is not in 1, 3 or 5"),
        Arguments.of("quickstart --lines 5", "--lines 5 is too few"));
  }

  @ParameterizedTest(name = "millrace {0}")
  @MethodSource("wrongCommandLines")
  void isExitCodeTwoAndOneLine(String line, String expected) {
    TestTerminal.Finished finished = terminal.run(line.isEmpty() ? new String[0] : line.split(" "));

    assertThat(finished.exitCode()).isEqualTo(ExitCodes.USAGE);
    assertThat(finished.errorLines()).hasSize(1);
    assertThat(finished.err()).startsWith("millrace: ").contains(expected);
    assertThat(finished.out()).isEmpty();
    assertThat(home.resolve("cluster")).doesNotExist();
  }

  static List<Arguments> withoutACluster() {
    return List.of(
        Arguments.of("cluster status", "there is no cluster in"),
        Arguments.of("cluster down", "start one with: millrace cluster up"),
        Arguments.of("cluster kill 1", "there is no cluster in"),
        Arguments.of("cluster isolate 1", "there is no cluster in"),
        Arguments.of("cluster heal", "there is no cluster in"),
        Arguments.of("bench failover", "there is no cluster in"),
        Arguments.of("log verify nowhere", "no such file: nowhere"),
        Arguments.of("bench partitions", "there is no cluster in"),
        Arguments.of("broker start --config nowhere.properties", "there is no such file"),
        Arguments.of(
            "broker format --config nowhere.properties", "no such file: nowhere.properties"),
        Arguments.of("produce t --file nowhere.txt", "--file nowhere.txt can not be read"));
  }

  @ParameterizedTest(name = "millrace {0}")
  @MethodSource("withoutACluster")
  void isExitCodeOneAndOneLine(String line, String expected) {
    TestTerminal.Finished finished = terminal.run(line.split(" "));

    assertThat(finished.exitCode()).isEqualTo(ExitCodes.FAILED);
    assertThat(finished.errorLines()).hasSize(1);
    assertThat(finished.err()).startsWith("millrace: ").contains(expected);
    assertThat(finished.out()).isEmpty();
  }

  @Test
  void unreachableBrokersAreNamed() throws IOException {
    int port;
    try (var socket = new ServerSocket(0)) {
      port = socket.getLocalPort();
    }

    TestTerminal.Finished finished =
        terminal.run(
            "topic", "list", "--bootstrap", "127.0.0.1:" + port, "--request-timeout", "500ms");

    assertThat(finished.exitCode()).isEqualTo(ExitCodes.FAILED);
    assertThat(finished.errorLines()).hasSize(1);
    assertThat(finished.err()).contains("127.0.0.1:" + port);
  }

  @Test
  void withoutAClusterTheHomeIsNamedAndNobodyWaitsLong() {
    long start = System.nanoTime();

    TestTerminal.Finished finished =
        terminal.run("topic", "list", "--request-timeout", "1s", "--quiet");

    assertThat(finished.exitCode()).isEqualTo(ExitCodes.FAILED);
    assertThat(finished.errorLines()).hasSize(1);
    assertThat(finished.err())
        .contains("no cluster is recorded in " + home.resolve("cluster"), "millrace cluster up");
    assertThat(System.nanoTime() - start).isLessThan(20_000_000_000L);
  }

  @Test
  void aDamagedClusterFileIsNamed() throws IOException {
    Path file = home.resolve("cluster/cluster.json");
    Files.createDirectories(file.getParent());
    Files.writeString(file, "{ not json");

    TestTerminal.Finished finished = terminal.run("cluster", "status");

    assertThat(finished.exitCode()).isEqualTo(ExitCodes.FAILED);
    assertThat(finished.errorLines()).hasSize(1);
    assertThat(finished.err()).contains(file + " can not be used: it is not JSON");
  }

  @Test
  void helpIsExitCodeZeroAndOnStandardOutput() {
    TestTerminal.Finished finished = terminal.run("produce", "--help");

    assertThat(finished.exitCode()).isEqualTo(ExitCodes.OK);
    assertThat(finished.out()).contains("Usage: millrace produce", "--key-separator=TEXT");
    assertThat(finished.err()).isEmpty();
  }

  @Test
  void helpOfConsumeNamesEveryStartPoint() {
    TestTerminal.Finished finished = terminal.run("consume", "--help");

    assertThat(finished.exitCode()).isEqualTo(ExitCodes.OK);
    assertThat(finished.out().replaceAll("\\s+", " "))
        .contains(
            "earliest, latest, an offset (of one partition), a time as 2026-01-31T08:00:00Z, a date"
                + " as 2026-01-31 (its midnight), or @milliseconds.");
  }

  @Test
  void versionNamesTheJava() {
    TestTerminal.Finished finished = terminal.run("--version");

    assertThat(finished.exitCode()).isEqualTo(ExitCodes.OK);
    assertThat(finished.out()).startsWith("millrace ").contains("Java ");
  }

  @Test
  void bootstrapOfTheEnvironmentIsChecked() {
    TestTerminal.Finished finished =
        terminal.with("MILLRACE_BOOTSTRAP", "nowhere").run("topic", "list");

    assertThat(finished.exitCode()).isEqualTo(ExitCodes.USAGE);
    assertThat(finished.err()).contains("MILLRACE_BOOTSTRAP: 'nowhere' is not host:port");
  }
}
