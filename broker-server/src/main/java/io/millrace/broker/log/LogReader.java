package io.millrace.broker.log;

import io.millrace.protocol.batch.BatchReader;
import io.millrace.protocol.batch.InvalidBatchException;
import io.millrace.protocol.batch.RecordView;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Lookups in the segments of a view.
 *
 * <p>Owns: hints where the entries behind recently read ones begin, so that a replicator which
 * reads on needs no search. Threads: any; callers hold the log's structure lock shared, so that
 * nothing they see is cut off meanwhile.
 */
final class LogReader {

  /** Limit of one decompressed batch when a record is looked up by time. */
  private static final int MAX_DECOMPRESSED_BYTES = 64 << 20;

  private static final int HINTS = 16;
  private static final int ENTRIES_AT_ONCE = 64;

  private record Hint(Segment segment, long index, long offset, int position) {}

  private final AtomicReferenceArray<Hint> hints = new AtomicReferenceArray<>(HINTS);

  /** After entries were cut off; the caller holds the structure lock alone. */
  void forgetHints() {
    for (int i = 0; i < HINTS; i++) {
      hints.set(i, null);
    }
  }

  private void hint(Segment segment, HeaderWalk walk) {
    long next = walk.index() + 1;
    hints.set(
        (int) (next % HINTS),
        new Hint(segment, next, walk.nextOffset(), walk.position() + walk.size()));
  }

  /** The batch of an entry of the view. */
  ByteBuffer read(LogView view, long index) throws IOException {
    int ordinal = view.segmentOfIndex(index);
    Segment segment = view.segments()[ordinal];
    DiskFile file = segment.log().acquire();
    try {
      HeaderWalk walk = locate(view, ordinal, file, index);
      if (walk.term() != view.epochs().termAt(index)) {
        throw walk.damaged(
            "term " + walk.term() + " where term " + view.epochs().termAt(index) + " was written");
      }
      ByteBuffer batch = walk.readBatch();
      hint(segment, walk);
      return batch;
    } finally {
      segment.log().release();
    }
  }

  /**
   * Reads the batch that holds an offset and verifies its checksum.
   *
   * @throws LogDamagedException if it does not match
   */
  void verify(LogView view, long offset) throws IOException {
    int ordinal = view.segmentOfOffset(offset);
    Segment segment = view.segments()[ordinal];
    DiskFile file = segment.log().acquire();
    try {
      IndexEntry entry = floor(segment, IndexEntry.OFFSET_FIELD, offset);
      HeaderWalk walk = from(segment, file, entry, view.endPosition(ordinal));
      while (walk.next()) {
        if (walk.nextOffset() > offset) {
          walk.readBatch();
          return;
        }
      }
      throw new IndexDamagedException(segment, "offset " + offset + " is not found in " + segment);
    } finally {
      segment.log().release();
    }
  }

  long endOffset(LogView view, long index) throws IOException {
    int ordinal = view.segmentOfIndex(index);
    Segment segment = view.segments()[ordinal];
    DiskFile file = segment.log().acquire();
    try {
      return locate(view, ordinal, file, index).nextOffset();
    } finally {
      segment.log().release();
    }
  }

  /** A walk that stands at the batch of an entry. */
  private HeaderWalk locate(LogView view, int ordinal, DiskFile file, long index)
      throws IOException {
    Segment segment = view.segments()[ordinal];
    int end = view.endPosition(ordinal);
    Hint hint = hints.get((int) (index % HINTS));
    HeaderWalk walk;
    if (hint != null && hint.index == index && hint.segment == segment) {
      walk = new HeaderWalk(segment, file, hint.position, end, index, hint.offset, true);
    } else {
      IndexEntry entry = floor(segment, IndexEntry.INDEX_FIELD, index);
      walk = from(segment, file, entry, end);
    }
    while (walk.next()) {
      if (walk.index() == index) {
        return walk;
      }
    }
    throw new IndexDamagedException(segment, "entry " + index + " is not found in " + segment);
  }

  private static HeaderWalk from(Segment segment, DiskFile file, IndexEntry entry, int end) {
    return new HeaderWalk(
        segment, file, entry.position(), end, entry.index(), entry.offset(), false);
  }

  /** The last entry of an index at or before a key that the segment certainly has. */
  private static IndexEntry floor(Segment segment, int field, long key) throws IOException {
    int ordinal = segment.index().floor(field, key);
    IndexEntry entry = ordinal < 0 ? null : segment.index().entry(ordinal);
    if (entry == null || entry.kind() == IndexEntry.END) {
      throw new IndexDamagedException(
          segment, "the index of " + segment + " does not know what the segment holds");
    }
    return entry;
  }

  /** A control batch that was found. */
  record Control(long index, long term, ByteBuffer batch) {}

  /** The first control batch from an entry on, null if there is none. */
  Control nextControl(LogView view, long fromIndex) throws IOException {
    long from = fromIndex;
    for (int ordinal = view.segmentOfIndex(from); ordinal < view.segments().length; ordinal++) {
      Segment segment = view.segments()[ordinal];
      DiskFile file = segment.log().acquire();
      try {
        Control found =
            from >= view.endIndex(ordinal) ? null : nextControl(view, ordinal, file, from);
        if (found != null) {
          return found;
        }
      } finally {
        segment.log().release();
      }
      from = view.endIndex(ordinal);
    }
    return null;
  }

  private Control nextControl(LogView view, int ordinal, DiskFile file, long from)
      throws IOException {
    Segment segment = view.segments()[ordinal];
    HeaderWalk walk = locate(view, ordinal, file, from);
    if (!walk.isControl()) {
      int end = view.endPosition(ordinal);
      IndexEntry run = nextRunOfControl(segment, from, end);
      if (run == null) {
        return null;
      }
      walk = from(segment, file, run, end);
      walk.next();
    }
    ByteBuffer batch = walk.readBatch();
    hint(segment, walk);
    return new Control(walk.index(), walk.term(), batch);
  }

  private static IndexEntry nextRunOfControl(Segment segment, long from, int end)
      throws IOException {
    SegmentIndex index = segment.index();
    int at = index.floor(IndexEntry.INDEX_FIELD, from) + 1;
    while (true) {
      List<IndexEntry> entries = index.entries(at, ENTRIES_AT_ONCE);
      for (IndexEntry entry : entries) {
        if (entry.kind() == IndexEntry.END || entry.position() >= end) {
          return null;
        }
        if (entry.kind() == IndexEntry.CONTROL) {
          return entry;
        }
      }
      if (entries.isEmpty()) {
        return null;
      }
      at += entries.size();
    }
  }

  /** The first record with at least a timestamp, between two offsets; null if there is none. */
  OffsetAndTimestamp offsetForTimestamp(
      LogView view, long timestamp, long fromOffset, long endOffset) throws IOException {
    for (int ordinal = 0; ordinal < view.segments().length; ordinal++) {
      Segment segment = view.segments()[ordinal];
      if (segment.name().baseOffset() >= endOffset) {
        return null;
      }
      SegmentFoot foot = segment.foot();
      if (foot != null && (foot.maxTimestamp() < timestamp || foot.nextOffset() <= fromOffset)) {
        continue;
      }
      DiskFile file = segment.log().acquire();
      try {
        OffsetAndTimestamp found =
            findTimestamp(view, ordinal, file, timestamp, fromOffset, endOffset);
        if (found != null) {
          return found;
        }
      } finally {
        segment.log().release();
      }
    }
    return null;
  }

  private static OffsetAndTimestamp findTimestamp(
      LogView view, int ordinal, DiskFile file, long timestamp, long fromOffset, long endOffset)
      throws IOException {
    Segment segment = view.segments()[ordinal];
    SegmentIndex index = segment.index();
    int at = Math.max(0, index.floor(IndexEntry.MAX_TIMESTAMP_FIELD, timestamp - 1));
    IndexEntry entry = index.entry(at);
    int end = view.endPosition(ordinal);
    if (entry == null || entry.kind() == IndexEntry.END || entry.position() >= end) {
      return null;
    }
    HeaderWalk walk = from(segment, file, entry, end);
    while (walk.next() && walk.offset() < endOffset) {
      if (!walk.isControl() && walk.nextOffset() > fromOffset && walk.maxTimestamp() >= timestamp) {
        OffsetAndTimestamp found = firstRecord(walk, timestamp, fromOffset, endOffset);
        if (found != null) {
          return found;
        }
      }
    }
    return null;
  }

  private static OffsetAndTimestamp firstRecord(
      HeaderWalk walk, long timestamp, long fromOffset, long endOffset) throws IOException {
    List<RecordView> records;
    try {
      records = BatchReader.records(walk.readBatch(), MAX_DECOMPRESSED_BYTES);
    } catch (InvalidBatchException e) {
      // Only its writer knows what is inside: the reader decides, at the begin of the batch.
      return new OffsetAndTimestamp(Math.max(walk.offset(), fromOffset), walk.maxTimestamp());
    }
    for (RecordView each : records) {
      if (each.timestamp() >= timestamp
          && each.offset() >= fromOffset
          && each.offset() < endOffset) {
        return new OffsetAndTimestamp(each.offset(), each.timestamp());
      }
    }
    return null;
  }
}
