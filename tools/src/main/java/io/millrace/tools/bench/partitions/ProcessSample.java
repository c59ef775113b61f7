package io.millrace.tools.bench.partitions;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * What the kernel says of a process at one moment. Linux only.
 *
 * @param takenNanos on the clock of {@link System#nanoTime}
 * @param diskWriteBytes that it caused to be written to disk so far
 * @param switches of each thread so far, by its id
 */
record ProcessSample(
    long takenNanos,
    long cpuTicks,
    long rssBytes,
    int threads,
    long diskWriteBytes,
    Map<Long, Switches> switches) {

  static final Path PROC = Path.of("/proc");

  /** The kernel shows times to programs in hundredths on every machine that Java 17 runs on. */
  static final int TICKS_PER_SECOND = 100;

  private static final int KIB = 1024;

  /**
   * Context switches of a thread.
   *
   * @param voluntary it waited for something
   * @param involuntary its time slice was over, or another was more urgent
   */
  record Switches(long voluntary, long involuntary) {
    static final Switches NONE = new Switches(0, 0);

    Switches plus(Switches other) {
      return new Switches(voluntary + other.voluntary, involuntary + other.involuntary);
    }

    Switches minus(Switches other) {
      return new Switches(voluntary - other.voluntary, involuntary - other.involuntary);
    }
  }

  /** Whether this machine can be asked. */
  static boolean isSupported() {
    return Files.isReadable(PROC.resolve("self/io"))
        && Files.isDirectory(PROC.resolve("self/task"));
  }

  /**
   * @param proc the directory that is /proc
   */
  static ProcessSample take(Path proc, long pid) throws IOException {
    Path process = proc.resolve(Long.toString(pid));
    String status = Files.readString(process.resolve("status"));
    return new ProcessSample(
        System.nanoTime(),
        ProcText.cpuTicks(Files.readString(process.resolve("stat"))),
        ProcText.field(status, "VmRSS") * KIB,
        Math.toIntExact(ProcText.field(status, "Threads")),
        ProcText.field(Files.readString(process.resolve("io")), "write_bytes"),
        switches(process.resolve("task")));
  }

  private static Map<Long, Switches> switches(Path tasks) throws IOException {
    List<Path> threads;
    try (Stream<Path> entries = Files.list(tasks)) {
      threads = entries.toList();
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    var switches = new HashMap<Long, Switches>();
    for (Path thread : threads) {
      String status;
      try {
        status = Files.readString(thread.resolve("status"));
      } catch (NoSuchFileException ended) {
        continue;
      } catch (IOException e) {
        // ESRCH: the thread ended between open and read.
        if (!Files.exists(thread)) {
          continue;
        }
        throw e;
      }
      switches.put(
          Long.parseLong(thread.getFileName().toString()),
          new Switches(
              ProcText.field(status, "voluntary_ctxt_switches"),
              ProcText.field(status, "nonvoluntary_ctxt_switches")));
    }
    return switches;
  }

  /** CPU time from then to now, as a percentage of one core. */
  double cpuPercentSince(ProcessSample then) {
    return 100.0 * (cpuTicks - then.cpuTicks) / TICKS_PER_SECOND / secondsSince(then);
  }

  /** Of all threads; what a thread did that ended meanwhile is not known and left out. */
  Switches switchesSince(ProcessSample then) {
    Switches sum = Switches.NONE;
    for (var thread : switches.entrySet()) {
      Switches before = then.switches.getOrDefault(thread.getKey(), Switches.NONE);
      sum = sum.plus(thread.getValue().minus(before));
    }
    return sum;
  }

  double secondsSince(ProcessSample then) {
    return Math.max(takenNanos - then.takenNanos, 1) / 1e9;
  }
}
