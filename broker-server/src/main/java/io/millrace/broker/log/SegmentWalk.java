package io.millrace.broker.log;

import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.ControlType;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * Goes through the batches of one segment file without being its owner: for tools, scrubbing and
 * salvage. Every header is checked against what came before and every checksum is computed. Where a
 * batch is bad the walk stops and says why; {@link #skip} finds the next good one behind it.
 *
 * <p>The file may be written to meanwhile. What was behind its end when it was opened is not seen
 * before {@link #lookAgain}.
 *
 * <p>Owns: the open file, for reading. Threads: one. Memory: one buffer of 128 KiB, whatever the
 * file claims.
 *
 * <p>Errors: {@link LogFormatException} for a file of a newer version and for one that is no
 * segment; {@link SegmentChangedException} if it became shorter.
 */
public final class SegmentWalk implements Closeable {

  /** Why there is no next batch. */
  public enum Stop {
    /** The file ends behind a batch. */
    END,
    /** The footer was the last batch. */
    FOOT,
    /** The file ends inside a batch. */
    SHORT,
    /** What stands there is no batch of this log. */
    CORRUPT
  }

  private final Disk disk;
  private final Path log;
  private final Path indexPath;
  private final PacedFile file;
  private final SegmentReading reading;
  private SegmentName name;
  private long end;
  private SegmentHead head;
  private Cursor cursor;
  private SegmentScanner scanner;
  private EpochTable epochs;
  private IndexEntry due;
  private boolean atHead;
  private boolean headDue;
  private int headBytes;

  /** Every header since the begin was seen and fits, so all that the cursor counted is true. */
  private boolean complete;

  /** A bad batch was passed: if its header is what is bad, the chain of the footer cannot match. */
  private boolean chainBroken;

  private boolean skippedByIndex;
  private Stop stop;
  private String reason;
  private SegmentFoot foot;

  private SegmentWalk(Disk disk, Path log, PacedFile file, SegmentReading reading) {
    this.disk = disk;
    this.log = log;
    this.indexPath = indexBeside(log);
    this.file = file;
    this.reading = reading;
  }

  public static SegmentWalk open(Disk disk, Path log, SegmentReading reading) throws IOException {
    SegmentWalk walk =
        new SegmentWalk(disk, log, new PacedFile(disk.open(log, false), reading.pacer()), reading);
    boolean opened = false;
    try {
      walk.end = walk.file.size();
      walk.begin();
      opened = true;
      return walk;
    } finally {
      if (!opened) {
        walk.close();
      }
    }
  }

  private static Path indexBeside(Path log) {
    String file = log.getFileName().toString();
    int dot = file.lastIndexOf('.');
    return log.resolveSibling((dot < 0 ? file : file.substring(0, dot)) + ".idx");
  }

  private void begin() throws IOException {
    SegmentHead.At found;
    try {
      found = SegmentHead.find(file, end);
    } catch (LogFormatException e) {
      throw new LogFormatException(log + " has " + e.getMessage());
    }
    head = found.head();
    headBytes = found.bytes();
    name = head == null ? SegmentName.parse(log) : head.name();
    if (name == null) {
      throw new LogFormatException(log + " is no segment: " + found.problem());
    }
    epochs = EpochTable.EMPTY;
    complete = head != null;
    chainBroken = head == null;
    atHead = head == null;
    headDue = head != null;
    stop = null;
    if (atHead) {
      stopAt(found.cutShort() ? Stop.SHORT : Stop.CORRUPT, found.problem());
    }
    cursor = Cursor.behindHead(name, headBytes, head == null ? -1 : head.logTime(), 0);
    scanner = scanner(cursor);
    if (head != null
        && (reading.fromIndex() > name.firstIndex() || reading.fromOffset() > name.baseOffset())) {
      seek();
    }
  }

  private SegmentScanner scanner(Cursor at) {
    return new SegmentScanner(
        file,
        end,
        at,
        true,
        reading.logTimeOf(),
        entry -> {
          due = entry;
          return null;
        });
  }

  private BatchSearch search() {
    return new BatchSearch(disk, indexPath, name, file, end, reading.logTimeOf());
  }

  /** To the last index entry before what is asked for; stays where it is if that leads nowhere. */
  private void seek() throws IOException {
    IndexEntry entry = search().entryBefore(reading.fromIndex(), reading.fromOffset());
    if (entry != null) {
      goTo(Cursor.at(entry), entry);
      complete = false;
    }
  }

  private void goTo(Cursor place, IndexEntry entryOrNull) {
    cursor = place;
    scanner = scanner(place);
    if (entryOrNull != null && entryOrNull.kind() != IndexEntry.END) {
      epochs = epochs.with(entryOrNull.term(), entryOrNull.index(), entryOrNull.offset());
    }
  }

  /** The next batch, its checksum verified; null where there is none, see {@link #stop}. */
  public StoredBatch next() throws IOException {
    if (headDue) {
      headDue = false;
      return batch(
          StoredBatch.Kind.HEAD, 0, readHeader(0), headBytes, ControlType.SEGMENT_HEAD.code());
    }
    if (stop != null) {
      return null;
    }
    due = null;
    SegmentScanner.Verdict verdict = BatchSearch.scan(scanner, cursor.index + 1, file, end);
    switch (verdict) {
      case STOPPED -> {
        if (due != null) {
          epochs = epochs.with(due.term(), due.index(), due.offset());
        }
        int size = cursor.headerSize();
        return batch(
            StoredBatch.Kind.ENTRY,
            (long) cursor.position - size,
            BatchHeader.read(cursor.header(), 0),
            size,
            scanner.controlType());
      }
      case FOOT -> {
        return passFoot();
      }
      case CORRUPT -> {
        if (scanner.foot() != null && chainBroken) {
          return passFoot();
        }
        stopAt(Stop.CORRUPT, scanner.reason());
      }
      case SHORT -> stopAt(Stop.SHORT, scanner.reason());
      case END -> stopAt(Stop.END, null);
    }
    return null;
  }

  private StoredBatch batch(
      StoredBatch.Kind kind, long position, BatchHeader header, int size, int controlType) {
    long index = kind == StoredBatch.Kind.ENTRY ? cursor.index - 1 : StoredBatch.NO_INDEX;
    return new StoredBatch(kind, index, position, size, header, controlType);
  }

  private BatchHeader readHeader(long position) throws IOException {
    ByteBuffer header = ByteBuffer.allocate(BatchHeader.SIZE);
    if (!file.readFully(header, position)) {
      throw new SegmentChangedException("it became shorter while it was read", null);
    }
    return BatchHeader.read(header, 0);
  }

  private StoredBatch passFoot() {
    foot = scanner.foot();
    long behind = end - scanner.footEnd();
    if (cursor.headerTerm() != SegmentHead.NO_TERM) {
      stopAt(Stop.CORRUPT, "the footer has term " + cursor.headerTerm());
    } else if (complete && !cursor.foot(epochs, name).equals(foot)) {
      stopAt(Stop.CORRUPT, "the footer does not sum up what stands before it: " + foot);
    } else if (behind > 0) {
      stopAt(Stop.CORRUPT, behind + " bytes stand behind the footer");
    } else {
      stopAt(Stop.FOOT, null);
    }
    return batch(
        StoredBatch.Kind.FOOT,
        cursor.position,
        BatchHeader.read(cursor.header(), 0),
        (int) (scanner.footEnd() - cursor.position),
        ControlType.SEGMENT_FOOT.code());
  }

  private void stopAt(Stop newStop, String why) {
    stop = newStop;
    reason = why;
  }

  /**
   * Takes the file as it is now and goes on from the last good batch: after {@link Stop#END} for
   * what was written since, at a bad place because it may have been in the middle of a write.
   */
  public void lookAgain() throws IOException {
    long now = file.size();
    if (now < cursor.position) {
      throw new SegmentChangedException(
          "it has " + now + " bytes, it had " + cursor.position, null);
    }
    end = now;
    if (atHead) {
      begin();
    } else if (foot == null) {
      stop = null;
      scanner = scanner(cursor);
    }
  }

  /**
   * From a bad place to the next good batch: the one behind it if its length is right, else one
   * that the index knows. False if there is none; then the walk stays where it is.
   */
  public boolean skip() throws IOException {
    if (stop != Stop.SHORT && stop != Stop.CORRUPT || foot != null || scanner.foot() != null) {
      return false;
    }
    BatchSearch search = search();
    Cursor behind = search.behind(cursor, atHead);
    IndexEntry entry = behind == null ? search.entryBehind(cursor) : null;
    if (behind == null && entry == null) {
      return false;
    }
    skippedByIndex = behind == null;
    chainBroken = !skippedByIndex;
    goTo(skippedByIndex ? Cursor.at(entry) : behind, entry);
    complete = false;
    atHead = false;
    stop = null;
    reason = null;
    return true;
  }

  /** All bytes of a batch; null if they are more than {@code maxBytes}. */
  public ByteBuffer read(StoredBatch batch, int maxBytes) throws IOException {
    if (batch.size() > maxBytes) {
      return null;
    }
    ByteBuffer bytes = ByteBuffer.allocate(batch.size());
    if (!file.readFully(bytes, batch.position())) {
      throw new SegmentChangedException("it became shorter while it was read", null);
    }
    return bytes.flip();
  }

  /** Null while there may be a next batch. */
  public Stop stop() {
    return stop;
  }

  /** What is wrong, with {@link Stop#SHORT} and {@link Stop#CORRUPT}. */
  public String reason() {
    return reason;
  }

  public SegmentName name() {
    return name;
  }

  /** Null if it cannot be read. */
  public SegmentHead head() {
    return head;
  }

  /** Null before it was reached, and if there is none. */
  public SegmentFoot foot() {
    return foot;
  }

  /** Raft index of the next entry. */
  public long index() {
    return cursor.index;
  }

  /** Offset of the next record. */
  public long offset() {
    return cursor.offset;
  }

  /** Where the next batch begins, or the bad place. */
  public long position() {
    return cursor.position;
  }

  /** The size of the file when it was last looked at. */
  public long end() {
    return end;
  }

  /** Terms of the batches passed. */
  EpochTable epochs() {
    return epochs;
  }

  /** The index entry that stands in front of the last batch; null if none has to. */
  IndexEntry due() {
    return due;
  }

  Cursor cursor() {
    return cursor;
  }

  Path indexPath() {
    return indexPath;
  }

  /**
   * What stands behind the bad batch was found by the index alone: it does not fit what was before.
   */
  boolean skippedByIndex() {
    return skippedByIndex;
  }

  /** The footer stands where it has to, but sums up other headers than those before it. */
  boolean footHasOtherChain() {
    return stop == Stop.CORRUPT && foot == null && scanner.foot() != null;
  }

  /** A term is below the one before: either of them is wrong. */
  boolean termFell() {
    return stop == Stop.CORRUPT
        && !atHead
        && end - cursor.position >= BatchHeader.SIZE
        && cursor.mismatch() == null
        && cursor.headerTerm() > 0
        && cursor.headerTerm() < cursor.term;
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
