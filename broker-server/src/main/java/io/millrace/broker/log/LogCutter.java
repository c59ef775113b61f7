package io.millrace.broker.log;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.locks.Lock;

/**
 * Removes entries from the end of the log, or all of them.
 *
 * <p>Threads: the writer, which also holds the sync lock. Readers are kept out only while they are
 * given the shorter view, not while files change.
 *
 * <p>Durability: both are durable once {@link LogSyncer#sync} has followed. A crash on the way
 * leaves a log that opens: sync marks are lowered first, so that nothing that is missing afterwards
 * counts as damage, and files go from the newest to the oldest, so that what is left continues what
 * is before it.
 */
final class LogCutter {

  private final LogCore core;
  private final LogSyncer syncer;
  private final LogReader reader;
  private final IndexBuilder builder;

  LogCutter(LogCore core, LogSyncer syncer, LogReader reader, IndexBuilder builder) {
    this.core = core;
    this.syncer = syncer;
    this.reader = reader;
    this.builder = builder;
  }

  /** Cuts everything above an entry that the log has, or its begin, and lets the writer go on. */
  void truncateSuffix(long lastIndexKept, SegmentWriter writer) throws IOException {
    LogView view = core.view();
    int ordinal = view.segmentOfIndex(lastIndexKept + 1);
    Segment segment = view.segments()[ordinal];
    Cursor cursor;
    int keptEntries;
    try {
      cursor = builder.cursorAt(view, ordinal, lastIndexKept + 1);
      keptEntries = keptEntries(segment, lastIndexKept);
    } catch (IndexDamagedException e) {
      builder.rebuildAlone(e.segment(), syncer.mark());
      cursor = builder.cursorAt(view, ordinal, lastIndexKept + 1);
      keptEntries = keptEntries(segment, lastIndexKept);
    }
    EpochTable epochs = view.epochs().upTo(lastIndexKept);

    // Without a position: neither the sync below nor a start after a crash in here may believe that
    // everything is on the device already, because the cut is not.
    SyncMark mark = syncer.mark();
    boolean falls = mark.index() > lastIndexKept;
    SyncMark lowered =
        falls
            ? new SyncMark(lastIndexKept, segment.name().firstIndex(), 0)
            : new SyncMark(mark.index(), mark.segmentFirstIndex(), 0);
    if (falls) {
      core.listener().lowerDurableMark(lowered);
    }
    syncer.lower(lowered);
    lowerIndexMarks(view, ordinal, lowered);

    Lock alone = core.structure().writeLock();
    alone.lock();
    try {
      segment.reopen();
      segment.index().cut(keptEntries);
      reader.forgetHints();
      core.publish(
          new LogView(
              Arrays.copyOf(view.segments(), ordinal + 1),
              lastIndexKept,
              cursor.offset,
              cursor.position,
              cursor.chain,
              epochs));
    } finally {
      alone.unlock();
    }

    for (int i = view.segments().length - 1; i > ordinal; i--) {
      view.segments()[i].retire();
      deleteIfThere(view.segments()[i].index().handle().path());
      deleteIfThere(view.segments()[i].log().path());
    }
    if (ordinal + 1 < view.segments().length) {
      core.disk().syncDirectory(core.directory());
    }
    segment.index().sync();
    DiskFile file = segment.log().acquire();
    try {
      file.truncate(cursor.position);
      // A segment that was closed has not needed it so far.
      segment.headBytes(file);
    } finally {
      segment.log().release();
    }
    writer.resume(segment, cursor, epochs);
  }

  private static int keptEntries(Segment segment, long lastIndexKept) throws IOException {
    return segment.index().floor(IndexEntry.INDEX_FIELD, lastIndexKept) + 1;
  }

  /** First where entries stay, so that at no moment less counts as synced than will stay. */
  private void lowerIndexMarks(LogView view, int from, SyncMark mark) throws IOException {
    for (int i = from; i < view.segments().length; i++) {
      Segment segment = view.segments()[i];
      boolean holdsMark = mark.segmentFirstIndex() == segment.name().firstIndex();
      if (core.disk().exists(segment.index().handle().path())) {
        segment.index().lowerMark(holdsMark ? mark.index() : 0);
      }
    }
  }

  private void deleteIfThere(Path path) throws IOException {
    if (core.disk().exists(path)) {
      core.disk().delete(path);
    }
  }

  /** Sets all files aside and begins an empty log that goes on at an index and an offset. */
  void reset(long nextIndex, long nextOffset, SegmentWriter writer) throws IOException {
    LogView view = core.view();
    SyncMark none = new SyncMark(0, 0, 0);
    core.listener().lowerDurableMark(none);
    syncer.lower(none);
    lowerIndexMarks(view, 0, none);

    LogView empty = LogView.empty(nextIndex, nextOffset);
    Lock alone = core.structure().writeLock();
    alone.lock();
    try {
      reader.forgetHints();
      core.publish(empty);
    } finally {
      alone.unlock();
    }

    // The new segment stands before the last old one goes, so that a crash never leaves nothing;
    // only an old one of the same name has to make room first.
    SegmentName name = new SegmentName(nextOffset, nextIndex);
    Segment segment = createIfFree(name);
    Aside aside = new Aside(core.disk(), core.directory());
    for (int i = view.segments().length - 1; i >= 0; i--) {
      Segment old = view.segments()[i];
      old.retire();
      aside.move(old.index().handle().path());
      aside.move(old.log().path());
      if (segment == null) {
        segment = createIfFree(name);
      }
    }
    Cursor cursor = Cursor.behindHead(name, segment.headBytes(), -1, 0);
    writer.resume(segment, cursor, EpochTable.EMPTY);
    core.publish(
        new LogView(
            new Segment[] {segment},
            nextIndex - 1,
            nextOffset,
            cursor.position,
            cursor.chain,
            EpochTable.EMPTY));
  }

  /** The begin of the new log, durable; null while a file has its name. */
  private Segment createIfFree(SegmentName name) throws IOException {
    if (core.disk().exists(name.log(core.directory()))) {
      return null;
    }
    Segment segment = core.createSegment(name, -1);
    DiskFile file = segment.log().acquire();
    try {
      file.sync();
    } finally {
      segment.log().release();
    }
    core.syncDirectory();
    return segment;
  }
}
