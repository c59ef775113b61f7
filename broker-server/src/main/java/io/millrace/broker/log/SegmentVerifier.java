package io.millrace.broker.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * Reads a whole segment file and tells what of it can be believed: every checksum of a batch, dense
 * Raft indexes and offsets, terms that never fall, head and footer, the CRC chain over all headers,
 * and the index beside it. Changes nothing, and needs no lock: the segment may be written
 * meanwhile.
 *
 * <p>Threads: one per call. Memory: a few buffers of 128 KiB; it grows with the number of bad
 * places and of terms only. Errors: {@link LogFormatException} if the file is of a newer version or
 * no segment; damage is no exception here but stands in the report.
 */
public final class SegmentVerifier {

  /** Whether to look once more at a place that may be in the middle of a write. */
  @FunctionalInterface
  public interface Patience {

    Patience NONE = attempt -> false;

    /**
     * Returns true after a pause in which the writer can go on, false if there was time enough.
     *
     * @param attempt 0 for the first look at this place
     */
    boolean lookAgain(int attempt) throws IOException;
  }

  /** Each look may find some bytes more; this ends the hunt for a writer that is always ahead. */
  private static final int MAX_LOOKS = 1000;

  private final Disk disk;
  private final Pacer pacer;
  private final ToLongFunction<ByteBuffer> logTimeOf;

  /**
   * @param pacer asked before every read
   * @param logTimeOf the log time in a TIME batch, as {@link LogListener#logTimeOf}
   */
  public SegmentVerifier(Disk disk, Pacer pacer, ToLongFunction<ByteBuffer> logTimeOf) {
    this.disk = disk;
    this.pacer = pacer;
    this.logTimeOf = logTimeOf;
  }

  /**
   * @param patience for the end of a segment that may be written to
   */
  public SegmentReport verify(Path log, Patience patience) throws IOException {
    try (SegmentWalk walk = SegmentWalk.open(disk, log, SegmentReading.whole(pacer, logTimeOf))) {
      awaitHead(walk, patience);
      try (StoredIndex index = openIndex(walk, patience)) {
        // The mark may speak of what was written since the segment was opened.
        walk.lookAgain();
        return new Run(log, walk, index, patience).run();
      }
    }
  }

  /** A segment is created empty, and gets its head in the next moment. */
  private static void awaitHead(SegmentWalk walk, Patience patience) throws IOException {
    int attempt = 0;
    while (walk.stop() == SegmentWalk.Stop.SHORT
        && walk.head() == null
        && patience.lookAgain(attempt++)) {
      walk.lookAgain();
    }
  }

  /** Its header comes a moment after the segment's. */
  private StoredIndex openIndex(SegmentWalk walk, Patience patience) throws IOException {
    int attempt = 0;
    while (true) {
      StoredIndex index = StoredIndex.open(disk, walk.indexPath(), walk.name());
      if (index.problem() == null || !patience.lookAgain(attempt++)) {
        return index;
      }
      index.close();
    }
  }

  private record Place(long index, long offset, long position) {}

  /** One reading of one segment. */
  private static final class Run {

    private final Path log;
    private final SegmentWalk walk;
    private final IndexCheck indexCheck;
    private final IndexMark mark;
    private final Patience patience;
    private final List<ValidRange> valid = new ArrayList<>();
    private final List<BadRange> bad = new ArrayList<>();
    private ValidRange open;
    private Place termStart;
    private int term;
    private long batches;
    private long controlBatches;
    private long records;
    private long minTimestamp = -1;

    Run(Path log, SegmentWalk walk, StoredIndex index, Patience patience) {
      this.log = log;
      this.walk = walk;
      this.indexCheck = new IndexCheck(index);
      this.mark = index.mark();
      this.patience = patience;
    }

    SegmentReport run() throws IOException {
      int attempt = 0;
      int looks = 0;
      while (true) {
        StoredBatch batch = walk.next();
        if (batch != null) {
          attempt = 0;
          take(batch);
          continue;
        }
        if (walk.stop() == SegmentWalk.Stop.END || walk.stop() == SegmentWalk.Stop.FOOT) {
          break;
        }
        if (looks++ < MAX_LOOKS && patience.lookAgain(attempt++)) {
          walk.lookAgain();
        } else if (!passBadPlace()) {
          break;
        }
      }
      closeRange();
      settleConflict();
      return report();
    }

    private void take(StoredBatch batch) throws IOException {
      if (batch.kind() == StoredBatch.Kind.FOOT) {
        indexCheck.expectEnd(walk.cursor().endEntry());
        return;
      }
      if (batch.kind() == StoredBatch.Kind.HEAD) {
        checkHead(batch);
        return;
      }
      batches++;
      if (batch.controlType() == StoredBatch.RECORDS) {
        records += batch.header().recordCount();
        long timestamp = batch.header().baseTimestamp();
        if (timestamp >= 0 && (minTimestamp < 0 || timestamp < minTimestamp)) {
          minTimestamp = timestamp;
        }
      } else {
        controlBatches++;
      }
      if (batch.term() != term) {
        term = batch.term();
        termStart = new Place(batch.index(), batch.header().baseOffset(), batch.position());
      }
      if (open == null) {
        open =
            new ValidRange(
                batch.index(),
                batch.index(),
                batch.header().baseOffset(),
                batch.header().baseOffset(),
                batch.position(),
                batch.position());
      }
      open =
          new ValidRange(
              open.firstIndex(),
              walk.index(),
              open.firstOffset(),
              walk.offset(),
              open.position(),
              walk.position());
      if (walk.due() != null) {
        indexCheck.expect(walk.due());
      }
      checkMark();
    }

    /** Of what no checksum covers; all else was checked when it was decoded. */
    private void checkHead(StoredBatch head) {
      long baseOffset = walk.name().baseOffset();
      if (head.header().baseOffset() != baseOffset || head.term() != SegmentHead.NO_TERM) {
        bad.add(
            new BadRange(
                walk.name().firstIndex(),
                baseOffset,
                0,
                head.size(),
                false,
                "the head has base offset "
                    + head.header().baseOffset()
                    + " and term "
                    + head.term()));
      }
    }

    /**
     * The mark knows where an entry ended when it was synced, and the chain of headers up to it.
     */
    private void checkMark() {
      if (mark == null || mark.position() == 0 || mark.index() != walk.index() - 1) {
        return;
      }
      if (mark.position() != walk.position()
          || bad.isEmpty() && mark.chain() != walk.cursor().chain) {
        distrustSince(null, "the headers up to here are not those that were synced");
      }
    }

    private boolean passBadPlace() throws IOException {
      indexCheck.stop();
      boolean termFell = walk.termFell();
      SegmentWalk.Stop stop = walk.stop();
      long index = walk.index();
      long offset = walk.offset();
      long position = walk.position();
      String reason = walk.reason();
      closeRange();
      boolean skipped = walk.skip();
      if (termFell && (!skipped || walk.skippedByIndex())) {
        // The terms stay low: it is the higher one before that is wrong, or all behind.
        distrustSince(termStart, reason + " at position " + position);
      }
      bad.add(
          new BadRange(
              index,
              offset,
              position,
              skipped ? walk.position() : walk.end(),
              stop == SegmentWalk.Stop.SHORT && !skipped,
              reason));
      return skipped;
    }

    private void closeRange() {
      if (open != null) {
        valid.add(open);
        open = null;
      }
    }

    /** Where log and index do not agree one is wrong; the footer's chain tells which. */
    private void settleConflict() {
      String conflict = indexCheck.conflict();
      if (walk.footHasOtherChain() && bad.size() == 1) {
        // The footer is whole, so one of the headers that it sums up is not what was written.
        BadRange footer = bad.remove(0);
        distrustSince(null, footer.reason());
      } else if (conflict != null && bad.isEmpty()) {
        if (walk.foot() != null) {
          indexCheck.blameIndex();
        } else {
          distrustSince(null, "log and index do not agree: " + conflict);
        }
      }
    }

    /**
     * Some header was changed behind the last index entry that agrees, and not before {@code
     * earliest}: none from there on is believed.
     */
    private void distrustSince(Place earliest, String reason) {
      IndexEntry agreed = indexCheck.lastAgreed();
      Place since = earliest;
      if (agreed != null && (since == null || agreed.position() > since.position())) {
        since = new Place(agreed.index(), agreed.offset(), agreed.position());
      }
      ValidRange last = open != null ? open : valid.isEmpty() ? null : valid.get(valid.size() - 1);
      if (last == null) {
        return;
      }
      if (open == null) {
        valid.remove(valid.size() - 1);
      }
      open = null;
      if (since == null || since.position() <= last.position()) {
        since = new Place(last.firstIndex(), last.firstOffset(), last.position());
      } else {
        valid.add(last.before(since.index(), since.offset(), since.position()));
      }
      bad.add(
          new BadRange(
              since.index(), since.offset(), since.position(), last.endPosition(), false, reason));
    }

    private SegmentReport report() {
      Cursor cursor = walk.cursor();
      return new SegmentReport(
          log,
          walk.end(),
          walk.name(),
          walk.head(),
          walk.foot(),
          walk.index(),
          walk.offset(),
          valid,
          bad,
          walk.epochs(),
          new SegmentReport.Sums(
              batches,
              controlBatches,
              records,
              cursor.recordBytes,
              minTimestamp,
              cursor.maxTimestamp,
              cursor.firstLogTime,
              cursor.logTime),
          mark == null
              ? null
              : new SyncMark(mark.index(), walk.name().firstIndex(), mark.position()),
          mark != null && mark.failed(),
          indexCheck.problem());
    }
  }
}
