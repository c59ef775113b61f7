package io.millrace.broker.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The begin of a log: what its segments hold, and how whole ones leave.
 *
 * <p>A segment leaves in two steps. {@link #drop} takes it out of the view: the log begins later
 * from then on. {@link #deleteDropped} deletes the files, when they have waited and nobody reads
 * them. Until then {@link #readDropped} still finds their entries, for a reader that had looked at
 * the bounds of the log before they moved.
 *
 * <p>Owns: the dropped segments. Threads: any, one at a time; appends go on meanwhile, except for
 * the moment in which the view changes and while {@link #drop} syncs.
 *
 * <p>Durability: what stays is on the device before anything is dropped. Files go one segment after
 * the other, the oldest first, each deletion durable before the next; so a crash leaves a log that
 * begins a few segments earlier and has no hole.
 *
 * <p>Errors: as {@link PartitionLog}. A file that cannot be deleted is tried again at the next
 * call.
 */
public final class LogPrefix {

  /**
   * What one segment holds.
   *
   * @param endOffset behind its last record
   * @param bytes of its record batches; of the active segment everything behind the head, so at
   *     most a little more
   * @param lastLogTime log time in force at its end, -1 = none; meaningless for the active segment
   * @param active it is still written to
   */
  public record SegmentStats(
      long baseOffset, long endOffset, long bytes, long lastLogTime, boolean active) {}

  private record Dropped(Segment segment, long sinceNanos) {}

  private static final LogView NOTHING = LogView.empty(1, 0);

  private final LogCore core;
  private final LogSyncer syncer;
  private final SegmentWriter writer;
  private final LogReader reader;
  private final ReentrantLock writing;

  /** Before all other locks of the log; held while files are deleted. */
  private final ReentrantLock trimming = new ReentrantLock();

  /** Ascending, the hidden ones first; guarded by {@link #trimming}. */
  private final Deque<Dropped> dropped = new ArrayDeque<>();

  /**
   * The dropped segments whose entries can still be read; changed with the structure lock alone.
   */
  private volatile LogView readable = NOTHING;

  private volatile long droppedBytes;

  LogPrefix(
      LogCore core,
      LogSyncer syncer,
      SegmentWriter writer,
      LogReader reader,
      ReentrantLock writing) {
    this.core = core;
    this.syncer = syncer;
    this.writer = writer;
    this.reader = reader;
    this.writing = writing;
  }

  // ------------------------------------------------------------------------------------- looking

  /** All segments, the oldest first. No I/O. */
  public List<SegmentStats> segments() {
    // A truncation that opens a closed segment again takes its footer away.
    core.structure().readLock().lock();
    try {
      return statsOf(core.view());
    } finally {
      core.structure().readLock().unlock();
    }
  }

  private static List<SegmentStats> statsOf(LogView view) {
    List<SegmentStats> all = new ArrayList<>(view.segments().length);
    for (int i = 0; i < view.segments().length; i++) {
      Segment segment = view.segments()[i];
      long base = segment.name().baseOffset();
      if (i == view.segments().length - 1) {
        long bytes = Math.max(0, view.position() - segment.headBytes());
        all.add(new SegmentStats(base, view.logEnd(), bytes, -1, true));
      } else {
        SegmentFoot foot = segment.foot();
        all.add(
            new SegmentStats(
                base, foot.nextOffset(), foot.recordBytes(), foot.lastLogTime(), false));
      }
    }
    return all;
  }

  /**
   * First index that stays if every record below an offset may go, and no entry above an index:
   * only whole closed segments leave. The first index of the log if none can.
   */
  public long firstIndexAbove(long offset, long lastIndexDropped) {
    core.structure().readLock().lock();
    try {
      return firstIndexAbove(core.view(), offset, lastIndexDropped);
    } finally {
      core.structure().readLock().unlock();
    }
  }

  private static long firstIndexAbove(LogView view, long offset, long lastIndexDropped) {
    int kept = 0;
    while (kept < view.segments().length - 1
        && view.endOffset(kept) <= offset
        && view.endIndex(kept) <= lastIndexDropped + 1) {
      kept++;
    }
    return view.segments().length == 0
        ? view.firstIndex()
        : view.segments()[kept].name().firstIndex();
  }

  /** Bytes of files that were dropped and are not deleted. */
  public long droppedBytes() {
    return droppedBytes;
  }

  /** Size and age at which segments are closed from now on; see {@link LogConfig}. */
  public void segmentLimits(long bytes, long millis) {
    LogConfig config = core.config();
    if (config.segmentBytes() != bytes || config.segmentMillis() != millis) {
      core.segments(bytes, millis);
    }
  }

  // ------------------------------------------------------------------------------------- leaving

  /**
   * Closes the active segment if it holds records and all of them lie below an offset: without
   * that, the last records of a log to which nobody writes could never leave.
   *
   * @return whether it was closed
   */
  public boolean closeActiveBelow(long offset) throws IOException {
    if (!isActiveBelow(core.view(), offset)) {
      return false;
    }
    writing.lock();
    try {
      core.checkUsable();
      if (core.isClosed() || !isActiveBelow(core.view(), offset)) {
        return false;
      }
      try {
        writer.roll();
      } catch (IOException | RuntimeException e) {
        throw core.appendFailed(e);
      }
      return true;
    } finally {
      writing.unlock();
    }
  }

  private static boolean isActiveBelow(LogView view, long offset) {
    return view.segments().length > 0
        && view.logEnd() <= offset
        && view.active().name().baseOffset() < view.logEnd();
  }

  /**
   * Takes the segments before an entry out of the log. The caller knows that nobody needs an entry
   * below it any more, be it to restore the state or to replicate.
   *
   * @throws IllegalArgumentException if no segment of the log begins with that entry
   */
  public void drop(long firstIndexKept) throws IOException {
    trimming.lock();
    writing.lock();
    syncer.lock().lock();
    try {
      core.checkUsable();
      LogView view = core.view();
      if (core.isClosed() || firstIndexKept == view.firstIndex()) {
        return;
      }
      int ordinal = view.segmentOfIndex(firstIndexKept);
      if (ordinal <= 0 || view.segments()[ordinal].name().firstIndex() != firstIndexKept) {
        throw new IllegalArgumentException(
            core.directory() + ": no segment begins with entry " + firstIndexKept);
      }
      // What follows must not depend on what leaves: its name, its content, the mark.
      syncer.sync();
      publishFrom(view, ordinal);
    } finally {
      syncer.lock().unlock();
      writing.unlock();
      trimming.unlock();
    }
  }

  private void publishFrom(LogView view, int ordinal) {
    Segment[] all = view.segments();
    Segment[] kept = Arrays.copyOfRange(all, ordinal, all.length);
    SegmentName first = kept[0].name();
    EpochTable epochs =
        first.firstIndex() > view.lastIndex()
            ? EpochTable.EMPTY
            : view.epochs().from(first.firstIndex(), first.baseOffset());
    long now = System.nanoTime();
    long bytes = droppedBytes;
    for (int i = 0; i < ordinal; i++) {
      dropped.addLast(new Dropped(all[i], now));
      bytes += all[i].fileBytes();
    }
    LogView leaving = readableWith(view, ordinal);
    Lock alone = core.structure().writeLock();
    alone.lock();
    try {
      reader.forgetHints();
      writer.forgetTermsBefore(epochs);
      readable = leaving;
      droppedBytes = bytes;
      core.publish(
          new LogView(
              kept, view.lastIndex(), view.logEnd(), view.position(), view.chain(), epochs));
    } finally {
      alone.unlock();
    }
  }

  /** What was dropped and can be read, and behind it the first segments of the view. */
  private LogView readableWith(LogView view, int ordinal) {
    Segment[] before = readable.segments();
    Segment[] segments = Arrays.copyOf(before, before.length + ordinal);
    System.arraycopy(view.segments(), 0, segments, before.length, ordinal);
    Segment last = segments[segments.length - 1];
    SegmentFoot foot = last.foot();
    EpochTable epochs = readable.epochs().withAll(view.epochs().upTo(foot.lastIndex()));
    return new LogView(
        segments, foot.lastIndex(), foot.nextOffset(), last.contentEnd(), foot.chain(), epochs);
  }

  // ------------------------------------------------------------------- reading what was dropped

  /** The first entry that any read can find. */
  public long firstReadableIndex() {
    LogView view = readable;
    return view.segments().length == 0 ? core.view().firstIndex() : view.firstIndex();
  }

  /** Term of an entry whose segment is dropped and not deleted, else 0. No I/O. */
  public long termOfDropped(long index) {
    LogView view = readable;
    return view.has(index) ? view.epochs().termAt(index) : 0;
  }

  /** As {@link PartitionLog#read}, for an entry that is dropped and not deleted. */
  public ByteBuffer readDropped(long index) throws IOException {
    core.structure().readLock().lock();
    try {
      LogView view = readable;
      return core.isClosed() || !view.has(index) ? null : reader.read(view, index);
    } catch (IndexDamagedException e) {
      // Not worth making again: whoever asks will not find the entry a moment later.
      return null;
    } finally {
      core.structure().readLock().unlock();
    }
  }

  // ------------------------------------------------------------------------------------ deleting

  /**
   * Deletes the files of dropped segments that have waited long enough and that nobody reads.
   *
   * @param delayNanos how long a file waits
   * @param maxBytes if more than this waits, the oldest go after {@code leastDelayNanos} already
   * @return nanoseconds until the next file is due, {@code Long.MAX_VALUE} if none waits
   */
  public long deleteDropped(long delayNanos, long maxBytes, long leastDelayNanos)
      throws IOException {
    trimming.lock();
    try {
      while (!dropped.isEmpty() && !core.isClosed()) {
        core.checkUsable();
        Dropped oldest = dropped.peekFirst();
        long delay = droppedBytes > maxBytes ? leastDelayNanos : delayNanos;
        long left = delay - (System.nanoTime() - oldest.sinceNanos);
        if (left > 0) {
          return left;
        }
        hideOldest(oldest.segment);
        if (oldest.segment.isInUse()) {
          return leastDelayNanos;
        }
        delete(oldest.segment);
        dropped.removeFirst();
        droppedBytes -= oldest.segment.fileBytes();
      }
      return Long.MAX_VALUE;
    } finally {
      trimming.unlock();
    }
  }

  private void hideOldest(Segment oldest) {
    LogView view = readable;
    if (view.segments().length == 0 || view.segments()[0] != oldest) {
      return;
    }
    Segment[] rest = Arrays.copyOfRange(view.segments(), 1, view.segments().length);
    LogView shorter =
        rest.length == 0
            ? NOTHING
            : new LogView(
                rest,
                view.lastIndex(),
                view.logEnd(),
                view.position(),
                view.chain(),
                view.epochs().from(rest[0].name().firstIndex(), rest[0].name().baseOffset()));
    Lock alone = core.structure().writeLock();
    alone.lock();
    try {
      reader.forgetHints();
      readable = shorter;
    } finally {
      alone.unlock();
    }
  }

  private void delete(Segment segment) throws IOException {
    segment.retire();
    // In either order: an index without its segment is deleted at the next start, a segment without
    // its index gets a new one.
    deleteIfThere(segment.index().handle());
    deleteIfThere(segment.log());
    try {
      // A power cut that brought this one back but not the next would leave a hole.
      core.disk().syncDirectory(core.directory());
    } catch (IOException e) {
      throw core.fail("fsync of the directory", e);
    }
  }

  private void deleteIfThere(FileHandles.Handle handle) throws IOException {
    if (core.disk().exists(handle.path())) {
      core.disk().delete(handle.path());
    }
  }

  /**
   * Deletes all dropped files at once, for the writer that is about to begin anew: behind a gap
   * they would stand in the way of the next start. Lent slices stay good.
   */
  void deleteAll() throws IOException {
    while (!dropped.isEmpty()) {
      Segment oldest = dropped.peekFirst().segment;
      hideOldest(oldest);
      delete(oldest);
      dropped.removeFirst();
      droppedBytes -= oldest.fileBytes();
    }
  }

  /** Held by whoever changes files while none may be deleted. */
  ReentrantLock lock() {
    return trimming;
  }
}
