package io.millrace.broker;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.log.DirectDisk;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A broker as a process: what it prints and how it ends. */
@Timeout(90)
class BrokerMainIT {

  @TempDir Path dir;

  private final List<Process> started = new ArrayList<>();
  private Path data;
  private Path errors;

  @BeforeEach
  void format() throws IOException {
    data = dir.resolve("data");
    errors = dir.resolve("stderr");
    DataDirectory.format(new DirectDisk(), data, "shop", 1, List.of(1));
    ClusterSecretFile.makeIfMissing(dir.resolve("secret"));
  }

  @AfterEach
  void stop() {
    started.forEach(Process::destroyForcibly);
  }

  private Path config(int port, String... more) throws IOException {
    List<String> lines =
        new ArrayList<>(
            List.of(
                "broker.id=1",
                "listen=127.0.0.1:" + port,
                "data.dir=" + data,
                "cluster.secret.file=" + dir.resolve("secret"),
                "cluster.brokers=2@127.0.0.1:1"));
    lines.addAll(List.of(more));
    return Files.write(dir.resolve("broker.properties"), lines);
  }

  private Process start(String... arguments) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-Dcom.google.protobuf.use_unsafe_pre22_gencode=true",
                "-cp",
                System.getProperty("java.class.path"),
                BrokerMain.class.getName()));
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectError(errors.toFile()).start();
    started.add(process);
    return process;
  }

  private void ends(Process process, int status, String lastLine)
      throws IOException, InterruptedException {
    process.getInputStream().readAllBytes();
    assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
    assertThat(Files.readAllLines(errors)).last().asString().startsWith(lastLine);
    assertThat(process.exitValue()).isEqualTo(status);
  }

  @Test
  void withoutAConfigurationItTellsTheUsage() throws Exception {
    ends(start("--conf", "x"), 2, "millrace broker: usage: --config FILE");
  }

  @Test
  void aTypoIsOneLine() throws Exception {
    Path config = config(0, "max.conections=5");
    ends(
        start("--config", config.toString()),
        1,
        "millrace broker: "
            + config
            + ": unknown key \"max.conections\" (value \"5\"); did you mean \"max.connections\"?");
    assertThat(Files.readAllLines(errors)).hasSize(1);
  }

  @Test
  void aMissingSecretIsOneLine() throws Exception {
    Path config = config(0, "cluster.secret.file=");
    ends(
        start("--config", config.toString()), 1, "millrace broker: cluster.secret.file is missing");
    assertThat(Files.readAllLines(errors)).hasSize(1);
  }

  @Test
  void anAddressInUseIsOneLine() throws Exception {
    try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      ends(
          start("--config", config(other.getLocalPort()).toString()),
          1,
          "millrace broker: cannot listen on 127.0.0.1:" + other.getLocalPort() + ": ");
    }
  }

  @Test
  void aSecondStartNamesTheFirstAndTermEndsCleanly() throws Exception {
    Process first = start("--config", config(0).toString());
    BufferedReader output = new BufferedReader(new InputStreamReader(first.getInputStream()));
    String ready =
        output.lines().filter(line -> line.startsWith("READY broker=1 listen=")).findFirst().get();
    assertThat(ready).matches("READY broker=1 listen=127.0.0.1:[1-9]\\d*");
    Thread draining = new Thread(() -> output.lines().forEach(line -> {}));
    draining.start();

    Path real = data.toRealPath();
    ends(
        start("--config", config(0).toString()),
        1,
        "millrace broker: data directory " + real + " is in use by process " + first.pid() + ";");

    first.destroy();
    assertThat(first.waitFor(30, TimeUnit.SECONDS)).isTrue();
    assertThat(Files.readString(data.resolve("last-run"))).contains("clean=true");
  }
}
