package io.millrace.tools.load;

import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.HdrHistogram.Histogram;

/**
 * When acknowledgements came: latencies, and the longest time without any, which is what a failover
 * costs.
 *
 * <p>Threads: any; one lock.
 */
final class AckTimes {
  private static final int DIGITS = 3;
  private static final long NANOS_PER_MICRO = 1_000;
  private static final long NANOS_PER_MILLI = 1_000_000;

  /**
   * @param partition the one with the longest gap between two of its acknowledgements, -1 = none
   */
  record Summary(
      long longestGapMillis,
      int partition,
      long partitionGapMillis,
      long p50Micros,
      long p99Micros,
      long maxMicros) {}

  private final LongSupplier clock;
  private final Histogram latencyMicros = new Histogram(DIGITS);
  private final Map<Integer, Long> lastOfPartition = new HashMap<>();
  private long last;
  private long longestGap;
  private int gapPartition = -1;
  private long partitionGap;

  AckTimes(LongSupplier nanoClock) {
    this.clock = nanoClock;
    this.last = nanoClock.getAsLong();
  }

  synchronized void acked(int partition, long sentNanos) {
    long now = clock.getAsLong();
    latencyMicros.recordValue(Math.max(0, now - sentNanos) / NANOS_PER_MICRO);
    longestGap = Math.max(longestGap, now - last);
    last = now;
    Long before = lastOfPartition.put(partition, now);
    if (before != null && now - before > partitionGap) {
      partitionGap = now - before;
      gapPartition = partition;
    }
  }

  /** Sending ends: a gap that is still open counts up to now. */
  synchronized void stop() {
    longestGap = Math.max(longestGap, clock.getAsLong() - last);
  }

  synchronized Summary summary() {
    return new Summary(
        longestGap / NANOS_PER_MILLI,
        gapPartition,
        partitionGap / NANOS_PER_MILLI,
        latencyMicros.getValueAtPercentile(50),
        latencyMicros.getValueAtPercentile(99),
        latencyMicros.getMaxValue());
  }
}
