package io.millrace.tools.quickstart;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

class KeyedComparisonProperties {
  private record Line(String key, String value) {}

  /** Sent lines, and the same lines with keys interleaved anew: what several partitions do. */
  private static List<Line> interleaved(Random random, List<Line> lines) {
    Map<String, List<Line>> perKey = new HashMap<>();
    lines.forEach(line -> perKey.computeIfAbsent(line.key(), k -> new ArrayList<>()).add(line));
    List<List<Line>> lanes = new ArrayList<>(perKey.values());
    List<Line> mixed = new ArrayList<>();
    while (!lanes.isEmpty()) {
      int lane = random.nextInt(lanes.size());
      mixed.add(lanes.get(lane).remove(0));
      if (lanes.get(lane).isEmpty()) {
        lanes.remove(lane);
      }
    }
    return mixed;
  }

  private static List<Line> lines(Random random, int count) {
    List<Line> lines = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      lines.add(new Line("k" + random.nextInt(4), "value " + i));
    }
    return lines;
  }

  private static KeyedComparison.Result compare(List<Line> sent, List<Line> got) {
    var comparison = new KeyedComparison();
    sent.forEach(line -> comparison.expect(line.key(), line.value()));
    got.forEach(line -> comparison.got(line.key(), line.value()));
    return comparison.result();
  }

  @Property(tries = 200)
  void anyInterleavingOfKeysIsTheSame(
      @ForAll Random random, @ForAll @IntRange(min = 1, max = 50) int count) {
    List<Line> sent = lines(random, count);

    assertThat(compare(sent, interleaved(random, sent)).same()).isTrue();
  }

  @Property(tries = 200)
  void aMissingLineIsFound(@ForAll Random random, @ForAll @IntRange(min = 1, max = 50) int count) {
    List<Line> sent = lines(random, count);
    List<Line> got = interleaved(random, sent);
    got.remove(random.nextInt(got.size()));

    assertThat(compare(sent, got))
        .isEqualTo(new KeyedComparison.Result(count, count - 1, 1, 0, 0, 0));
  }

  @Property(tries = 200)
  void aDoubledLineIsFound(@ForAll Random random, @ForAll @IntRange(min = 1, max = 50) int count) {
    List<Line> sent = lines(random, count);
    List<Line> got = interleaved(random, sent);
    int at = random.nextInt(got.size());
    got.add(at + random.nextInt(got.size() - at), got.get(at));

    assertThat(compare(sent, got))
        .isEqualTo(new KeyedComparison.Result(count, count + 1, 0, 1, 0, 0));
  }

  @Property(tries = 200)
  void aLineAfterALaterOneOfItsKeyIsFound(@ForAll Random random) {
    List<Line> sent = new ArrayList<>(lines(random, 20));
    sent.add(new Line("k", "first"));
    sent.add(new Line("k", "second"));
    List<Line> got = interleaved(random, sent.subList(0, 20));
    got.add(new Line("k", "second"));
    got.add(new Line("k", "first"));

    assertThat(compare(sent, got)).isEqualTo(new KeyedComparison.Result(22, 22, 0, 0, 1, 0));
  }

  @Property(tries = 50)
  void aChangedLineIsMissingAndForeign(@ForAll Random random) {
    List<Line> sent = lines(random, 10);
    List<Line> got = interleaved(random, sent);
    got.set(3, new Line(got.get(3).key(), "something else"));

    assertThat(compare(sent, got)).isEqualTo(new KeyedComparison.Result(10, 10, 1, 0, 0, 1));
  }
}
