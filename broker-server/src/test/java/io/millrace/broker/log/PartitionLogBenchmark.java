package io.millrace.broker.log;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * Measures appends and reads of one log on the real disk, by hand: {@code PartitionLogBenchmark
 * <directory>}. Not a test; numbers depend on the machine.
 */
public final class PartitionLogBenchmark {

  private static final int ROUNDS = 5;

  private PartitionLogBenchmark() {}

  public static void main(String[] args) throws IOException {
    Path base = Path.of(args[0]);
    append(base, FsyncPolicy.OS, 128 * 1024, 1, 8000);
    append(base, FsyncPolicy.OS, 128 * 1024, 32, 8000);
    append(base, FsyncPolicy.OS, 200, 1, 300_000);
    append(base, FsyncPolicy.OS, 200, 32, 1_000_000);
    append(base, FsyncPolicy.ALWAYS, 200, 32, 20_000);
    append(base, FsyncPolicy.ALWAYS, 128 * 1024, 8, 2000);
  }

  private static void append(Path base, FsyncPolicy fsync, int bytes, int group, int count)
      throws IOException {
    ByteBuffer batch = TestBatches.records(Math.max(1, bytes / 1024), bytes, 1000, 1);
    for (int round = 0; round < ROUNDS; round++) {
      Path directory = base.resolve("bench");
      deleteAll(directory);
      LogConfig config = new LogConfig(fsync, 0, 256L << 20);
      try (PartitionLog log =
          PartitionLog.open(
              new DirectDisk(),
              directory,
              LogScript.IDENTITY,
              config,
              RecoveryHint.NONE,
              LogListener.NONE)) {
        long start = System.nanoTime();
        long cpuStart = cpuNanos();
        for (int done = 0; done < count; done += group) {
          List<LogEntry> entries = new ArrayList<>(group);
          for (int i = 0; i < group; i++) {
            entries.add(new LogEntry(done + i + 1L, 1, batch));
          }
          log.append(entries);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        double cpuSeconds = (cpuNanos() - cpuStart) / 1e9;
        long readStart = System.nanoTime();
        int reads = 0;
        for (long index = 1; index <= log.lastIndex() && reads < 20_000; index++, reads++) {
          log.read(index);
        }
        double readSeconds = (System.nanoTime() - readStart) / 1e9;
        long sliceStart = System.nanoTime();
        int slices = 0;
        for (long offset = 0; offset < log.logEnd() && slices < 20_000; slices++) {
          FetchSlice slice = log.slice(offset, log.logEnd(), 1 << 20);
          offset = slice.nextOffset();
          slice.release();
        }
        double sliceSeconds = (System.nanoTime() - sliceStart) / 1e9;
        System.out.printf(
            Locale.ROOT,
            "%s, %d bytes, %d per append: %.0f batches/s, %.0f MB/s,"
                + " per CPU second %.0f and %.0f; read %.1f us; slice %.1f us%n",
            fsync,
            bytes,
            group,
            count / seconds,
            count / seconds * bytes / 1e6,
            count / cpuSeconds,
            count / cpuSeconds * bytes / 1e6,
            readSeconds * 1e6 / reads,
            sliceSeconds * 1e6 / slices);
      }
      deleteAll(directory);
    }
  }

  private static long cpuNanos() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  private static void deleteAll(Path directory) throws IOException {
    if (Files.exists(directory)) {
      try (Stream<Path> files = Files.walk(directory)) {
        for (Path each : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(each);
        }
      }
    }
  }
}
