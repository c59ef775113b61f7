package io.millrace.broker.partition;

import io.millrace.broker.log.LogPrefix.SegmentStats;
import java.util.List;

/**
 * When records of a topic are old enough, or too many, to go. Pure: the leader of a partition
 * decides with it, by log time and by its own segments, and replicates what it decided.
 *
 * <p>Whole segments go. By age, when the youngest record in it is older than the limit for sure. By
 * size, as soon as more than four fifths of the limit stay: so there is room for what is written
 * until the files are gone.
 *
 * @param millis age at which records go, 0 = never
 * @param bytes of record batches that a partition may hold, 0 = any number
 */
public record Retention(long millis, long bytes) {

  public static final Retention NONE = new Retention(0, 0);

  public Retention {
    if (millis < 0 || bytes < 0) {
      throw new IllegalArgumentException(
          "retention of " + millis + " ms, " + bytes + " bytes: must not be negative");
    }
  }

  public boolean isUnlimited() {
    return millis == 0 && bytes == 0;
  }

  /**
   * Where the log should start.
   *
   * @param segments of the leader, the oldest first
   * @param logStart where it starts now
   * @param committedEnd read after the segments
   * @param logTime log time read after the committed end: at least that of every record below it
   * @param now log time if a TIME entry were written now
   * @return at least {@code logStart}
   */
  long logStart(
      List<SegmentStats> segments, long logStart, long committedEnd, long logTime, long now) {
    long left = 0;
    for (SegmentStats segment : segments) {
      left += segment.endOffset() > logStart ? segment.bytes() : 0;
    }
    long start = logStart;
    for (SegmentStats segment : segments) {
      if (segment.endOffset() > committedEnd) {
        break;
      }
      if (segment.endOffset() <= logStart) {
        continue;
      }
      long youngest = segment.active() ? logTime : segment.lastLogTime();
      if (!isOld(youngest, now) && !isTooMuch(segment, left)) {
        break;
      }
      left -= segment.bytes();
      start = segment.endOffset();
    }
    return start;
  }

  /** Records were appended up to one interval after the TIME entry before them. */
  private boolean isOld(long youngestLogTime, long now) {
    return millis > 0 && now - youngestLogTime >= millis + LogClock.INTERVAL_MILLIS;
  }

  private boolean isTooMuch(SegmentStats segment, long left) {
    return bytes > 0 && !segment.active() && left - segment.bytes() >= kept();
  }

  /** A little above four fifths: the active segment is counted with its control batches. */
  private long kept() {
    return bytes - bytes / 5 + bytes / 100;
  }
}
