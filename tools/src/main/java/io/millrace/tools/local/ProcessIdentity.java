package io.millrace.tools.local;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A process that can be told from a later one with the same pid.
 *
 * <p>Linux: the boot id and the start in clock ticks since boot, which no change of the wall clock
 * moves. Elsewhere: the start time that the JVM reports.
 *
 * @param start when the process was started, in a form only good for comparison
 */
record ProcessIdentity(long pid, String start) {
  private static final Path PROC = Path.of("/proc");
  private static final Path BOOT_ID = PROC.resolve("sys/kernel/random/boot_id");

  /** Fields of /proc/PID/stat after the command name, counted from 0; see proc(5). */
  private static final int STAT_STATE = 0;

  private static final int STAT_START_TICKS = 19;

  /** What the operating system says of a process. */
  enum State {
    RUNNING,
    PAUSED,
    GONE
  }

  private record Snapshot(String start, State state) {}

  static Optional<ProcessIdentity> of(long pid) throws IOException {
    return snapshot(pid)
        .filter(snapshot -> snapshot.state() != State.GONE)
        .map(snapshot -> new ProcessIdentity(pid, snapshot.start()));
  }

  /** GONE when the pid is free, a zombie, or belongs to another process by now. */
  State state() throws IOException {
    return snapshot(pid)
        .filter(snapshot -> snapshot.start().equals(start))
        .map(Snapshot::state)
        .orElse(State.GONE);
  }

  private static Optional<Snapshot> snapshot(long pid) throws IOException {
    return Files.isReadable(BOOT_ID) ? fromProc(pid) : fromJvm(pid);
  }

  private static Optional<Snapshot> fromProc(long pid) throws IOException {
    String stat;
    try {
      stat = Files.readString(PROC.resolve(Long.toString(pid)).resolve("stat"));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      // ESRCH: the process ended between open and read.
      if (ProcessHandle.of(pid).isEmpty()) {
        return Optional.empty();
      }
      throw e;
    }
    // The name in parentheses may hold blanks and parentheses itself.
    String[] fields = stat.substring(stat.lastIndexOf(')') + 1).strip().split(" +");
    State state =
        switch (fields[STAT_STATE]) {
          case "T", "t" -> State.PAUSED;
          // The first thread of a killed process is a zombie while others still hold files and
          // ports.
          case "Z" -> hasOtherThreads(pid) ? State.RUNNING : State.GONE;
          case "X", "x" -> State.GONE;
          default -> State.RUNNING;
        };
    String boot = Files.readString(BOOT_ID).strip();
    return Optional.of(new Snapshot(boot + ":" + fields[STAT_START_TICKS], state));
  }

  private static boolean hasOtherThreads(long pid) throws IOException {
    try (Stream<Path> threads = Files.list(PROC.resolve(Long.toString(pid)).resolve("task"))) {
      return threads.count() > 1;
    } catch (NoSuchFileException e) {
      return false;
    } catch (IOException | UncheckedIOException e) {
      // The process ended between open and read.
      if (ProcessHandle.of(pid).isEmpty()) {
        return false;
      }
      throw e;
    }
  }

  private static Optional<Snapshot> fromJvm(long pid) throws IOException {
    Optional<ProcessHandle> handle = ProcessHandle.of(pid).filter(ProcessHandle::isAlive);
    if (handle.isEmpty()) {
      return Optional.empty();
    }
    String start =
        handle.get().info().startInstant().map(i -> Long.toString(i.toEpochMilli())).orElse("?");
    String flags = Signals.outputOf("ps", "-o", "stat=", "-p", Long.toString(pid)).strip();
    State state = State.RUNNING;
    if (flags.startsWith("T")) {
      state = State.PAUSED;
    } else if (flags.startsWith("Z") || flags.isEmpty()) {
      state = State.GONE;
    }
    return Optional.of(new Snapshot(start, state));
  }
}
