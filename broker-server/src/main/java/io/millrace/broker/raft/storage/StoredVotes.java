package io.millrace.broker.raft.storage;

import io.millrace.broker.log.Disk;
import io.millrace.broker.log.DiskFile;
import io.millrace.broker.log.LogProblem;
import io.millrace.broker.log.LogProblem.Severity;
import io.millrace.broker.log.SegmentVerifier.Patience;
import io.millrace.broker.log.SyncMark;
import io.millrace.broker.raft.message.GroupRecord;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The votes files as they are, for whoever only looks. A running broker appends to one after the
 * other, so for a moment they differ.
 *
 * <p>Threads: any.
 */
public final class StoredVotes {

  /**
   * A record and where it stands.
   *
   * @param position of its length field
   * @param bytes length field and checksum included
   */
  public record At(long position, int bytes, GroupRecord record) {}

  /**
   * One of the two files.
   *
   * @param records the good ones from the start on
   * @param clean false: something follows that is no record
   * @param readable false: it is missing, or its header is not that of a votes file
   */
  public record Copy(Path file, List<At> records, long end, boolean clean, boolean readable) {

    public Copy {
      records = List.copyOf(records);
    }

    /** The newest record of each group that is still here, by the group's name. */
    public Map<String, GroupRecord> latest() {
      Map<String, GroupRecord> latest = new TreeMap<>();
      for (At at : records) {
        if (at.record().getRemoved()) {
          latest.remove(at.record().getGroup());
        } else {
          latest.put(at.record().getGroup(), at.record());
        }
      }
      return latest;
    }

    long lastSequence() {
      return records.isEmpty() ? 0 : records.get(records.size() - 1).record().getSequence();
    }
  }

  /** Both files and what is wrong with them. */
  public record Report(Copy a, Copy b, List<LogProblem> problems) {

    public Report {
      problems = List.copyOf(problems);
    }

    /** The one that a start would take; both are equal if nothing is wrong. */
    public Copy better() {
      return !a.clean() || b.clean() && b.lastSequence() > a.lastSequence() ? b : a;
    }

    /** The sync mark of a group, null if none is stored. */
    public SyncMark mark(String group) {
      GroupRecord record = better().latest().get(group);
      return record == null || record.getMarkIndex() == 0
          ? null
          : new SyncMark(record.getMarkIndex(), record.getMarkSegment(), record.getMarkPosition());
    }
  }

  private StoredVotes() {}

  /** True for the name of a votes file. */
  public static boolean isVotesFile(Path file) {
    String name = file.getFileName().toString();
    return name.equals(VotesJournal.FILE_A) || name.equals(VotesJournal.FILE_B);
  }

  /**
   * @throws IOException also if the file was made by a newer version
   */
  public static Copy read(Disk disk, Path file) throws IOException {
    VotesFile.Content content = VotesFile.read(disk, file);
    List<At> records = new ArrayList<>();
    if (content.readable()) {
      try (DiskFile open = disk.open(file, false)) {
        ByteBuffer length = ByteBuffer.allocate(Integer.BYTES);
        long position = VotesFile.FILE_HEADER_BYTES;
        for (GroupRecord record : content.records()) {
          length.clear();
          if (!open.readFully(length, position)) {
            throw new IOException(file + " became shorter while it was read");
          }
          int bytes = VotesFile.RECORD_HEADER_BYTES + length.getInt(0);
          records.add(new At(position, bytes, record));
          position += bytes;
        }
      }
    }
    return new Copy(file, records, content.end(), content.clean(), content.readable());
  }

  /** Reads both and compares them; looks again while they differ and {@code patience} lasts. */
  public static Report verify(Disk disk, Path directory, Patience patience) throws IOException {
    int attempt = 0;
    while (true) {
      Report report = look(disk, directory);
      if (report.problems().isEmpty() || !patience.lookAgain(attempt++)) {
        return report;
      }
    }
  }

  private static Report look(Disk disk, Path directory) throws IOException {
    List<LogProblem> problems = new ArrayList<>();
    Copy a = readOrTell(disk, directory.resolve(VotesJournal.FILE_A), problems);
    Copy b = readOrTell(disk, directory.resolve(VotesJournal.FILE_B), problems);
    if (problems.isEmpty() && !a.records().equals(b.records())) {
      problems.add(
          new LogProblem(
              Severity.WARNING,
              b.file(),
              "it has "
                  + b.records().size()
                  + " records up to number "
                  + b.lastSequence()
                  + ", votes.a has "
                  + a.records().size()
                  + " up to "
                  + a.lastSequence()
                  + ": a write was cut off between them; the next start makes them equal"));
    }
    return new Report(a, b, problems);
  }

  private static Copy readOrTell(Disk disk, Path file, List<LogProblem> problems)
      throws IOException {
    int format = VotesJournal.formatOf(disk, file);
    if (format > VotesJournal.FORMAT_VERSION) {
      problems.add(
          new LogProblem(
              Severity.NEWER_FORMAT,
              file,
              "format version "
                  + format
                  + ", this version knows up to "
                  + VotesJournal.FORMAT_VERSION));
      return new Copy(file, List.of(), 0, false, false);
    }
    if (format != VotesJournal.FORMAT_VERSION) {
      problems.add(
          new LogProblem(
              Severity.DAMAGE, file, "it is missing, or does not begin as a votes file"));
      return new Copy(file, List.of(), 0, false, false);
    }
    Copy copy = read(disk, file);
    if (!copy.clean()) {
      problems.add(
          new LogProblem(
              Severity.DAMAGE,
              file,
              "what follows its "
                  + copy.records().size()
                  + " good records, at position "
                  + copy.end()
                  + ", is none"));
    }
    return copy;
  }
}
