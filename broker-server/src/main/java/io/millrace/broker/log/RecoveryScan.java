package io.millrace.broker.log;

import io.millrace.broker.log.RecoveryPlan.Kept;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Decides what of the files found is the log. Reads only.
 *
 * <p>The rules, from the design: a bad batch at or below the highest entry that was known to be on
 * the device is damage. Above it, after a power cut, it is a torn tail and is cut. Above it, after
 * a mere kill, the page cache has survived: a file may end inside a batch, which is cut, but a
 * batch of full length with a bad checksum is damage.
 *
 * <p>After a failed fsync nothing above the mark is kept, whatever it looks like.
 *
 * <p>Closed segments are trusted by size and footer if they are known to be on the device or no
 * power was lost. The last one, and after a power cut all above the mark, are read from the
 * checkpoint on.
 */
final class RecoveryScan {

  private final Disk disk;
  private final Path directory;
  private final LogListener listener;
  private final RecoveryHint hint;
  private final List<FoundSegment> found;
  private final long protectedIndex;

  /** Nothing above this entry is kept, because an fsync failed behind it. */
  private final long trustedIndex;

  private final RecoveryPlan plan = new RecoveryPlan();

  RecoveryScan(
      Disk disk,
      Path directory,
      LogListener listener,
      RecoveryHint hint,
      List<FoundSegment> found,
      long orphanMark) {
    this.disk = disk;
    this.directory = directory;
    this.listener = listener;
    this.hint = hint;
    this.found = found;
    long highest = Math.max(orphanMark, hint.protectedIndex());
    boolean failed = false;
    for (FoundSegment each : found) {
      highest = Math.max(highest, each.mark() == null ? 0 : each.mark().index());
      failed |= each.mark() != null && each.mark().failed();
    }
    this.protectedIndex = highest;
    this.trustedIndex = failed ? highest : Long.MAX_VALUE - 1;
    plan.cutToMark = failed;
  }

  long protectedIndex() {
    return protectedIndex;
  }

  RecoveryPlan run() throws IOException {
    long first = found.isEmpty() ? 1 : found.get(0).name().firstIndex();
    plan.nextIndex = first;
    plan.nextOffset = found.isEmpty() ? 0 : found.get(0).name().baseOffset();
    if (hint.checkpointIndex() > 0 && first > hint.checkpointIndex() + 1) {
      throw damage(
          directory,
          hint.checkpointIndex() + 1,
          first - 1,
          true,
          "the log begins only behind the checkpoint at " + hint.checkpointIndex());
    }
    for (int i = 0; i < found.size(); i++) {
      if (!accept(i)) {
        plan.dropped.addAll(found.subList(i, found.size()));
        break;
      }
      if (last().cut) {
        plan.dropped.addAll(found.subList(i + 1, found.size()));
        break;
      }
    }
    if (plan.cutToMark) {
      plan.notes.add("an fsync had failed, so nothing above " + trustedIndex + " was kept");
    }
    if (plan.nextIndex <= protectedIndex) {
      throw damage(
          directory,
          plan.nextIndex,
          protectedIndex,
          false,
          "the log ends at " + (plan.nextIndex - 1) + " but " + protectedIndex + " was synced");
    }
    return plan;
  }

  private Kept last() {
    return plan.kept.get(plan.kept.size() - 1);
  }

  private LogDamagedException damage(
      Path file, long first, long last, boolean validFollows, String reason) {
    return new LogDamagedException(file, first, Math.max(first, last), validFollows, reason);
  }

  /** Takes the next segment into the plan; false if it and all behind it are no part of the log. */
  private boolean accept(int i) throws IOException {
    FoundSegment segment = found.get(i);
    boolean newest = i == found.size() - 1;
    if (segment.name().firstIndex() != plan.nextIndex
        || segment.name().baseOffset() != plan.nextOffset) {
      if (plan.nextIndex <= protectedIndex) {
        throw damage(
            segment.log(),
            plan.nextIndex,
            Math.min(protectedIndex, segment.name().firstIndex() - 1),
            true,
            "the log goes on only with " + segment.name());
      }
      plan.notes.add(segment.name() + " does not continue the log");
      return false;
    }
    if (segment.isHeadless()) {
      if (plan.nextIndex <= protectedIndex
          || !hint.bootChanged() && !(newest && segment.headCutShort())) {
        throw damage(segment.log(), plan.nextIndex, protectedIndex, !newest, segment.headProblem());
      }
      plan.notes.add(segment.name() + " held nothing: " + segment.headProblem());
      plan.bytesCut += segment.size();
      plan.firstIndexCut = plan.nextIndex;
      return false;
    }
    Kept kept = new Kept(segment);
    plan.kept.add(kept);
    SegmentFoot.At end = segment.end();
    if (end != null
        && end.foot().lastIndex() >= segment.name().firstIndex() - 1
        && end.foot().lastIndex() <= trustedIndex
        && (end.foot().lastIndex() <= protectedIndex || !hint.bootChanged())) {
      closeWith(kept, end);
      plan.epochs = plan.epochs.withAll(end.foot().epochs());
    } else {
      read(kept, i);
    }
    return true;
  }

  private void closeWith(Kept kept, SegmentFoot.At end) {
    kept.end = end;
    plan.nextIndex = end.foot().lastIndex() + 1;
    plan.nextOffset = end.foot().nextOffset();
    plan.logTime = end.foot().lastLogTime();
  }

  private void read(Kept kept, int i) throws IOException {
    FoundSegment segment = kept.found;
    try (DiskFile file = disk.open(segment.log(), false)) {
      List<IndexEntry> onFile = entriesOnFile(segment);
      List<IndexEntry> known = upToCheckpoint(segment, onFile);
      EpochTable epochsBefore = plan.epochs;
      Outcome outcome = scan(kept, file, known);
      if (!known.isEmpty() && contradicts(known.get(known.size() - 1), kept)) {
        // Perhaps the index entry is wrong and not the segment.
        plan.epochs = epochsBefore;
        outcome = scan(kept, file, List.of());
      }
      keepWhatIsRight(kept, onFile);
      judge(kept, i, outcome, file);
    }
    plan.nextIndex = kept.cursor.index;
    plan.nextOffset = kept.cursor.offset;
    plan.logTime = kept.cursor.logTime;
  }

  private List<IndexEntry> entriesOnFile(FoundSegment segment) throws IOException {
    if (!disk.exists(segment.index())) {
      return List.of();
    }
    try (DiskFile file = disk.open(segment.index(), false)) {
      return SegmentIndex.loadEntries(file, segment.name());
    }
  }

  /** The entries up to the checkpoint: the segment is read from the last one on. */
  private List<IndexEntry> upToCheckpoint(FoundSegment segment, List<IndexEntry> onFile) {
    int count = 0;
    while (count < onFile.size()
        && onFile.get(count).index() <= hint.checkpointIndex() + 1
        && onFile.get(count).position() < segment.size()) {
      count++;
    }
    boolean usable =
        count > 0
            && hint.checkpointIndex() >= segment.name().firstIndex()
            && onFile.get(0).index() == segment.name().firstIndex();
    return usable ? onFile.subList(0, count) : List.of();
  }

  /** Whether a scan from an entry got nowhere, or found a batch of another kind or term there. */
  private static boolean contradicts(IndexEntry start, Kept kept) {
    return kept.cursor.position == start.position()
        || !kept.newEntries.isEmpty() && kept.newEntries.get(0).position() == start.position();
  }

  /** Entries that the scan only found again stay as they are in the file. */
  private static void keepWhatIsRight(Kept kept, List<IndexEntry> onFile) {
    int same = 0;
    while (same < kept.newEntries.size()
        && kept.keptEntries + same < onFile.size()
        && kept.newEntries.get(same).equals(onFile.get(kept.keptEntries + same))) {
      same++;
    }
    kept.keptEntries += same;
    kept.newEntries = kept.newEntries.subList(same, kept.newEntries.size());
  }

  private record Outcome(SegmentScanner.Verdict verdict, SegmentScanner scanner) {}

  private Outcome scan(Kept kept, DiskFile file, List<IndexEntry> known) throws IOException {
    FoundSegment segment = kept.found;
    List<IndexEntry> added = new ArrayList<>();
    for (IndexEntry entry : known) {
      plan.epochs = plan.epochs.with(entry.term(), entry.index(), entry.offset());
    }
    kept.keptEntries = known.size();
    kept.newEntries = added;
    kept.cursor =
        known.isEmpty()
            ? Cursor.behindHead(
                segment.name(),
                segment.headBytes(),
                segment.head().logTime(),
                (int) plan.epochs.lastTerm())
            : Cursor.at(known.get(known.size() - 1));
    Cursor cursor = kept.cursor;
    SegmentScanner scanner =
        new SegmentScanner(
            file,
            segment.size(),
            cursor,
            true,
            listener::logTimeOf,
            due -> {
              plan.batchesChecked++;
              if (due != null) {
                added.add(due);
                plan.epochs = plan.epochs.with(due.term(), due.index(), due.offset());
              }
              return contradictsMark(segment, cursor);
            });
    return new Outcome(scanner.scan(trustedIndex + 1), scanner);
  }

  /** The marks know where an entry ends, and the chain of all headers up to there. */
  private String contradictsMark(FoundSegment segment, Cursor cursor) {
    long index = cursor.index - 1;
    IndexMark mark = segment.mark();
    if (mark != null
        && mark.index() == index
        && mark.position() != 0
        && (mark.position() != cursor.position || mark.chain() != cursor.chain)) {
      return "headers up to here are not those that were synced";
    }
    SyncMark durable = hint.durableMarkOrNull();
    if (durable != null
        && durable.index() == index
        && durable.position() != 0
        && durable.segmentFirstIndex() == segment.name().firstIndex()
        && durable.position() != cursor.position) {
      return "the entry ends at " + cursor.position + ", synced was " + durable.position();
    }
    return null;
  }

  private void judge(Kept kept, int i, Outcome outcome, DiskFile file) throws IOException {
    FoundSegment segment = kept.found;
    Cursor cursor = kept.cursor;
    SegmentScanner scanner = outcome.scanner;
    boolean newest = i == found.size() - 1;
    switch (outcome.verdict) {
      case END, STOPPED -> {
        boolean whole = cursor.position == segment.size();
        if (whole && !newest && nextContinues(i, cursor)) {
          kept.newFooter = true;
          plan.notes.add("the footer of " + segment.name() + " was missing and is written again");
        } else if (outcome.verdict == SegmentScanner.Verdict.STOPPED) {
          // Also if nothing is left behind: a cut whose fsync failed is no cut.
          cut(kept);
        }
      }
      case FOOT -> {
        kept.end = new SegmentFoot.At(scanner.foot(), cursor.position);
        if (scanner.footEnd() < segment.size()) {
          cutBehind(kept, scanner.footEnd(), "bytes behind the footer", file);
        }
      }
      case SHORT, CORRUPT -> {
        if (!newest && nextContinues(i, cursor)) {
          kept.newFooter = true;
          plan.notes.add("the footer of " + segment.name() + " was damaged and is written again");
        } else {
          boolean isShort = outcome.verdict == SegmentScanner.Verdict.SHORT;
          if (cursor.index <= protectedIndex || !hint.bootChanged() && !(isShort && newest)) {
            throw damageAt(kept, scanner.reason(), file);
          }
          cut(kept);
        }
      }
    }
  }

  private void cut(Kept kept) {
    kept.cut = true;
    long bytes = kept.found.size() - kept.cursor.position;
    plan.bytesCut += bytes;
    plan.firstIndexCut = bytes > 0 ? kept.cursor.index : plan.firstIndexCut;
  }

  private void cutBehind(Kept kept, long from, String what, DiskFile file) throws IOException {
    if (!hint.bootChanged()) {
      throw damageAt(kept, what, file);
    }
    // Written again whole: simpler than a second kind of cut, and as rare.
    kept.end = null;
    kept.newFooter = true;
    plan.bytesCut += kept.found.size() - from;
    plan.firstIndexCut = kept.cursor.index;
  }

  private boolean nextContinues(int i, Cursor cursor) {
    SegmentName next = found.get(i + 1).name();
    return next.firstIndex() == cursor.index && next.baseOffset() == cursor.offset;
  }

  /** Looks with the help of the index whether anything readable follows, and from where on. */
  private LogDamagedException damageAt(Kept kept, String reason, DiskFile file) throws IOException {
    FoundSegment segment = kept.found;
    Cursor bad = kept.cursor;
    String where = reason + " at position " + bad.position;
    if (disk.exists(segment.index())) {
      try (DiskFile index = disk.open(segment.index(), false)) {
        for (IndexEntry entry : SegmentIndex.loadEntries(index, segment.name())) {
          if (entry.position() > bad.position && readableFrom(entry, file, segment.size())) {
            return damage(segment.log(), bad.index, entry.index() - 1, true, where);
          }
        }
      }
    }
    return damage(segment.log(), bad.index, protectedIndex, false, where);
  }

  private boolean readableFrom(IndexEntry entry, DiskFile file, long size) throws IOException {
    if (entry.position() > size) {
      return false;
    }
    SegmentScanner scanner =
        new SegmentScanner(file, size, Cursor.at(entry), true, listener::logTimeOf, due -> null);
    return scanner.scan(entry.index() + 1) == SegmentScanner.Verdict.STOPPED;
  }
}
