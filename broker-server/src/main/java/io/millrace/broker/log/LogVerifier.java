package io.millrace.broker.log;

import io.millrace.broker.log.LogProblem.Severity;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Verifies all segments of a log, and that they are one log: each goes on where the one before
 * ends, terms never fall, all are of the same log and have their names, and the end is not before
 * what was synced. Reads only.
 *
 * <p>The log may be written, cut and shortened from its begin meanwhile: what looks like damage is
 * looked at again, with a new list of the files, before it is called so.
 *
 * <p>Threads: one per object. Memory: one report per segment.
 */
public final class LogVerifier {

  private static final int ATTEMPTS = 2;
  private static final Pattern DIRECTORY = Pattern.compile("([0-9a-f-]{36})-([0-9]{1,9})");

  private final Disk disk;
  private final SegmentVerifier verifier;
  private final SegmentVerifier.Patience patience;
  private final Map<Path, SegmentReport> good = new HashMap<>();

  /**
   * @param patience for what may be in the middle of a write
   */
  public LogVerifier(Disk disk, SegmentVerifier verifier, SegmentVerifier.Patience patience) {
    this.disk = disk;
    this.verifier = verifier;
    this.patience = patience;
  }

  /**
   * @param durableMarkOrNull the sync mark that is stored elsewhere, read before this is called
   */
  public LogReport verify(Path directory, SyncMark durableMarkOrNull) throws IOException {
    LogReport report = look(directory, durableMarkOrNull);
    for (int i = 1; i < ATTEMPTS && report.isDamaged() && patience.lookAgain(0); i++) {
      report = look(directory, durableMarkOrNull);
    }
    return report;
  }

  /**
   * One segment alone.
   *
   * @param newest nothing follows it, so it may be written to
   * @throws LogFormatException if the file is of a newer version or no segment
   */
  public LogReport verifySegment(Path log, boolean newest) throws IOException {
    Look look = new Look(log.toAbsolutePath().getParent());
    SegmentReport segment = look.reportOfOneThatMayChange(log, newest);
    for (int i = 1; i < ATTEMPTS && !segment.bad().isEmpty() && patience.lookAgain(0); i++) {
      segment = look.reportOfOneThatMayChange(log, newest);
    }
    look.segments.add(segment);
    look.describe(segment, newest);
    if (segment.mark() != null) {
      look.checkMark(log, "its index says", segment.mark().index());
    }
    return new LogReport(look.directory, look.segments, look.problems, segment.epochs());
  }

  private LogReport look(Path directory, SyncMark durableMark) throws IOException {
    Look look = new Look(directory);
    look.read();
    look.compareIdentities();
    if (!look.hasNewerFormat) {
      look.compareNeighbours();
      look.checkMarks(durableMark);
    }
    EpochTable epochs = EpochTable.EMPTY;
    for (SegmentReport segment : look.segments) {
      epochs = epochs.withAll(segment.epochs());
    }
    return new LogReport(directory, look.segments, look.problems, epochs);
  }

  /** One look at the directory. */
  private final class Look {

    private final Path directory;
    private final List<SegmentReport> segments = new ArrayList<>();
    private final List<LogProblem> problems = new ArrayList<>();
    private final List<Path> orphans = new ArrayList<>();
    private boolean hasNewerFormat;

    Look(Path directory) {
      this.directory = directory;
    }

    private void add(Severity severity, Path file, String text) {
      problems.add(new LogProblem(severity, file, text));
    }

    void read() throws IOException {
      List<Path> logs = logs();
      for (int i = 0; i < logs.size(); i++) {
        Path log = logs.get(i);
        boolean newest = i == logs.size() - 1;
        try {
          segments.add(report(log, newest));
        } catch (NoSuchFileException e) {
          // Removed since the list was made: by retention at the begin, by a truncation at the end.
          continue;
        } catch (SegmentChangedException e) {
          add(Severity.DAMAGE, log, e.getMessage());
          continue;
        } catch (LogFormatException e) {
          hasNewerFormat = true;
          add(Severity.NEWER_FORMAT, log, e.getMessage());
          continue;
        }
        describe(segments.get(segments.size() - 1), newest);
      }
    }

    private SegmentReport report(Path log, boolean newest) throws IOException {
      SegmentReport known = good.get(log);
      if (known != null && !newest && known.foot() != null) {
        try (DiskFile file = disk.open(log, false)) {
          if (file.size() == known.fileBytes()) {
            return known;
          }
        }
      }
      SegmentReport report =
          verifier.verify(log, newest ? patience : SegmentVerifier.Patience.NONE);
      if (report.bad().isEmpty()) {
        good.put(log, report);
      } else {
        good.remove(log);
      }
      return report;
    }

    private SegmentReport reportOfOneThatMayChange(Path log, boolean newest) throws IOException {
      for (int attempt = 0; ; attempt++) {
        try {
          return report(log, newest);
        } catch (SegmentChangedException e) {
          if (!patience.lookAgain(attempt)) {
            throw e;
          }
        }
      }
    }

    private List<Path> logs() throws IOException {
      Map<SegmentName, Path> logs = new HashMap<>();
      Map<SegmentName, Path> indexes = new HashMap<>();
      for (Path file : disk.list(directory)) {
        SegmentName name;
        try {
          name = SegmentName.parse(file);
        } catch (LogFormatException e) {
          add(Severity.DAMAGE, file, "its name is no offset and index of a log");
          continue;
        }
        if (name != null) {
          (SegmentName.isLog(file) ? logs : indexes).put(name, file);
        }
      }
      indexes.keySet().removeAll(logs.keySet());
      orphans.addAll(indexes.values());
      return logs.entrySet().stream()
          .sorted(
              Comparator.comparingLong((Map.Entry<SegmentName, Path> e) -> e.getKey().firstIndex())
                  .thenComparingLong(e -> e.getKey().baseOffset()))
          .map(Map.Entry::getValue)
          .toList();
    }

    private void describe(SegmentReport segment, boolean newest) {
      if (newest && segment.isCutShort()) {
        BadRange tail = segment.bad().get(0);
        add(
            Severity.WARNING,
            segment.log(),
            "the last "
                + (tail.endPosition() - tail.position())
                + " bytes are no whole batch ("
                + tail.reason()
                + "): a write was cut off; unless it was synced, the next start cuts it away");
      } else {
        segment.bad().forEach(bad -> add(Severity.DAMAGE, segment.log(), bad.toString()));
      }
      if (!newest && segment.foot() == null) {
        add(Severity.DAMAGE, segment.log(), "it has no good footer, and a later segment follows");
      }
      if (segment.indexProblem() != null) {
        add(
            Severity.WARNING,
            segment.log(),
            "its index: " + segment.indexProblem() + "; the broker makes it again when it is used");
      }
      if (segment.syncFailed()) {
        add(
            Severity.WARNING,
            segment.log(),
            "an fsync failed behind entry "
                + segment.mark().index()
                + "; the next start keeps nothing above it");
      }
      SegmentName named = SegmentName.parse(segment.log());
      if (named != null && segment.head() != null && !segment.name().equals(named)) {
        add(
            Severity.DAMAGE,
            segment.log(),
            "it was written as " + segment.name() + ".log: give it back its name");
      }
    }

    void compareNeighbours() {
      for (int i = 1; i < segments.size(); i++) {
        SegmentReport before = segments.get(i - 1);
        SegmentReport segment = segments.get(i);
        long index = segment.name().firstIndex();
        if (index > before.nextIndex()) {
          add(
              Severity.DAMAGE,
              segment.log(),
              "entries " + before.nextIndex() + " to " + (index - 1) + " before it are missing");
        } else if (index < before.nextIndex()) {
          add(
              Severity.DAMAGE,
              segment.log(),
              "it begins at entry "
                  + index
                  + ", but the segment before ends with "
                  + (before.nextIndex() - 1));
        } else if (segment.name().baseOffset() != before.nextOffset()) {
          add(
              Severity.DAMAGE,
              segment.log(),
              "it begins at offset "
                  + segment.name().baseOffset()
                  + ", the segment before ends in front of "
                  + before.nextOffset());
        }
        EpochTable terms = segment.epochs();
        if (terms.size() > 0 && terms.term(0) < before.epochs().lastTerm()) {
          add(
              Severity.DAMAGE,
              segment.log(),
              "its first term is "
                  + terms.term(0)
                  + ", the segment before ends with term "
                  + before.epochs().lastTerm());
        }
      }
    }

    void compareIdentities() {
      LogIdentity expected = null;
      Matcher name =
          DIRECTORY.matcher(directory.toAbsolutePath().normalize().getFileName().toString());
      for (SegmentReport segment : segments) {
        if (segment.head() == null) {
          continue;
        }
        LogIdentity identity = segment.head().identity();
        if (expected == null) {
          expected = identity;
          if (name.matches()
              && !name.group().equals(identity.topicId() + "-" + identity.partition())) {
            add(
                Severity.DAMAGE,
                segment.log(),
                "it belongs to " + identity + ", not to the directory " + name.group());
          }
        } else if (!identity.equals(expected)) {
          add(
              Severity.DAMAGE,
              segment.log(),
              "it belongs to " + identity + ", the others to " + expected);
        }
      }
    }

    /** What was synced must be there. */
    void checkMarks(SyncMark durableMark) throws IOException {
      if (durableMark != null) {
        checkMark(directory, "the votes files say", durableMark.index());
      }
      for (SegmentReport segment : segments) {
        if (segment.mark() != null) {
          checkMark(segment.log(), "its index says", segment.mark().index());
        }
      }
      for (Path orphan : orphans) {
        SegmentName name = SegmentName.parse(orphan);
        add(Severity.WARNING, orphan, "an index without its segment");
        try {
          checkMark(orphan, "it says", FoundSegment.markedIndex(disk, orphan, name));
        } catch (NoSuchFileException e) {
          // Removed since the list was made.
          problems.remove(problems.size() - 1);
        }
      }
    }

    private void checkMark(Path file, String who, long marked) {
      long last = segments.isEmpty() ? 0 : segments.get(segments.size() - 1).nextIndex() - 1;
      if (marked > last) {
        add(
            Severity.DAMAGE,
            file,
            who + " that entry " + marked + " was synced, but the log ends with " + last);
      }
    }
  }
}
