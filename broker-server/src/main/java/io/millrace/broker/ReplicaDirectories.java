package io.millrace.broker;

import io.millrace.broker.cluster.LocalReplicas.DirectoryState;
import io.millrace.broker.cluster.ReplicaId;
import io.millrace.broker.log.Disk;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The directories of this broker's partitions, and whose they are.
 *
 * <pre>
 * topics/&lt;topic uuid&gt;-&lt;partition&gt;/     a replica: replica.id, segments, checkpoints
 * topics/aside-&lt;topic uuid&gt;-&lt;partition&gt;.&lt;n&gt;/   moved out of the way, never read again
 * </pre>
 *
 * <p>{@code replica.id} names cluster, incarnation and idx; it is written last, so a directory
 * without it was never finished and holds nothing.
 *
 * <p>Threads: the reconciler's; {@link #create} of different replicas several at once. Durability:
 * each change is fsynced, its directory entry too, when the method returns.
 */
final class ReplicaDirectories {

  static final String ID_FILE = "replica.id";
  static final int FORMAT = 1;
  private static final String ASIDE = "aside-";
  private static final Pattern NAME = Pattern.compile("([0-9a-f-]{36})-([0-9]{1,9})");

  private final Disk disk;
  private final Path topics;
  private final String clusterId;
  private final UUID incarnation;

  ReplicaDirectories(Disk disk, Path topics, String clusterId, UUID incarnation) {
    this.disk = disk;
    this.topics = topics;
    this.clusterId = clusterId;
    this.incarnation = incarnation;
  }

  Path of(ReplicaId id) {
    return topics.resolve(id.topicId() + "-" + id.partition());
  }

  Set<ReplicaId> all() throws IOException {
    Set<ReplicaId> all = new TreeSet<>();
    for (Path directory : disk.list(topics)) {
      Matcher name = NAME.matcher(directory.getFileName().toString());
      if (name.matches()) {
        all.add(
            new ReplicaId(
                UUID.fromString(name.group(1)), Integer.parseInt(name.group(2)), idxOf(directory)));
      }
    }
    return all;
  }

  private int idxOf(Path directory) throws IOException {
    CheckedTextFile file = idFile(directory);
    if (!file.exists()) {
      return 0;
    }
    try {
      return Integer.parseInt(file.read().getOrDefault("idx", "0"));
    } catch (DataDirectoryException | NumberFormatException unreadable) {
      return 0; // Its state is FOREIGN then, with the reason shown.
    }
  }

  DirectoryState state(ReplicaId id) throws IOException {
    Path directory = of(id);
    if (!disk.exists(directory)) {
      return DirectoryState.MISSING;
    }
    CheckedTextFile file = idFile(directory);
    if (!file.exists()) {
      return DirectoryState.EMPTY;
    }
    return file.read().equals(identity(id)) ? DirectoryState.PRESENT : DirectoryState.FOREIGN;
  }

  void create(ReplicaId id) throws IOException {
    Path directory = of(id);
    disk.createDirectory(directory);
    idFile(directory).write(identity(id));
  }

  void setAside(ReplicaId id) throws IOException {
    Path directory = of(id);
    if (!disk.exists(directory)) {
      return;
    }
    int n = 1;
    while (disk.exists(aside(id, n))) {
      n++;
    }
    disk.rename(directory, aside(id, n));
    disk.syncDirectory(topics);
  }

  void deleteAside(ReplicaId id) throws IOException {
    String prefix = aside(id, 0).getFileName().toString();
    prefix = prefix.substring(0, prefix.length() - 1);
    for (Path path : disk.list(topics)) {
      if (path.getFileName().toString().startsWith(prefix)) {
        deleteTree(path);
      }
    }
    disk.syncDirectory(topics);
  }

  private void deleteTree(Path path) throws IOException {
    if (disk.isDirectory(path)) {
      for (Path child : disk.list(path)) {
        deleteTree(child);
      }
    }
    disk.delete(path);
  }

  private Path aside(ReplicaId id, int n) {
    return topics.resolve(ASIDE + id.topicId() + "-" + id.partition() + "." + n);
  }

  private Map<String, String> identity(ReplicaId id) {
    Map<String, String> values = new LinkedHashMap<>();
    values.put("cluster", clusterId);
    values.put("incarnation", incarnation.toString());
    values.put("topic", id.topicId().toString());
    values.put("partition", Integer.toString(id.partition()));
    values.put("idx", Integer.toString(id.idx()));
    return values;
  }

  private CheckedTextFile idFile(Path directory) {
    return new CheckedTextFile(disk, directory.resolve(ID_FILE), FORMAT);
  }
}
