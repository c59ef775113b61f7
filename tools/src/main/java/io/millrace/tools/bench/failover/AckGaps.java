package io.millrace.tools.bench.failover;

import java.util.Arrays;

/**
 * Times without a successful acknowledgement, around a fault: the time between two that follow each
 * other. A gap belongs to the fault when the acknowledgement that ends it came after the fault, so
 * one that the fault falls into counts from its beginning.
 *
 * @param longestNanos the longest gap after the fault
 * @param beganNanos when that gap began, counted from the fault; negative: before it
 * @param longestBeforeNanos the longest gap before the fault: what is usual
 * @param open no acknowledgement ended the longest gap: the watching did
 */
public record AckGaps(long longestNanos, long beganNanos, long longestBeforeNanos, boolean open) {
  /**
   * @param ackNanos when acknowledgements came, in any order
   * @param warmUpNanos gaps that begin so soon after the first acknowledgement are not counted
   *     before the fault
   * @param endNanos until when acknowledgements were due
   */
  public static AckGaps around(long[] ackNanos, long faultNanos, long warmUpNanos, long endNanos) {
    // Subtracted from one point first: nanoTime may be negative or overflow.
    long[] times = Arrays.stream(ackNanos).map(time -> time - faultNanos).sorted().toArray();
    long longest = 0;
    long began = 0;
    long before = 0;
    for (int i = 1; i < times.length; i++) {
      long gap = times[i] - times[i - 1];
      if (times[i] < 0) {
        if (times[i - 1] - times[0] >= warmUpNanos) {
          before = Math.max(before, gap);
        }
      } else if (gap > longest) {
        longest = gap;
        began = times[i - 1];
      }
    }
    long last = times.length == 0 ? 0 : times[times.length - 1];
    long left = endNanos - faultNanos - last;
    if (left > longest) {
      return new AckGaps(left, last, before, true);
    }
    return new AckGaps(longest, began, before, false);
  }
}
