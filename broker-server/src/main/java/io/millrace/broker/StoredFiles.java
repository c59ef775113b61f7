package io.millrace.broker;

import io.millrace.broker.cluster.MetadataGroup;
import io.millrace.broker.cluster.ReplicaId;
import io.millrace.broker.log.Disk;
import io.millrace.broker.log.LogProblem;
import io.millrace.broker.log.LogProblem.Severity;
import io.millrace.broker.log.SegmentName;
import io.millrace.broker.raft.storage.StoredVotes;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a path of a broker's data is, and where its logs are: for tools that look at the files.
 *
 * <p>Threads: any. Changes nothing.
 */
public final class StoredFiles {

  /** What a path can be. */
  public enum Kind {
    SEGMENT,
    VOTES_FILE,
    /** A directory with the segments and checkpoints of one replica. */
    LOG,
    /** The data directory of a broker. */
    DATA,
    OTHER
  }

  private static final Pattern REPLICA = Pattern.compile("([0-9a-f-]{36})-([0-9]{1,9})");

  private StoredFiles() {}

  /** What stands at a path that exists. */
  public static Kind kindOf(Disk disk, Path path) throws IOException {
    if (!disk.isDirectory(path)) {
      return StoredVotes.isVotesFile(path)
          ? Kind.VOTES_FILE
          : path.getFileName().toString().endsWith(".log") ? Kind.SEGMENT : Kind.OTHER;
    }
    if (DataDirectory.isFormatted(disk, path) || disk.exists(path.resolve(RaftDirectory.NAME))) {
      return Kind.DATA;
    }
    Path named = path.toAbsolutePath().normalize().getFileName();
    if (named != null && REPLICA.matcher(named.toString()).matches()) {
      return Kind.LOG;
    }
    for (Path file : disk.list(path)) {
      String name = file.getFileName().toString();
      if (name.startsWith("checkpoint.") || SegmentName.isLog(file)) {
        return Kind.LOG;
      }
    }
    return Kind.OTHER;
  }

  /** Directories of all replicas in a data directory, that of the metadata first. */
  public static List<Path> logs(Disk disk, Path dataDirectory) throws IOException {
    List<Path> logs = new ArrayList<>();
    Path meta = RaftDirectory.meta(raft(dataDirectory));
    if (disk.exists(meta)) {
      logs.add(meta);
    }
    Path topics = dataDirectory.resolve(DataDirectory.TOPICS);
    if (disk.exists(topics)) {
      for (Path directory : disk.list(topics)) {
        if (REPLICA.matcher(directory.getFileName().toString()).matches()) {
          logs.add(directory);
        }
      }
    }
    return logs;
  }

  /** Segment files of a log, in its order. */
  public static List<Path> segments(Disk disk, Path logDirectory) throws IOException {
    // By the number of the first entry: control batches take no offset.
    return disk.list(logDirectory).stream()
        .filter(file -> SegmentName.isLog(file) && SegmentName.parse(file) != null)
        .sorted(Comparator.comparingLong(file -> SegmentName.parse(file).firstIndex()))
        .toList();
  }

  /** The directory with the votes files of a data directory. */
  public static Path raft(Path dataDirectory) {
    return dataDirectory.resolve(RaftDirectory.NAME);
  }

  /** What is wrong with the small files that say whose a data directory is and how it was left. */
  public static List<LogProblem> identityProblems(Disk disk, Path dataDirectory)
      throws IOException {
    List<LogProblem> problems = new ArrayList<>();
    Path id = dataDirectory.resolve(DataDirectory.ID_FILE);
    if (!disk.exists(id)) {
      problems.add(new LogProblem(Severity.DAMAGE, id, "it is missing beside data"));
    }
    for (Path path :
        List.of(
            id,
            dataDirectory.resolve(LifecycleFile.FILE_NAME),
            raft(dataDirectory).resolve(KnownPeers.FILE))) {
      CheckedTextFile file = new CheckedTextFile(disk, path, CheckedTextFile.FIRST_FORMAT);
      if (file.exists()) {
        try {
          file.refuseNewer();
        } catch (DataDirectoryException e) {
          problems.add(new LogProblem(Severity.NEWER_FORMAT, path, e.getMessage()));
          continue;
        }
        try {
          file.read();
        } catch (DataDirectoryException e) {
          problems.add(new LogProblem(Severity.DAMAGE, path, e.getMessage()));
        }
      }
    }
    return problems;
  }

  /** The data directory around the directory of a replica; null if there is none. */
  public static Path dataDirectoryOf(Disk disk, Path logDirectory) {
    Path parent = logDirectory.toAbsolutePath().normalize().getParent();
    Path data = parent == null ? null : parent.getParent();
    return data != null && DataDirectory.isFormatted(disk, data) ? data : null;
  }

  /**
   * Name of the Raft group of a replica's directory, as the votes files have it; null if unknown.
   */
  static String groupOf(Path logDirectory, String clusterId) {
    String name = logDirectory.toAbsolutePath().normalize().getFileName().toString();
    Matcher replica = REPLICA.matcher(name);
    if (replica.matches()) {
      return ReplicaId.groupName(
          UUID.fromString(replica.group(1)), Integer.parseInt(replica.group(2)));
    }
    return name.equals(RaftDirectory.META) && clusterId != null
        ? MetadataGroup.NAME + "-" + clusterId
        : null;
  }
}
