package io.millrace.tools.quickstart;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Whether what came back is what was sent: per key the same values in the same order, each once.
 * The values of a key must differ from each other. Not safe for use by several threads.
 */
final class KeyedComparison {
  /**
   * @param outOfOrder values that came after a later value of their key
   * @param foreign values that were never sent
   */
  record Result(
      long expected, long got, long missing, long doubled, long outOfOrder, long foreign) {
    boolean same() {
      return missing == 0 && doubled == 0 && outOfOrder == 0 && foreign == 0 && expected > 0;
    }
  }

  private static final class Key {
    final Map<String, Integer> positions = new HashMap<>();
    final List<Integer> times = new ArrayList<>();
    int highest = -1;
  }

  private final Map<String, Key> keys = new HashMap<>();
  private long expected;
  private long got;
  private long doubled;
  private long outOfOrder;
  private long foreign;

  void expect(String key, String value) {
    Key of = keys.computeIfAbsent(key, each -> new Key());
    if (of.positions.put(value, of.times.size()) != null) {
      throw new IllegalArgumentException(
          "key " + key + " has the value '" + value + "' twice; values of a key must differ");
    }
    of.times.add(0);
    expected++;
  }

  void got(String key, String value) {
    got++;
    Key of = keys.get(key);
    Integer position = of == null ? null : of.positions.get(value);
    if (position == null) {
      foreign++;
      return;
    }
    int times = of.times.get(position) + 1;
    of.times.set(position, times);
    if (times > 1) {
      doubled++;
    } else if (position < of.highest) {
      outOfOrder++;
    }
    of.highest = Math.max(of.highest, position);
  }

  Result result() {
    long missing =
        keys.values().stream()
            .mapToLong(key -> key.times.stream().filter(times -> times == 0).count())
            .sum();
    return new Result(expected, got, missing, doubled, outOfOrder, foreign);
  }
}
