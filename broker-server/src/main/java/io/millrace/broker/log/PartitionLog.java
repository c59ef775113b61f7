package io.millrace.broker.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The log of one partition: Raft entries, each one record batch or control batch, in segments.
 *
 * <p>Owns: the segment files in its directory. It knows nothing of Raft: indexes and terms are
 * numbers that grow.
 *
 * <p>Threads: {@link #append}, {@link #truncateSuffix}, {@link #reset} and {@link #close} come from
 * one writer at a time; everything else from any thread, also meanwhile. Readers see what is
 * completely written, synced or not, and never wait for an fsync.
 *
 * <p>Durability: {@link #append} returns when the fsync policy is satisfied; {@link #sync}, {@link
 * #truncateSuffix} and {@link #reset} when all is on the device.
 *
 * <p>Errors: a failed write or fsync ends all writing with {@link LogFailedException}; it is never
 * repeated, and the log has to be opened again. Reads go on. Stored bytes that are not what was
 * written are {@link LogDamagedException}.
 */
public final class PartitionLog implements AutoCloseable {

  private interface Read<T> {
    T from(LogView view) throws IOException;
  }

  private final LogCore core;
  private final LogSyncer syncer;
  private final SegmentWriter writer;
  private final LogReader reader = new LogReader();
  private final IndexBuilder builder;
  private final LogCutter cutter;
  private final LogPrefix prefix;
  private final RecoveryReport recovery;
  private final ReentrantLock writing = new ReentrantLock();

  private PartitionLog(LogCore core, Recovery.Result recovered) {
    this.core = core;
    core.publish(recovered.view());
    this.recovery = recovered.report();
    this.syncer = new LogSyncer(core, recovered.mark());
    if (syncer.isDirty()) {
      // The process that created the newest file may have died before it synced the name.
      core.directoryChanged();
    }
    this.writer = new SegmentWriter(core);
    this.builder = new IndexBuilder(core);
    this.cutter = new LogCutter(core, syncer, reader, builder);
    this.prefix = new LogPrefix(core, syncer, writer, reader, writing);
    writer.resume(recovered.view().active(), recovered.cursor(), recovered.view().epochs());
  }

  /**
   * Opens the log in a directory, which is created if it is not there, and recovers it. What may be
   * only in the page cache is fsynced before it returns, so that a replica can stand by what it
   * finds here; with {@link FsyncPolicy#OS} only after a power cut or a repair.
   *
   * @throws LogDamagedException entries that were on the device are missing or changed; nothing was
   *     modified
   * @throws LogFormatException the files belong to another log or to a newer version; nothing was
   *     modified
   */
  public static PartitionLog open(
      Disk disk,
      Path directory,
      LogIdentity identity,
      LogConfig config,
      RecoveryHint hint,
      LogListener listener)
      throws IOException {
    LogCore core = new LogCore(disk, directory, identity, config, listener);
    boolean opened = false;
    try {
      Recovery.Result recovered = new Recovery(core, hint).run();
      PartitionLog log = new PartitionLog(core, recovered);
      // Without a position the mark was lowered for a removal that did not come to its end.
      boolean interrupted = recovered.mark().position() == 0;
      // After a power cut there is hardly anything to write, and the mark gets where it belongs.
      if (recovered.changed()
          || interrupted
          || hint.bootChanged()
          || config.fsync() != FsyncPolicy.OS) {
        log.sync();
      }
      opened = true;
      return log;
    } finally {
      if (!opened) {
        core.close();
      }
    }
  }

  public Path directory() {
    return core.directory();
  }

  /** What opening did. */
  public RecoveryReport recovery() {
    return recovery;
  }

  /** The begin of the log, from which segments leave. */
  public LogPrefix prefix() {
    return prefix;
  }

  public long firstIndex() {
    return core.view().firstIndex();
  }

  /** One below the first index if the log is empty. */
  public long lastIndex() {
    return core.view().lastIndex();
  }

  public long logStart() {
    return core.view().logStart();
  }

  /** Offset behind the last record that is written. */
  public long logEnd() {
    return core.view().logEnd();
  }

  /**
   * Appends entries in order and returns when the fsync policy is satisfied for all of them.
   *
   * @throws IllegalStateException if an index does not follow or a term goes back or is too high;
   *     nothing was written
   * @throws IllegalArgumentException if an entry is no whole batch; nothing was written
   */
  public void append(List<LogEntry> entries) throws IOException {
    writing.lock();
    try {
      checkWritable();
      writer.check(entries);
      try {
        writer.append(entries);
      } catch (IOException | RuntimeException e) {
        throw core.appendFailed(e);
      }
      if (core.config().fsync() == FsyncPolicy.ALWAYS) {
        syncer.sync();
      }
    } finally {
      writing.unlock();
    }
  }

  /**
   * Removes the entries above an index, durably. Nothing happens if there are none.
   *
   * @throws IllegalArgumentException if the entry lies before the begin of the log
   */
  public void truncateSuffix(long lastIndexKept) throws IOException {
    changing(
        "truncation",
        () -> {
          LogView view = core.view();
          if (lastIndexKept < view.firstIndex() - 1) {
            throw new IllegalArgumentException(
                directory()
                    + " begins at index "
                    + view.firstIndex()
                    + ", cannot be cut back to "
                    + lastIndexKept);
          }
          if (lastIndexKept < view.lastIndex()) {
            cutter.truncateSuffix(lastIndexKept, writer);
          }
        });
  }

  /** As {@link #reset(long, long)}, with offsets going on where the log ended. */
  public void reset(long nextIndex) throws IOException {
    reset(nextIndex, nextIndex == 1 ? 0 : logEnd());
  }

  /**
   * Sets all files aside in {@code aside-<n>/} and goes on as an empty log whose next entry has the
   * given index and whose next record has the given offset.
   */
  public void reset(long nextIndex, long nextOffset) throws IOException {
    if (nextIndex < 1 || nextOffset < 0) {
      throw new IllegalArgumentException(
          "a log cannot go on at index " + nextIndex + ", offset " + nextOffset);
    }
    prefix.lock().lock();
    try {
      changing(
          "reset",
          () -> {
            prefix.deleteAll();
            cutter.reset(nextIndex, nextOffset, writer);
          });
    } finally {
      prefix.lock().unlock();
    }
  }

  private interface Change {
    void run() throws IOException;
  }

  private void changing(String what, Change change) throws IOException {
    writing.lock();
    syncer.lock().lock();
    try {
      checkWritable();
      try {
        change.run();
        syncer.sync();
      } catch (LogFailedException e) {
        throw e;
      } catch (IOException e) {
        throw core.fail(what, e);
      }
    } finally {
      syncer.lock().unlock();
      writing.unlock();
    }
  }

  private void checkWritable() throws LogFailedException {
    core.checkUsable();
    if (core.isClosed()) {
      throw new IllegalStateException(directory() + " is closed");
    }
  }

  /** Term of an entry, 0 if the log does not have it. No I/O. */
  public long termAt(long index) {
    LogView view = core.view();
    return view.has(index) ? view.epochs().termAt(index) : 0;
  }

  /** Where the terms of this log begin. */
  public EpochTable epochs() {
    return core.view().epochs();
  }

  /** First offset that belongs to a later term than the given one; the log end if none does. */
  public long endOffsetOfTerm(long term) {
    LogView view = core.view();
    return view.epochs().endOffsetOfTerm(term, view.logEnd());
  }

  /**
   * The whole batch of an entry with the base offset and term that were stored, its checksum
   * verified; null if the log does not have it.
   */
  public ByteBuffer read(long index) throws IOException {
    return reading(null, view -> view.has(index) ? reader.read(view, index) : null);
  }

  /** Offset of the next record behind an entry, -1 if the log does not have the entry. */
  public long endOffsetAt(long index) throws IOException {
    return reading(
        -1L,
        view -> {
          if (index == view.lastIndex()) {
            return view.logEnd();
          }
          if (index == view.firstIndex() - 1) {
            return view.logStart();
          }
          return view.has(index) ? reader.endOffset(view, index) : -1L;
        });
  }

  /** Shows all control batches from an entry on, in order. */
  public void forEachControl(long fromIndex, ControlVisitor visitor) throws IOException {
    long from = Math.max(fromIndex, firstIndex());
    while (true) {
      long next = from;
      LogReader.Control found =
          reading(null, view -> view.has(next) ? reader.nextControl(view, next) : null);
      if (found == null) {
        return;
      }
      visitor.visit(found.index(), found.term(), found.batch());
      from = found.index() + 1;
    }
  }

  /**
   * Record batches from the one that holds {@code offset} to the last that ends at or before {@code
   * endOffset}: as many as fit into {@code maxBytes}, at least one. Control batches are left out.
   * Empty if the log has no such batch.
   */
  public FetchSlice slice(long offset, long endOffset, int maxBytes) throws IOException {
    FetchSlice slice = reading(null, view -> SliceBuilder.build(view, offset, endOffset, maxBytes));
    return slice == null ? FetchSlice.empty(offset) : slice;
  }

  /**
   * Reads the batch that holds an offset, for somebody who could not read it.
   *
   * @throws LogDamagedException if its checksum does not match here either
   */
  public void verifyBatchAt(long offset) throws IOException {
    reading(
        null,
        view -> {
          if (offset >= view.logStart() && offset < view.logEnd()) {
            reader.verify(view, offset);
          }
          return null;
        });
  }

  /** The first record between two offsets that is not older than a time; null if none is. */
  public OffsetAndTimestamp offsetForTimestamp(
      long timestampMillis, long fromOffset, long endOffset) throws IOException {
    return reading(
        null, view -> reader.offsetForTimestamp(view, timestampMillis, fromOffset, endOffset));
  }

  /**
   * Runs a lookup; an index that turns out to be wrong is made again from its segment. A power loss
   * can have damaged the indexes of several segments, so this goes on until each was made once.
   */
  private <T> T reading(T ifClosed, Read<T> read) throws IOException {
    Set<Segment> rebuilt = null;
    while (true) {
      try {
        return attempt(ifClosed, read);
      } catch (IndexDamagedException damage) {
        rebuilt = rebuilt == null ? new HashSet<>() : rebuilt;
        if (!rebuilt.add(damage.segment())) {
          LogView view = core.view();
          throw new LogDamagedException(
              directory(), view.firstIndex(), view.lastIndex(), false, damage.getMessage());
        }
        rebuildUnlessClosed(damage);
      }
    }
  }

  private void rebuildUnlessClosed(IndexDamagedException damage) throws IOException {
    writing.lock();
    try {
      if (!core.isClosed()) {
        builder.rebuildAlone(damage.segment(), syncer.mark());
      }
    } finally {
      writing.unlock();
    }
  }

  private <T> T attempt(T ifClosed, Read<T> read) throws IOException {
    core.structure().readLock().lock();
    try {
      return core.isClosed() ? ifClosed : read.from(core.view());
    } finally {
      core.structure().readLock().unlock();
    }
  }

  public SyncMark syncMark() {
    return syncer.mark();
  }

  /** Makes everything that is readable now durable, under every policy. Any thread. */
  public void sync() throws IOException {
    syncer.sync();
  }

  /** Whether something readable may not be on the device. */
  public boolean dirty() {
    return syncer.isDirty();
  }

  /** Bytes of all segments, also of those that are only waiting to be deleted. */
  public long sizeBytes() {
    LogView view = core.view();
    long bytes = view.position() + prefix.droppedBytes();
    for (int i = 0; i < view.segments().length - 1; i++) {
      bytes += view.segments()[i].fileBytes();
    }
    return bytes;
  }

  /** The segments' files, ascending; later ones may have come, and any may go. */
  public List<Path> segmentFiles() {
    return Arrays.stream(core.view().segments()).map(each -> each.log().path()).toList();
  }

  public int segmentCount() {
    return core.view().segments().length;
  }

  /** What each segment holds, ascending; the last one is written to. Empty if closed. */
  public List<SegmentSummary> segments() throws IOException {
    return reading(List.of(), SegmentSummary::of);
  }

  /** Whether writing has ended because of an error. */
  public boolean failed() {
    return core.failure() != null;
  }

  public boolean isClosed() {
    return core.isClosed();
  }

  /**
   * Whether what was readable may not reach the device, because an fsync or a removal failed. A
   * failed append alone, as on a full disk, says nothing about what was written before it.
   */
  public boolean writtenInDoubt() {
    return core.isWrittenInDoubt();
  }

  int openFiles() {
    return core.handles().openFiles();
  }

  /** Syncs what is left and closes the files; later reads find nothing, lent slices stay good. */
  @Override
  public void close() throws IOException {
    prefix.lock().lock();
    writing.lock();
    syncer.lock().lock();
    try {
      if (!core.isClosed()) {
        closeFiles();
      }
    } finally {
      syncer.lock().unlock();
      writing.unlock();
      prefix.lock().unlock();
    }
  }

  private void closeFiles() throws IOException {
    try {
      if (!failed()) {
        syncer.sync();
        try {
          core.view().active().index().sync();
        } catch (IOException e) {
          throw core.fail("fsync of the index", e);
        }
      }
    } finally {
      core.structure().writeLock().lock();
      try {
        core.close();
      } finally {
        core.structure().writeLock().unlock();
      }
    }
  }
}
