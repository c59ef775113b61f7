package io.millrace.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * A cluster of real broker processes for one test class, driven by command lines alone. Closing it
 * stops what still runs; a broker's log is printed when a command fails.
 */
final class RunningCluster implements AutoCloseable {
  static final int BROKERS = 3;
  private static final Duration HEALTHY_LIMIT = Duration.ofSeconds(60);
  private static final int LOG_LINES = 40;

  /** Below the ports that the system gives to outgoing connections, which could take a broker's. */
  private static final int FIRST_PORT = 20_000;

  private static final int LAST_PORT = 32_000;

  private final Path home;
  private final TestTerminal terminal;
  private final int basePort;

  RunningCluster(Path home) throws IOException {
    this.home = home;
    this.terminal = new TestTerminal(home);
    this.basePort = freePorts();
  }

  void up() {
    succeed(
        "cluster",
        "up",
        "--base-port",
        Integer.toString(basePort),
        "--heap",
        "256m",
        "--java-option",
        "-XX:TieredStopAtLevel=1");
  }

  Path home() {
    return home;
  }

  int basePort() {
    return basePort;
  }

  TestTerminal terminal() {
    return terminal;
  }

  TestTerminal.Finished run(String... args) {
    return terminal.run(args);
  }

  /** Runs a command that must succeed. */
  TestTerminal.Finished succeed(String... args) {
    return succeeded(terminal.run(args), args);
  }

  TestTerminal.Finished succeedWith(String input, String... args) {
    return succeeded(terminal.runWith(input, args), args);
  }

  private TestTerminal.Finished succeeded(TestTerminal.Finished finished, String... args) {
    if (finished.exitCode() != ExitCodes.OK) {
      printLogs();
    }
    assertThat(finished.exitCode())
        .as("millrace %s\n%s%s", String.join(" ", args), finished.out(), finished.err())
        .isEqualTo(ExitCodes.OK);
    return finished;
  }

  /** Runs a command that must fail at run time, with one error line, and returns that line. */
  String fail(String... args) {
    return failed(terminal.run(args), args);
  }

  String failWith(String input, String... args) {
    return failed(terminal.runWith(input, args), args);
  }

  private static String failed(TestTerminal.Finished finished, String... args) {
    assertThat(finished.exitCode())
        .as("millrace %s\n%s%s", String.join(" ", args), finished.out(), finished.err())
        .isEqualTo(ExitCodes.FAILED);
    List<String> lines =
        finished.errorLines().stream().filter(line -> line.startsWith("millrace: ")).toList();
    assertThat(lines).as(finished.err()).hasSize(1);
    assertThat(finished.err()).doesNotContain("\tat ");
    return lines.get(0);
  }

  /** Waits until every broker and every partition is well; shows what is not. */
  void awaitHealthy() {
    await()
        .atMost(HEALTHY_LIMIT)
        .untilAsserted(
            () -> {
              TestTerminal.Finished status = terminal.run("cluster", "status");
              assertThat(status.exitCode()).as(status.out() + status.err()).isZero();
            });
  }

  JsonElement json(String... args) {
    return JsonParser.parseString(succeed(args).out());
  }

  private void printLogs() {
    for (int broker = 1; broker <= BROKERS; broker++) {
      Path log = home.resolve("broker-" + broker).resolve("log").resolve("broker.log");
      if (Files.exists(log)) {
        try {
          List<String> lines = Files.readAllLines(log);
          System.err.println("--- " + log);
          lines
              .subList(Math.max(0, lines.size() - LOG_LINES), lines.size())
              .forEach(System.err::println);
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }
    }
  }

  @Override
  public void close() {
    if (Files.exists(home.resolve("cluster.json"))) {
      terminal.run("cluster", "down", "--timeout", "20s");
    }
  }

  private static int freePorts() throws IOException {
    // From a place that depends on the process, so that builds side by side rarely meet.
    int span = LAST_PORT - FIRST_PORT;
    int start = (int) (ProcessHandle.current().pid() * 7 % span);
    for (int i = 0; i < span; i += BROKERS) {
      int port = FIRST_PORT + (start + i) % (span - BROKERS);
      if (isFree(port) && isFree(port + 1) && isFree(port + 2)) {
        return port;
      }
    }
    throw new IOException("no three free ports from " + FIRST_PORT + " to " + LAST_PORT);
  }

  private static boolean isFree(int port) {
    try (var socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      return socket.isBound();
    } catch (IOException taken) {
      return false;
    }
  }
}
