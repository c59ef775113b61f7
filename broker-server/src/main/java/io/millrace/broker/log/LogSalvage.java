package io.millrace.broker.log;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes a damaged log fit to be opened and completed from somewhere else: reads all of it, and sets
 * aside everything from the first segment on that is not whole. What is kept is verified to the
 * last checksum.
 *
 * <p>To be used only by an owner who has noted durably that entries of this log may be missing: the
 * log opens afterwards as if it had never been longer.
 *
 * <p>Threads: one, and nobody has the log open. Durability: each file is moved durably, the newest
 * first, so that a crash on the way leaves a log that this can be used on again. Memory: one
 * buffer.
 */
public final class LogSalvage {

  private static final Logger LOG = LoggerFactory.getLogger(LogSalvage.class);

  private final Disk disk;
  private final Path directory;
  private final LogIdentity identity;
  private final Pace pace;

  /** Keeps the disk for others: called with the size of each segment before it is read. */
  public interface Pace {
    void beforeReading(long bytes) throws IOException;
  }

  public LogSalvage(Disk disk, Path directory, LogIdentity identity, Pace pace) {
    this.disk = disk;
    this.directory = directory;
    this.identity = identity;
    this.pace = pace;
  }

  /**
   * What was found.
   *
   * @param reason of the first segment that is not whole, null if all are
   * @param setAside where the files are now
   */
  public record Result(String reason, List<Path> setAside) {
    public Result {
      setAside = List.copyOf(setAside);
    }
  }

  /**
   * @throws LogFormatException the files belong to another log or to a newer version; nothing was
   *     modified
   */
  public Result run() throws IOException {
    if (!disk.exists(directory)) {
      return new Result(null, List.of());
    }
    List<SegmentName> names = segments();
    long doubtful = failedAbove();
    int whole = 0;
    String reason = null;
    SegmentFoot previous = null;
    while (whole < names.size() && reason == null) {
      boolean last = whole == names.size() - 1;
      Check check = check(names.get(whole), previous, last, doubtful);
      reason = check.problem();
      previous = check.foot();
      whole += reason == null ? 1 : 0;
    }
    List<Path> setAside = reason == null ? List.of() : setAside(names.subList(whole, names.size()));
    if (reason != null) {
      LOG.warn("{}: {}; set aside from there on: {}", directory, reason, setAside);
    }
    forgetMarks();
    return new Result(reason, setAside);
  }

  /**
   * Sets aside every segment that holds an entry from an index on: entries that were good here and
   * that nobody else has. The log must have been closed.
   */
  public List<Path> setAsideFrom(long index) throws IOException {
    List<SegmentName> names = segments();
    int first = names.size();
    while (first > 0 && (first == names.size() || names.get(first).firstIndex() > index)) {
      first--;
    }
    List<Path> moved = setAside(names.subList(first, names.size()));
    LOG.warn("{}: set aside from entry {} on: {}", directory, index, moved);
    forgetMarks();
    return moved;
  }

  /**
   * The last entry before a failed fsync. What is above it can be read from the page cache and be
   * missing on the device, and a later fsync says nothing about it.
   */
  private long failedAbove() throws IOException {
    long lowest = Long.MAX_VALUE;
    for (Path file : disk.list(directory)) {
      SegmentName name = SegmentName.parse(file);
      if (name != null && !SegmentName.isLog(file)) {
        try (DiskFile index = disk.open(file, false)) {
          IndexMark mark = SegmentIndex.loadMark(index, name);
          lowest = mark != null && mark.failed() ? Math.min(lowest, mark.index()) : lowest;
        }
      }
    }
    return lowest;
  }

  private List<SegmentName> segments() throws IOException {
    List<SegmentName> names = new ArrayList<>();
    for (Path file : disk.list(directory)) {
      SegmentName name = SegmentName.parse(file);
      if (name != null && SegmentName.isLog(file)) {
        names.add(name);
      }
    }
    names.sort(
        Comparator.comparingLong(SegmentName::firstIndex)
            .thenComparingLong(SegmentName::baseOffset));
    return names;
  }

  /**
   * @param foot of a segment that is whole, null for one that is open for writing
   */
  private record Check(String problem, SegmentFoot foot) {}

  private Check check(SegmentName name, SegmentFoot previous, boolean last, long doubtful)
      throws IOException {
    if (previous != null
        && (previous.lastIndex() + 1 != name.firstIndex()
            || previous.nextOffset() != name.baseOffset())) {
      return new Check(name + ".log does not go on where the segment before it ends", null);
    }
    FoundSegment found = FoundSegment.inspect(disk, directory, name, identity);
    if (found.isHeadless()) {
      return new Check(name + ".log: " + found.headProblem(), null);
    }
    pace.beforeReading(found.size());
    int term = previous == null ? 0 : (int) previous.epochs().lastTerm();
    Cursor cursor = Cursor.behindHead(name, found.headBytes(), -1, term);
    try (DiskFile file = disk.open(found.log(), false)) {
      SegmentScanner scanner =
          new SegmentScanner(file, found.size(), cursor, true, batch -> -1, due -> null);
      SegmentScanner.Verdict verdict = scanner.scan(Long.MAX_VALUE);
      if (cursor.index - 1 > doubtful) {
        return new Check(
            name + ".log holds entry " + (cursor.index - 1) + ", whose fsync failed", null);
      }
      return switch (verdict) {
        case FOOT ->
            scanner.footEnd() == found.size()
                ? new Check(null, scanner.foot())
                : new Check(name + ".log goes on behind its footer", null);
        case END -> last ? new Check(null, null) : new Check(name + ".log has no footer", null);
        default ->
            new Check(
                name
                    + ".log, entry "
                    + cursor.index
                    + " at position "
                    + cursor.position
                    + ": "
                    + scanner.reason(),
                null);
      };
    }
  }

  private List<Path> setAside(List<SegmentName> names) throws IOException {
    Aside aside = new Aside(disk, directory);
    List<Path> moved = new ArrayList<>();
    for (int i = names.size() - 1; i >= 0; i--) {
      moved.add(aside.move(names.get(i).log(directory)));
    }
    return moved;
  }

  /**
   * Indexes can be made again, and the sync marks in them speak of a log that was longer. A mark
   * that came back after a power cut would make what is missing damage again.
   */
  private void forgetMarks() throws IOException {
    for (Path file : disk.list(directory)) {
      if (SegmentName.parse(file) != null && !SegmentName.isLog(file)) {
        try (DiskFile index = disk.open(file, false)) {
          SegmentIndex.clearMarks(index);
        }
        disk.delete(file);
      }
    }
    disk.syncDirectory(directory);
  }
}
