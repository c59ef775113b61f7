package io.millrace.tools.bench;

import io.millrace.client.Reader;
import io.millrace.client.ReceivedRecord;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.Progress;
import io.millrace.tools.Words;
import java.time.Duration;
import java.util.List;

/**
 * Reads records as fast as they come. A record's latency is the duration of the poll that returned
 * it: how long the application waited for it.
 */
final class ConsumeBench {
  private static final long POLL_MILLIS = 1_000;

  private final Reader reader;
  private final long records;
  private final Duration idleLimit;
  private final SteadyWindow window;
  private volatile boolean stop;

  ConsumeBench(Reader reader, long records, Duration idleLimit, SteadyWindow window) {
    this.reader = reader;
    this.records = records;
    this.idleLimit = idleLimit;
    this.window = window;
  }

  void run(Progress progress) {
    long read = 0;
    long startNanos = System.nanoTime();
    long lastRecordNanos = startNanos;
    while (read < records && !stop) {
      long begin = System.nanoTime();
      List<ReceivedRecord> polled = reader.poll(POLL_MILLIS);
      long now = System.nanoTime();
      for (ReceivedRecord record : polled) {
        window.done(now, now - begin, bytes(record));
      }
      read += polled.size();
      if (!polled.isEmpty()) {
        lastRecordNanos = now;
      } else if (now - lastRecordNanos >= idleLimit.toNanos()) {
        throw new CommandFailure(
            "no record for "
                + Words.millis(idleLimit.toMillis())
                + " after "
                + Words.count(read)
                + " of "
                + Words.count(records)
                + "; "
                + reader.health().lines().findFirst().orElse("no further facts"));
      }
      if (progress.due()) {
        progress.show(
            Words.count(read)
                + " of "
                + Words.count(records)
                + " read, "
                + Words.count(Math.round(read / Math.max((now - startNanos) / 1e9, 1e-3)))
                + " records/s");
      }
    }
    progress.clear();
  }

  private static long bytes(ReceivedRecord record) {
    return (record.key() == null ? 0 : record.key().length)
        + (record.value() == null ? 0 : record.value().length);
  }

  void stop() {
    stop = true;
    reader.wakeup();
  }
}
