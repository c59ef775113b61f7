package io.millrace.broker.log;

import java.util.ArrayList;
import java.util.List;

/** What recovery decided before it changes the first file. */
final class RecoveryPlan {

  /** A segment that stays, with what was learned about it. */
  static final class Kept {
    final FoundSegment found;

    /** Known footer and its place; null if the segment has none. */
    SegmentFoot.At end;

    /** Behind the last good batch; null if the segment was trusted without a look. */
    Cursor cursor;

    /** Index entries of the file that are right, and those to add behind them. */
    int keptEntries;

    List<IndexEntry> newEntries = List.of();

    /** Everything behind the cursor is dropped. */
    boolean cut;

    /** The footer is to be written again behind the cursor. */
    boolean newFooter;

    /** Of a file that got a new footer. */
    long newFileBytes;

    Kept(FoundSegment found) {
      this.found = found;
    }
  }

  final List<Kept> kept = new ArrayList<>();

  /** Ascending; not part of the log. */
  final List<FoundSegment> dropped = new ArrayList<>();

  final List<String> notes = new ArrayList<>();
  EpochTable epochs = EpochTable.EMPTY;
  long nextIndex;
  long nextOffset;
  long logTime = -1;
  long bytesCut;
  long firstIndexCut;
  long batchesChecked;

  /** An fsync had failed: everything above the mark was dropped. */
  boolean cutToMark;
}
