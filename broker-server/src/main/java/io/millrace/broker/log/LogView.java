package io.millrace.broker.log;

/**
 * What readers see: all of it at one moment. Immutable; the writer publishes a new one.
 *
 * @param segments ascending; the last is the one written to; never changed in place
 * @param lastIndex of the last entry that is completely written
 * @param logEnd offset behind the last record
 * @param position behind the last entry, in the last segment
 * @param chain CRC chain there
 */
record LogView(
    Segment[] segments, long lastIndex, long logEnd, int position, int chain, EpochTable epochs) {

  /** While all segments are being set aside: an empty log that goes on somewhere else. */
  static LogView empty(long nextIndex, long nextOffset) {
    return new LogView(new Segment[0], nextIndex - 1, nextOffset, 0, 0, EpochTable.EMPTY);
  }

  long firstIndex() {
    return segments.length == 0 ? lastIndex + 1 : segments[0].name().firstIndex();
  }

  long logStart() {
    return segments.length == 0 ? logEnd : segments[0].name().baseOffset();
  }

  Segment active() {
    return segments[segments.length - 1];
  }

  boolean has(long index) {
    return index >= firstIndex() && index <= lastIndex;
  }

  /** Ordinal of the segment with an index of this log. */
  int segmentOfIndex(long index) {
    int low = 0;
    int high = segments.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (segments[middle].name().firstIndex() <= index) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - 1;
  }

  /** Ordinal of the last segment that begins at or before an offset of this log. */
  int segmentOfOffset(long offset) {
    int low = 0;
    int high = segments.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (segments[middle].name().baseOffset() <= offset) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - 1;
  }

  private boolean isLast(int segment) {
    return segment == segments.length - 1;
  }

  /** Where the batches of a segment end. */
  int endPosition(int segment) {
    return isLast(segment) ? position : segments[segment].contentEnd();
  }

  long endIndex(int segment) {
    return isLast(segment) ? lastIndex + 1 : segments[segment].foot().lastIndex() + 1;
  }

  long endOffset(int segment) {
    return isLast(segment) ? logEnd : segments[segment].foot().nextOffset();
  }
}
