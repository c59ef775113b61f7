package io.millrace.tools.local;

import io.millrace.tools.CommandFailure;
import io.millrace.tools.Waits;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One broker of the local cluster as a process of its own.
 *
 * <p>Owns: its pid file and the two files that its output goes to. Nothing is signalled unless pid
 * and process start agree with the pid file, so a stranger that got the pid is never hit.
 */
final class BrokerProcess {
  /**
   * Runs a command that outlives its parent: own session where setsid(1) exists, so that Ctrl-C and
   * a closed terminal do not reach it, and in any case with those signals ignored.
   */
  private static final String DETACH =
      "trap '' INT HUP; if command -v setsid >/dev/null 2>&1; then exec setsid \"$@\"; fi; exec \"$@\"";

  private static final String READY = "READY broker=";
  private static final Duration KILL_LIMIT = Duration.ofSeconds(10);

  private final ClusterHome home;
  private final ClusterFile.Member member;
  private final PidFile pidFile;

  BrokerProcess(ClusterHome home, ClusterFile.Member member) {
    this.home = home;
    this.member = member;
    this.pidFile = new PidFile(home.pidFile(member.id()));
  }

  ClusterFile.Member member() {
    return member;
  }

  ProcessIdentity.State state() throws IOException {
    Optional<ProcessIdentity> process = pidFile.read();
    return process.isEmpty() ? ProcessIdentity.State.GONE : process.get().state();
  }

  /** The pid, when the process is there. */
  Optional<Long> pid() throws IOException {
    Optional<ProcessIdentity> process = pidFile.read();
    if (process.isEmpty() || process.get().state() == ProcessIdentity.State.GONE) {
      return Optional.empty();
    }
    return Optional.of(process.get().pid());
  }

  Optional<Duration> uptime() throws IOException {
    return pid()
        .flatMap(ProcessHandle::of)
        .flatMap(handle -> handle.info().startInstant())
        .map(start -> Duration.between(start, java.time.Instant.now()))
        .map(uptime -> uptime.isNegative() ? Duration.ZERO : uptime);
  }

  /** A started process whose READY line is still awaited. */
  record Starting(ProcessIdentity process, long logPosition) {}

  Starting start(List<String> command) throws IOException, InterruptedException {
    Path log = home.logFile(member.id());
    Files.createDirectories(log.getParent());
    long logPosition = Files.exists(log) ? Files.size(log) : 0;
    var shell = new ArrayList<>(List.of("/bin/sh", "-c", DETACH, "millrace-broker"));
    shell.addAll(command);
    Process started =
        new ProcessBuilder(shell)
            .directory(home.brokerDirectory(member.id()).toFile())
            .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
            .redirectError(ProcessBuilder.Redirect.to(home.errorFile(member.id()).toFile()))
            .start();
    // exec keeps pid and start time, so the identity of the shell is that of the broker.
    ProcessIdentity identity =
        ProcessIdentity.of(started.pid()).orElseThrow(() -> ended(started.pid()));
    pidFile.write(identity);
    return new Starting(identity, logPosition);
  }

  /** True when the broker serves; a failure that names its last words when it ended instead. */
  boolean isReady(Starting starting) throws IOException {
    if (starting.process().state() == ProcessIdentity.State.GONE) {
      throw ended(starting.process().pid());
    }
    try (var lines = Files.newByteChannel(home.logFile(member.id()))) {
      lines.position(Math.min(starting.logPosition(), lines.size()));
      var tail =
          new String(
              java.nio.channels.Channels.newInputStream(lines).readAllBytes(),
              StandardCharsets.UTF_8);
      return tail.lines().anyMatch(line -> line.startsWith(READY + member.id() + " "));
    }
  }

  private CommandFailure ended(long pid) {
    return new CommandFailure(
        "broker "
            + member.id()
            + " (process "
            + pid
            + ") ended while starting: "
            + lastWords()
            + "; its log: "
            + home.logFile(member.id()));
  }

  private String lastWords() {
    for (Path file : List.of(home.errorFile(member.id()), home.logFile(member.id()))) {
      try (var lines = Files.lines(file)) {
        Optional<String> last = lines.filter(line -> !line.isBlank()).reduce((a, b) -> b);
        if (last.isPresent()) {
          return last.get().strip();
        }
      } catch (IOException | java.io.UncheckedIOException e) {
        return "its output can not be read (" + e.getMessage() + ")";
      }
    }
    return "it printed nothing";
  }

  void kill() throws IOException, InterruptedException {
    ProcessIdentity process = running();
    Signals.KILL.send(process.pid());
    if (!Waits.until(KILL_LIMIT, () -> process.state() == ProcessIdentity.State.GONE)) {
      throw new CommandFailure(
          "process " + process.pid() + " of broker " + member.id() + " did not end after SIGKILL");
    }
  }

  void pause() throws IOException, InterruptedException {
    Signals.STOP.send(running().pid());
  }

  void resume() throws IOException, InterruptedException {
    Signals.CONT.send(running().pid());
  }

  /** Asks for a clean stop: the broker hands its leaderships over first. */
  void terminate() throws IOException, InterruptedException {
    ProcessIdentity process = running();
    if (process.state() == ProcessIdentity.State.PAUSED) {
      // A stopped process takes SIGTERM only when it runs again.
      Signals.CONT.send(process.pid());
    }
    Signals.TERM.send(process.pid());
  }

  boolean isGone() throws IOException {
    return state() == ProcessIdentity.State.GONE;
  }

  private ProcessIdentity running() throws IOException {
    Optional<ProcessIdentity> process = pidFile.read();
    if (process.isEmpty() || process.get().state() == ProcessIdentity.State.GONE) {
      throw new CommandFailure(
          "broker " + member.id() + " is not running; see: millrace cluster status");
    }
    return process.get();
  }
}
