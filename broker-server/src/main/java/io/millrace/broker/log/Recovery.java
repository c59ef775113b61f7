package io.millrace.broker.log;

import io.millrace.broker.log.RecoveryPlan.Kept;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Opens the files of a log: looks, decides, and only then changes what has to change.
 *
 * <p>Threads: one. Durability: what was cut is gone for good on return. A crash on the way leaves
 * files that the next start recovers in the same way. Errors: {@link LogFormatException} and {@link
 * LogDamagedException}, with nothing changed.
 */
final class Recovery {

  /** An open log. */
  record Result(
      LogView view, Cursor cursor, SyncMark mark, boolean changed, RecoveryReport report) {}

  private final LogCore core;
  private final RecoveryHint hint;
  private final Disk disk;
  private final Path directory;
  private final List<Path> leftOver = new ArrayList<>();
  private long orphanMark;

  Recovery(LogCore core, RecoveryHint hint) {
    this.core = core;
    this.hint = hint;
    this.disk = core.disk();
    this.directory = core.directory();
  }

  Result run() throws IOException {
    long start = System.nanoTime();
    if (!disk.exists(directory)) {
      disk.createDirectory(directory);
    }
    List<FoundSegment> found = inspect();
    RecoveryScan scan = new RecoveryScan(disk, directory, core.listener(), hint, found, orphanMark);
    RecoveryPlan plan = scan.run();

    boolean changed = !plan.dropped.isEmpty() || plan.cutToMark;
    // Before anything is dropped: the note of a failed fsync stands beside the newest segment.
    for (Kept kept : plan.kept) {
      changed |= repair(kept, plan.epochs);
    }
    List<Path> setAside = drop(plan.dropped);
    for (Path file : leftOver) {
      disk.delete(file);
    }
    List<Segment> segments = new ArrayList<>();
    long indexed = 0;
    Cursor cursor = null;
    for (Kept kept : plan.kept) {
      if (kept.end != null) {
        segments.add(closed(kept, scan.protectedIndex()));
      } else {
        segments.add(active(kept));
        indexed += kept.newEntries.size();
        cursor = kept.cursor;
      }
      IndexMark mark = kept.found.mark();
      if (mark != null && (mark.failed() || mark.position() == 0)) {
        // For good: found again after a power cut, the note of a failure would take what is synced
        // from now on. Without a position, a start before this one may have died in doing so.
        segments.get(segments.size() - 1).index().lowerMark(mark.index());
        changed = true;
      }
    }
    if (cursor == null) {
      SegmentName name = new SegmentName(plan.nextOffset, plan.nextIndex);
      Segment segment = core.createSegment(name, plan.logTime);
      segments.add(segment);
      cursor =
          Cursor.behindHead(name, segment.headBytes(), plan.logTime, (int) plan.epochs.lastTerm());
      changed = true;
    }
    LogView view =
        new LogView(
            segments.toArray(Segment[]::new),
            cursor.index - 1,
            cursor.offset,
            cursor.position,
            cursor.chain,
            plan.epochs);
    RecoveryReport report =
        new RecoveryReport(
            plan.bytesCut,
            plan.firstIndexCut,
            plan.batchesChecked,
            indexed,
            setAside,
            List.copyOf(plan.notes),
            plan.cutToMark,
            TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start));
    return new Result(view, cursor, markOf(found, view, plan.cutToMark), changed, report);
  }

  private List<FoundSegment> inspect() throws IOException {
    List<SegmentName> names = new ArrayList<>();
    Set<SegmentName> logs = new HashSet<>();
    List<Path> files = disk.list(directory);
    for (Path file : files) {
      SegmentName name = SegmentName.parse(file);
      if (name != null && SegmentName.isLog(file)) {
        names.add(name);
        logs.add(name);
      }
    }
    for (Path file : files) {
      SegmentName name = SegmentName.parse(file);
      if (name != null && !logs.contains(name)) {
        leftOver.add(file);
        orphanMark = Math.max(orphanMark, FoundSegment.markedIndex(disk, file, name));
      }
    }
    names.sort(
        Comparator.comparingLong(SegmentName::firstIndex)
            .thenComparingLong(SegmentName::baseOffset));
    List<FoundSegment> found = new ArrayList<>();
    for (SegmentName name : names) {
      found.add(FoundSegment.inspect(disk, directory, name, core.identity()));
    }
    return found;
  }

  /** From the newest on; what holds no more than a part of a head is nothing to keep. */
  private List<Path> drop(List<FoundSegment> dropped) throws IOException {
    List<Path> toMove = new ArrayList<>();
    for (int i = dropped.size() - 1; i >= 0; i--) {
      FoundSegment segment = dropped.get(i);
      if (disk.exists(segment.index())) {
        disk.delete(segment.index());
      }
      if (segment.headCutShort()) {
        disk.delete(segment.log());
      } else {
        toMove.add(segment.log());
      }
    }
    if (!dropped.isEmpty()) {
      disk.syncDirectory(directory);
    }
    List<Path> moved = new ArrayList<>();
    Aside aside = new Aside(disk, directory);
    for (Path file : toMove) {
      moved.add(aside.move(file));
    }
    return List.copyOf(moved);
  }

  /** Cuts the file or writes its footer; whether anything was changed. */
  private boolean repair(Kept kept, EpochTable epochs) throws IOException {
    if (!kept.cut && !kept.newFooter) {
      return false;
    }
    try (DiskFile file = disk.open(kept.found.log(), false)) {
      if (kept.found.size() == kept.cursor.position) {
        // Only a size that changes is written again.
        file.write(ByteBuffer.allocate(1), kept.cursor.position);
      }
      file.truncate(kept.cursor.position);
      if (kept.newFooter) {
        SegmentFoot foot = kept.cursor.foot(epochs, kept.found.name());
        ByteBuffer footer = foot.encode();
        kept.newFileBytes = (long) kept.cursor.position + footer.remaining();
        file.write(footer, kept.cursor.position);
        kept.end = new SegmentFoot.At(foot, kept.cursor.position);
      }
      file.sync();
    }
    return true;
  }

  private Segment closed(Kept kept, long protectedIndex) throws IOException {
    long size = kept.newFileBytes > 0 ? kept.newFileBytes : kept.found.size();
    Segment segment = Segment.closed(core.handles(), directory, kept.found.name(), kept.end, size);
    if (kept.end.foot().lastIndex() > protectedIndex) {
      segment.markUnsynced();
    }
    return segment;
  }

  private Segment active(Kept kept) throws IOException {
    Segment segment = Segment.active(core.handles(), directory, kept.found.name());
    segment.headBytes(kept.found.headBytes());
    FileHandles.Handle handle = core.handles().of(kept.found.index());
    SegmentIndex index =
        kept.keptEntries > 0 || kept.found.mark() != null
            ? SegmentIndex.resume(segment, handle, kept.keptEntries, kept.found.mark())
            : SegmentIndex.create(segment, handle);
    for (IndexEntry entry : kept.newEntries) {
      index.add(entry);
    }
    segment.replaceIndex(index);
    return segment;
  }

  /** The highest mark known, at most the end of the log. */
  private SyncMark markOf(List<FoundSegment> found, LogView view, boolean cutToMark) {
    SyncMark highest = hint.durableMarkOrNull();
    for (FoundSegment each : found) {
      IndexMark mark = each.mark();
      if (mark != null && (highest == null || mark.index() >= highest.index())) {
        highest = new SyncMark(mark.index(), each.name().firstIndex(), mark.position());
      }
    }
    return highest == null || highest.index() > view.lastIndex() ? new SyncMark(0, 0, 0) : highest;
  }
}
