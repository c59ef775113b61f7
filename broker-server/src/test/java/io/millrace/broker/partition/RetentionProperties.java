package io.millrace.broker.partition;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.log.LogPrefix.SegmentStats;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

/** What the limits of a topic take away, compared with the records themselves. */
class RetentionProperties {

  /**
   * When a record was really appended: at or after the log time in force, by less than a second.
   */
  private record Record(long appendedMillis, long bytes) {}

  private static final class Topic {
    final List<SegmentStats> segments = new ArrayList<>();
    final List<Record> records = new ArrayList<>();
    long logTime;
    long clock = 1_000_000;

    /** A leader's log: TIME when a second has passed, segments of some records. */
    Topic(Random random, int count, int perSegment) {
      long base = 0;
      long bytes = 0;
      for (int i = 0; i < count; i++) {
        clock += random.nextInt(3) == 0 ? random.nextInt(5000) : random.nextInt(300);
        if (clock - logTime >= LogClock.INTERVAL_MILLIS) {
          if (records.size() - base >= perSegment) {
            segments.add(new SegmentStats(base, records.size(), bytes, logTime, false));
            base = records.size();
            bytes = 0;
          }
          logTime = clock;
        }
        records.add(new Record(clock, 10 + random.nextInt(100)));
        bytes += records.get(records.size() - 1).bytes;
      }
      segments.add(new SegmentStats(base, records.size(), bytes, -1, true));
    }

    long end() {
      return records.size();
    }

    long bytesFrom(long offset) {
      return records.subList((int) offset, records.size()).stream().mapToLong(Record::bytes).sum();
    }
  }

  @Property(tries = 500)
  void noRecordGoesBeforeItsTimeAndNoneStaysMuchLonger(
      @ForAll @LongRange(min = 1, max = 100_000) long seed,
      @ForAll @IntRange(min = 1, max = 80) int count,
      @ForAll @IntRange(min = 1, max = 12) int perSegment,
      @ForAll @IntRange(min = 1000, max = 20_000) int millis,
      @ForAll @IntRange(min = 0, max = 60_000) int later) {
    Topic topic = new Topic(new Random(seed), count, perSegment);
    long now = topic.clock + later;
    long start =
        new Retention(millis, 0).logStart(topic.segments, 0, topic.end(), topic.logTime, now);

    assertThat(topic.records.subList(0, (int) start))
        .allSatisfy(r -> assertThat(now - r.appendedMillis).isGreaterThanOrEqualTo(millis));
    // What stays is in a segment whose youngest record may still be young.
    for (SegmentStats segment : topic.segments) {
      long youngest = segment.active() ? topic.logTime : segment.lastLogTime();
      if (segment.endOffset() > start && segment.baseOffset() <= start) {
        assertThat(now - youngest).isLessThan(millis + LogClock.INTERVAL_MILLIS);
      }
    }
    assertThat(topic.segments)
        .extracting(SegmentStats::endOffset)
        .containsAnyOf(start, topic.end());
  }

  @Property(tries = 500)
  void fourFifthsOfTheBytesStayAndNotMuchMoreThanASegmentAboveThem(
      @ForAll @LongRange(min = 1, max = 100_000) long seed,
      @ForAll @IntRange(min = 1, max = 80) int count,
      @ForAll @IntRange(min = 1, max = 12) int perSegment,
      @ForAll @IntRange(min = 100, max = 5000) int bytes) {
    Topic topic = new Topic(new Random(seed), count, perSegment);
    long start =
        new Retention(0, bytes)
            .logStart(topic.segments, 0, topic.end(), topic.logTime, topic.clock);
    long left = topic.bytesFrom(start);
    long all = topic.bytesFrom(0);
    assertThat(left).isGreaterThanOrEqualTo(Math.min(all, bytes * 4L / 5));
    SegmentStats oldest =
        topic.segments.stream().filter(s -> s.baseOffset() >= start).findFirst().orElseThrow();
    if (!oldest.active()) {
      assertThat(left - oldest.bytes()).isLessThan(bytes * 81L / 100 + 2);
    }
  }

  @Property(tries = 300)
  void theStartNeverGoesBackNorBeyondWhatIsCommitted(
      @ForAll @LongRange(min = 1, max = 100_000) long seed,
      @ForAll @IntRange(min = 1, max = 60) int count,
      @ForAll @IntRange(min = 0, max = 60) int from,
      @ForAll @IntRange(min = 0, max = 60) int committed) {
    Topic topic = new Topic(new Random(seed), count, 5);
    long end = Math.min(committed, topic.end());
    long logStart = Math.min(from, end);
    long start =
        new Retention(1, 1)
            .logStart(topic.segments, logStart, end, topic.logTime, topic.clock + 1_000_000);
    assertThat(start).isBetween(logStart, end);
    // As long as the active segment holds what is not committed, it stays as a whole.
    assertThat(topic.segments)
        .filteredOn(s -> s.endOffset() > end)
        .allSatisfy(s -> assertThat(start).isLessThanOrEqualTo(Math.max(logStart, s.baseOffset())));
  }

  @Example
  void withoutLimitsNothingGoes() {
    Topic topic = new Topic(new Random(1), 50, 3);
    assertThat(Retention.NONE.isUnlimited()).isTrue();
    assertThat(
            Retention.NONE.logStart(
                topic.segments, 0, topic.end(), topic.logTime, Long.MAX_VALUE / 2))
        .isZero();
  }

  @Example
  void anIdleTopicIsEmptiedWithItsActiveSegment() {
    Topic topic = new Topic(new Random(2), 50, 8);
    Retention retention = new Retention(10_000, 0);
    long due = topic.logTime + 11_000;
    assertThat(retention.logStart(topic.segments, 0, 50, topic.logTime, due - 1)).isLessThan(50);
    assertThat(retention.logStart(topic.segments, 0, 50, topic.logTime, due)).isEqualTo(50);
  }

  @Example
  void theActiveSegmentNeverGoesBecauseOfItsSize() {
    List<SegmentStats> segments =
        List.of(new SegmentStats(0, 10, 5000, 1, false), new SegmentStats(10, 20, 9000, -1, true));
    assertThat(new Retention(0, 1000).logStart(segments, 0, 20, 1, 2)).isEqualTo(10);
  }
}
