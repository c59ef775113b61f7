package io.millrace.broker.log;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * What one segment of an open log holds.
 *
 * @param nextOffset behind its last record
 * @param lastIndex one below the first if it holds nothing
 * @param maxTimestamp of its records, -1 = none
 * @param firstLogTime in force where it begins, -1 = none
 * @param lastLogTime in force where it ends, -1 = none
 * @param closed it has its footer
 */
public record SegmentSummary(
    long baseOffset,
    long nextOffset,
    long firstIndex,
    long lastIndex,
    long bytes,
    long maxTimestamp,
    long firstLogTime,
    long lastLogTime,
    boolean closed) {

  /** All segments of a view; reads a few KB of the one that is written. */
  static List<SegmentSummary> of(LogView view) throws IOException {
    List<SegmentSummary> all = new ArrayList<>();
    int active = view.segments().length - 1;
    for (int i = 0; i < active; i++) {
      Segment segment = view.segments()[i];
      SegmentFoot foot = segment.foot();
      all.add(
          new SegmentSummary(
              segment.name().baseOffset(),
              foot.nextOffset(),
              segment.name().firstIndex(),
              foot.lastIndex(),
              segment.fileBytes(),
              foot.maxTimestamp(),
              foot.firstLogTime(),
              foot.lastLogTime(),
              true));
    }
    if (active >= 0) {
      all.add(ofActive(view, view.active()));
    }
    return all;
  }

  /** The index knows all but what stands behind its last entry, at most 4 KB. */
  private static SegmentSummary ofActive(LogView view, Segment segment) throws IOException {
    int last = segment.index().floor(IndexEntry.INDEX_FIELD, view.lastIndex());
    IndexEntry entry = last < 0 ? null : segment.index().entry(last);
    long maxTimestamp = -1;
    if (entry != null) {
      maxTimestamp = entry.maxTimestamp();
      DiskFile file = segment.log().acquire();
      try {
        HeaderWalk walk =
            new HeaderWalk(
                segment,
                file,
                entry.position(),
                view.position(),
                entry.index(),
                entry.offset(),
                false);
        while (walk.next()) {
          maxTimestamp = Math.max(maxTimestamp, walk.maxTimestamp());
        }
      } finally {
        segment.log().release();
      }
    }
    return new SegmentSummary(
        segment.name().baseOffset(),
        view.logEnd(),
        segment.name().firstIndex(),
        view.lastIndex(),
        view.position(),
        maxTimestamp,
        entry == null ? -1 : entry.firstLogTime(),
        entry == null ? -1 : entry.logTime(),
        false);
  }
}
