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
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * Reads the assigned partitions of a reader and writes each record.
 *
 * <p>Threads: {@link #run} on one thread; {@link #stop} from any.
 */
public final class ConsumeRun {
  private static final long POLL_MILLIS = 200;

  /** So long without a record before anybody is asked why. */
  private static final Duration QUIET = Duration.ofSeconds(5);

  private static final Duration TROUBLE_INTERVAL = Duration.ofSeconds(10);

  /** A line of {@link Reader#health} ends with the last error in brackets, if there is one. */
  private static final Pattern TROUBLE = Pattern.compile("\\(.+\\)$");

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
  private final Supplier<String> silence;
  private final Set<TopicPartition> unfinished = new HashSet<>();
  private final long startNanos = System.nanoTime();
  private long troubleNanos = startNanos - TROUBLE_INTERVAL.toNanos();
  private volatile boolean stop;
  private long records;

  public ConsumeRun(Reader reader, RecordFormat format, OutputStream out, Limits limits) {
    this(reader, format, out, limits, () -> "");
  }

  /**
   * @param silence asked while no record comes: in words that no broker answers; empty: one does
   */
  public ConsumeRun(
      Reader reader,
      RecordFormat format,
      OutputStream out,
      Limits limits,
      Supplier<String> silence) {
    this.silence = silence;
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
      sayTrouble(progress, lastRecordNanos);
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

  /** A follower that gets nothing must not look like one of a topic where nothing happens. */
  private void sayTrouble(Progress progress, long lastRecordNanos) {
    long now = System.nanoTime();
    if (now - lastRecordNanos < QUIET.toNanos()
        || now - troubleNanos < TROUBLE_INTERVAL.toNanos()) {
      return;
    }
    String trouble = silence.get();
    if (trouble.isEmpty()) {
      trouble = troubles(reader.health());
    }
    if (!trouble.isEmpty()) {
      troubleNanos = now;
      progress.step(trouble);
    }
  }

  /** The lines of partitions that have a trouble, the first of them in full. */
  static String troubles(String health) {
    List<String> lines = health.lines().filter(line -> TROUBLE.matcher(line).find()).toList();
    return lines.isEmpty()
        ? ""
        : lines.get(0)
            + (lines.size() == 1
                ? ""
                : " (and " + Words.count(lines.size() - 1, "further partition") + ")");
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
