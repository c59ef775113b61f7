package io.millrace.tools.records;

import io.millrace.client.Reader;
import io.millrace.client.ReceivedRecord;
import io.millrace.client.TopicPartition;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.Progress;
import io.millrace.tools.Words;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Reads the assigned partitions of a reader and writes each record.
 *
 * <p>Threads: {@link #run} on one thread; {@link #stop} from any.
 */
public final class ConsumeRun {
  private static final long POLL_MILLIS = 200;

  /**
   * When to end.
   *
   * @param ends read up to these offsets, exclusive; null: follow what comes
   * @param maxRecords 0: no limit
   * @param idle longest time without a record: an end when following, a failure otherwise; zero: no
   *     limit
   */
  public record Limits(Map<TopicPartition, Long> ends, long maxRecords, Duration idle) {}

  private final Reader reader;
  private final RecordFormat format;
  private final OutputStream out;
  private final Limits limits;
  private final Set<TopicPartition> unfinished = new HashSet<>();
  private final long startNanos = System.nanoTime();
  private volatile boolean stop;
  private long records;

  public ConsumeRun(Reader reader, RecordFormat format, OutputStream out, Limits limits) {
    this.reader = reader;
    this.format = format;
    this.out = out;
    this.limits = limits;
  }

  /** Returns the number of records written. */
  public long run(Progress progress) throws IOException {
    if (limits.ends() != null) {
      unfinished.addAll(limits.ends().keySet());
      dropFinished();
      if (unfinished.isEmpty()) {
        return 0;
      }
    }
    long lastRecordNanos = System.nanoTime();
    while (!stop) {
      List<ReceivedRecord> polled = reader.poll(POLL_MILLIS);
      if (!polled.isEmpty()) {
        lastRecordNanos = System.nanoTime();
      }
      boolean full = write(polled);
      if (!flushed()) {
        // The reader of a pipe has seen enough, as head(1) does.
        break;
      }
      if (progress.due()) {
        double seconds = Math.max((System.nanoTime() - startNanos) / 1e9, 1e-3);
        progress.show(
            Words.count(records, "record")
                + ", "
                + Words.count(Math.round(records / seconds))
                + " records/s");
      }
      if (full) {
        break;
      }
      if (limits.ends() != null) {
        dropFinished();
        if (unfinished.isEmpty()) {
          break;
        }
      }
      if (idleFor(lastRecordNanos)) {
        if (limits.ends() == null) {
          break;
        }
        progress.clear();
        throw new CommandFailure(
            "no record for "
                + Words.millis(limits.idle().toMillis())
                + " before the end of "
                + Words.count(unfinished.size(), "partition")
                + " ("
                + reader.health().lines().findFirst().orElse("no further facts")
                + "); "
                + Words.count(records, "record")
                + " read");
      }
    }
    progress.clear();
    return records;
  }

  private boolean flushed() throws IOException {
    if (out instanceof PrintStream printed) {
      return !printed.checkError();
    }
    out.flush();
    return true;
  }

  private boolean idleFor(long lastRecordNanos) {
    return !limits.idle().isZero()
        && System.nanoTime() - lastRecordNanos >= limits.idle().toNanos();
  }

  /** True when the limit of records is reached. */
  private boolean write(List<ReceivedRecord> polled) throws IOException {
    for (ReceivedRecord record : polled) {
      if (limits.ends() != null) {
        Long end = limits.ends().get(new TopicPartition(record.topic(), record.partition()));
        if (end != null && record.offset() >= end) {
          continue;
        }
      }
      format.write(record, out);
      records++;
      if (limits.maxRecords() > 0 && records >= limits.maxRecords()) {
        return true;
      }
    }
    return false;
  }

  private void dropFinished() {
    unfinished.removeIf(partition -> reader.position(partition) >= limits.ends().get(partition));
  }

  public void stop() {
    stop = true;
    reader.wakeup();
  }
}
