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
  static final int NO_PARTITION = -1;

  private static final int DIGITS = 3;
  private static final long NANOS_PER_MICRO = 1_000;
  private static final long NANOS_PER_MILLI = 1_000_000;

  /**
   * @param partition the one that was longest without an acknowledgement, {@link #NO_PARTITION} =
   *     none
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
  private int gapPartition = NO_PARTITION;
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
    partitionGap(partition, lastOfPartition.put(partition, now), now);
  }

  private void partitionGap(int partition, Long before, long now) {
    if (before != null && now - before > partitionGap) {
      partitionGap = now - before;
      gapPartition = partition;
    }
  }

  /** Sending ends: until now each partition was due to acknowledge. */
  synchronized void sendingEnded() {
    long now = clock.getAsLong();
    longestGap = Math.max(longestGap, now - last);
    lastOfPartition.forEach((partition, before) -> partitionGap(partition, before, now));
  }

  /**
   * An acknowledgement was waited for until now and did not come.
   *
   * @param partition of the record, {@link #NO_PARTITION} when it is not known
   */
  synchronized void missed(int partition) {
    long now = clock.getAsLong();
    longestGap = Math.max(longestGap, now - last);
    partitionGap(partition, lastOfPartition.get(partition), now);
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
