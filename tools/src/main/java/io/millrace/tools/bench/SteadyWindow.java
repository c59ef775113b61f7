package io.millrace.tools.bench;

import org.HdrHistogram.Histogram;

/**
 * What is measured: the part of a run after the warm-up.
 *
 * <p>The window opens when the last warm-up record is done and closes with the last record; rate
 * and latencies are of the records in between. JIT compilation, connections and first segments are
 * thus left out.
 *
 * <p>Threads: any; one lock.
 */
final class SteadyWindow {
  private static final int DIGITS = 3;
  private static final long NANOS_PER_MICRO = 1_000;
  private static final double NANOS_PER_SECOND = 1e9;

  /**
   * @param warmUpRecords done before the window, not measured
   * @param failed records in the whole run that were not done
   * @param seconds length of the window
   */
  record Result(
      long warmUpRecords,
      long records,
      long failed,
      long bytes,
      double seconds,
      double recordsPerSecond,
      double mibPerSecond,
      double p50Millis,
      double p95Millis,
      double p99Millis,
      double p999Millis,
      double maxMillis) {}

  private final long warmUpRecords;
  private final Histogram latencyMicros = new Histogram(DIGITS);
  private long done;
  private long failed;
  private long bytes;
  private long records;
  private long openedNanos;
  private long lastNanos;

  SteadyWindow(long warmUpRecords) {
    this.warmUpRecords = warmUpRecords;
  }

  synchronized void done(long nowNanos, long latencyNanos, long recordBytes) {
    done++;
    if (done <= warmUpRecords) {
      openedNanos = nowNanos;
      return;
    }
    if (warmUpRecords == 0 && done == 1) {
      openedNanos = nowNanos - latencyNanos;
    }
    records++;
    bytes += recordBytes;
    lastNanos = Math.max(lastNanos, nowNanos);
    latencyMicros.recordValue(Math.max(0, latencyNanos) / NANOS_PER_MICRO);
  }

  synchronized void failed() {
    failed++;
  }

  synchronized long doneSoFar() {
    return done;
  }

  synchronized Result result() {
    double seconds = records == 0 ? 0 : Math.max(lastNanos - openedNanos, 1) / NANOS_PER_SECOND;
    return new Result(
        done - records,
        records,
        failed,
        bytes,
        seconds,
        records == 0 ? 0 : records / seconds,
        records == 0 ? 0 : bytes / seconds / (1024 * 1024),
        millis(50),
        millis(95),
        millis(99),
        millis(99.9),
        latencyMicros.getMaxValue() / 1e3);
  }

  private double millis(double percentile) {
    return latencyMicros.getValueAtPercentile(percentile) / 1e3;
  }
}
