package io.millrace.tools.load;

import java.util.Map;
import java.util.TreeMap;

/**
 * A set of numbers kept as ranges, since the records refused during an outage follow each other.
 * Not safe for use by several threads.
 */
final class SequenceRanges {
  /** First number of a range to the number after its last. */
  private final TreeMap<Long, Long> ends = new TreeMap<>();

  void add(long number) {
    if (contains(number)) {
      return;
    }
    long first = number;
    long end = number + 1;
    Map.Entry<Long, Long> before = ends.floorEntry(number);
    if (before != null && before.getValue() == number) {
      first = before.getKey();
    }
    Long after = ends.remove(end);
    if (after != null) {
      end = after;
    }
    ends.put(first, end);
  }

  boolean contains(long number) {
    Map.Entry<Long, Long> range = ends.floorEntry(number);
    return range != null && number < range.getValue();
  }

  void remove(long number) {
    if (!contains(number)) {
      return;
    }
    Map.Entry<Long, Long> range = ends.floorEntry(number);
    long first = range.getKey();
    long end = range.getValue();
    ends.remove(first);
    if (first < number) {
      ends.put(first, number);
    }
    if (number + 1 < end) {
      ends.put(number + 1, end);
    }
  }

  int ranges() {
    return ends.size();
  }
}
