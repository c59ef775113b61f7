package io.millrace.broker.log;

import io.millrace.protocol.batch.InvalidBatchException;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Walks segments for what was derived from them.
 *
 * <p>Threads: the writer.
 */
final class IndexBuilder {

  private final LogCore core;

  IndexBuilder(LogCore core) {
    this.core = core;
  }

  /** Behind the head of a segment, which is read for it. */
  Cursor behindHead(LogView view, Segment segment, DiskFile file) throws IOException {
    ByteBuffer batch = ByteBuffer.allocate(segment.headBytes(file));
    if (!file.readFully(batch, 0)) {
      throw damaged(segment, segment.name().firstIndex(), "its head is incomplete");
    }
    try {
      SegmentHead head = SegmentHead.decode(batch.flip());
      if (head == null) {
        throw damaged(segment, segment.name().firstIndex(), "it does not begin with a head");
      }
      return Cursor.behindHead(
          segment.name(),
          batch.limit(),
          head.logTime(),
          (int) view.epochs().termAt(segment.name().firstIndex() - 1));
    } catch (InvalidBatchException e) {
      throw damaged(segment, segment.name().firstIndex(), "its head is damaged: " + e.getMessage());
    }
  }

  private static LogDamagedException damaged(Segment segment, long index, String reason) {
    return new LogDamagedException(segment.log().path(), index, index, false, reason);
  }

  /** In front of an entry of the view, or behind its last one. */
  Cursor cursorAt(LogView view, int ordinal, long index) throws IOException {
    Segment segment = view.segments()[ordinal];
    DiskFile file = segment.log().acquire();
    try {
      int at = segment.index().floor(IndexEntry.INDEX_FIELD, index - 1);
      Cursor cursor =
          at < 0 ? behindHead(view, segment, file) : Cursor.at(segment.index().entry(at));
      scan(view, ordinal, file, cursor, index, due -> null);
      if (cursor.index != index) {
        throw damaged(segment, cursor.index, "it ends before entry " + index);
      }
      return cursor;
    } finally {
      segment.log().release();
    }
  }

  private void scan(
      LogView view,
      int ordinal,
      DiskFile file,
      Cursor cursor,
      long stopIndex,
      SegmentScanner.Sink sink)
      throws IOException {
    Segment segment = view.segments()[ordinal];
    SegmentScanner scanner =
        new SegmentScanner(
            file, view.endPosition(ordinal), cursor, false, core.listener()::logTimeOf, sink);
    SegmentScanner.Verdict verdict = scanner.scan(stopIndex);
    if (verdict != SegmentScanner.Verdict.STOPPED && verdict != SegmentScanner.Verdict.END) {
      throw damaged(segment, cursor.index, scanner.reason() + " at position " + cursor.position);
    }
  }

  /** As {@link #rebuild}, for the writer that does not hold the structure lock. */
  void rebuildAlone(Segment segment, SyncMark mark) throws IOException {
    core.structure().writeLock().lock();
    try {
      rebuild(segment, mark);
    } finally {
      core.structure().writeLock().unlock();
    }
  }

  /**
   * Makes the index of a segment of the current view again. The caller is the writer and holds the
   * structure lock alone.
   */
  private void rebuild(Segment segment, SyncMark mark) throws IOException {
    LogView view = core.view();
    int ordinal = view.segments().length - 1;
    while (ordinal >= 0 && view.segments()[ordinal] != segment) {
      ordinal--;
    }
    if (ordinal < 0) {
      return;
    }
    DiskFile file = segment.log().acquire();
    SegmentIndex index = SegmentIndex.create(segment, segment.index().handle());
    boolean done = false;
    try {
      Cursor cursor = behindHead(view, segment, file);
      scan(
          view,
          ordinal,
          file,
          cursor,
          view.endIndex(ordinal),
          due -> {
            if (due != null) {
              index.add(due);
            }
            return null;
          });
      if (cursor.index != view.endIndex(ordinal)
          || cursor.offset != view.endOffset(ordinal)
          || cursor.position != view.endPosition(ordinal)) {
        throw damaged(segment, cursor.index, "it ends before entry " + view.endIndex(ordinal));
      }
      if (segment.isClosed()) {
        index.add(cursor.endEntry());
      }
      index.flush();
      if (mark.segmentFirstIndex() == segment.name().firstIndex()
          && mark.position() == cursor.position) {
        index.writeMark(mark.index(), mark.position(), cursor.chain);
      }
      segment.replaceIndex(index);
      done = true;
    } finally {
      if (!done) {
        index.release();
      }
      segment.log().release();
    }
  }
}
