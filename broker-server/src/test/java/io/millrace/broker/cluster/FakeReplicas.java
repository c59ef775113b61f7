package io.millrace.broker.cluster;

import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A broker's replicas without Raft: a disk that outlives the process, and the running replicas that
 * do not. Dies before or after any step, and notices at once when a replica that has voted before
 * would start without its data.
 */
final class FakeReplicas implements LocalReplicas {

  /** The process dies here. Not an exception that any code could handle. */
  static final class Killed extends Error {
    private static final long serialVersionUID = 1L;
  }

  /** What the disk keeps of one directory. */
  private static final class Directory {
    boolean identity;
    boolean log;
    boolean foreign;
  }

  private final Map<ReplicaId, Directory> disk = new TreeMap<>();
  private final Map<ReplicaId, Directory> aside = new TreeMap<>();
  private final Set<ReplicaId> running = new TreeSet<>();
  // Known to the test only: replicas that took part in their group at some time.
  private final Set<ReplicaId> everStarted = new HashSet<>();
  final Map<ReplicaId, String> marks = new HashMap<>();
  final Map<ReplicaId, IOException> startFailures = new HashMap<>();
  volatile int starts;
  int deletions;

  /** Steps until the process dies; negative = never. Each step counts twice: before and after. */
  int killAt = -1;

  private int points;

  private void point() {
    if (killAt >= 0 && points++ == killAt) {
      throw new Killed();
    }
  }

  /** Where a test may also die: around a metadata command. */
  void commandPoint() {
    point();
  }

  /** A new process on the same disk. */
  void restart() {
    running.clear();
    marks.clear();
    killAt = -1;
    points = 0;
  }

  void wipe(ReplicaId id) {
    disk.remove(id);
  }

  void empty(ReplicaId id) {
    disk.put(id, new Directory());
  }

  void plant(ReplicaId id) {
    Directory directory = new Directory();
    directory.identity = true;
    directory.log = true;
    disk.put(id, directory);
  }

  void makeForeign(ReplicaId id) {
    plant(id);
    disk.get(id).foreign = true;
  }

  Set<ReplicaId> aside() {
    return new TreeSet<>(aside.keySet());
  }

  boolean everStarted(ReplicaId id) {
    return everStarted.contains(id);
  }

  boolean hasData(ReplicaId id) {
    Directory directory = disk.get(id);
    return directory != null && directory.log;
  }

  @Override
  public Set<ReplicaId> running() {
    return new TreeSet<>(running);
  }

  @Override
  public Set<ReplicaId> directories() {
    return new TreeSet<>(disk.keySet());
  }

  @Override
  public DirectoryState directory(ReplicaId id) {
    Directory directory = disk.get(id);
    if (directory == null) {
      return DirectoryState.MISSING;
    }
    if (!directory.identity) {
      return DirectoryState.EMPTY;
    }
    return directory.foreign ? DirectoryState.FOREIGN : DirectoryState.PRESENT;
  }

  @Override
  public void createDirectory(ReplicaId id) {
    point();
    Directory directory = new Directory();
    disk.put(id, directory);
    point();
    directory.identity = true;
    point();
  }

  @Override
  public void start(Start replica) throws IOException {
    ReplicaId id = replica.id();
    point();
    if (startFailures.containsKey(id)) {
      throw startFailures.get(id);
    }
    Directory directory = disk.get(id);
    if (directory == null || !directory.identity) {
      throw new AssertionError("started without a directory: " + id);
    }
    if (everStarted.contains(id) && !directory.log) {
      throw new AssertionError("a replica that took part before starts empty: " + id);
    }
    if (!running.add(id)) {
      throw new AssertionError("started twice: " + id);
    }
    starts++;
    everStarted.add(id);
    directory.log = true;
    marks.remove(id);
    point();
  }

  @Override
  public void stopAndSetAside(ReplicaId id) {
    point();
    running.remove(id);
    marks.remove(id);
    point();
    Directory directory = disk.remove(id);
    if (directory != null) {
      aside.put(id, directory);
    }
    point();
  }

  @Override
  public void deleteSetAside(ReplicaId id) {
    point();
    if (aside.remove(id) != null) {
      deletions++;
    }
    point();
  }

  @Override
  public void markNotStarted(ReplicaId id, String topic, String reason) {
    marks.put(id, topic + ": " + reason);
  }
}
