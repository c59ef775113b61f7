package io.millrace.broker;

import io.millrace.broker.cluster.LocalBroker;
import io.millrace.broker.log.Disk;
import io.millrace.broker.log.DiskSpace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * The one directory of a broker: who it belongs to, that nobody else uses it, how it was left.
 *
 * <p>Owns {@code broker.id} (a {@link CheckedTextFile} with the keys cluster, broker, incarnation,
 * voters), {@code lock} and {@code last-run}; names the directories of the others.
 *
 * <p>Threads: opened and closed by the broker's main thread. Durability: {@link #format} returns
 * when the identity is on disk. Errors: {@link DataDirectoryException}, one line; a directory that
 * is refused is not changed.
 */
public final class DataDirectory implements AutoCloseable {

  static final String ID_FILE = "broker.id";
  private static final int FORMAT = 1;
  static final String TOPICS = "topics";

  /** What an interrupted format, or a refused start, leaves: no data. */
  private static final Set<String> NO_DATA =
      Set.of(DirectoryLock.FILE_NAME, ID_FILE + CheckedTextFile.TEMPORARY_SUFFIX);

  private final Path path;
  private final LocalBroker identity;
  private final List<Integer> bootstrapVoters;
  private final DirectoryLock lock;
  private final LifecycleFile lifecycle;

  private DataDirectory(Path path, Id id, DirectoryLock lock, LifecycleFile lifecycle) {
    this.path = path;
    this.identity = id.identity();
    this.bootstrapVoters = id.voters();
    this.lock = lock;
    this.lifecycle = lifecycle;
  }

  private record Id(LocalBroker identity, List<Integer> voters) {}

  /**
   * Makes a directory for a broker that never ran. The voters are the brokers that found the
   * cluster's metadata group: the same list for all of them, written once.
   */
  public static LocalBroker format(
      Disk disk, Path dataDir, String clusterId, int brokerId, List<Integer> voters) {
    checkFormat(clusterId, brokerId, voters);
    try {
      if (disk.exists(dataDir)) {
        refuseData(disk, dataDir);
      } else {
        disk.createDirectory(dataDir);
      }
      // The lock is the operating system's and needs a real file, also above a disk of a test.
      Files.createDirectories(dataDir);
      try (DirectoryLock lock = DirectoryLock.acquire(dataDir)) {
        // Again: another format may have finished before the lock was ours.
        refuseData(disk, dataDir);
        LocalBroker identity = new LocalBroker(clusterId, brokerId, UUID.randomUUID());
        Map<String, String> values = new LinkedHashMap<>();
        values.put("cluster", clusterId);
        values.put("broker", Integer.toString(brokerId));
        values.put("incarnation", identity.incarnation().toString());
        values.put(
            "voters",
            new TreeSet<>(voters).stream().map(String::valueOf).collect(Collectors.joining(",")));
        RaftDirectory.create(disk, dataDir);
        idFile(disk, dataDir).write(values);
        return identity;
      }
    } catch (IOException failed) {
      throw failed("cannot format data directory " + dataDir, failed);
    }
  }

  /** True when the directory carries an identity; it may still be refused by {@link #open}. */
  public static boolean isFormatted(Disk disk, Path dataDir) {
    return disk.exists(dataDir.resolve(ID_FILE));
  }

  /** The cluster that a formatted directory belongs to; null if it is not formatted. */
  static String clusterOf(Disk disk, Path dataDir) throws IOException {
    CheckedTextFile file = idFile(disk, dataDir);
    return file.exists() ? parse(dataDir, file.read()).identity().clusterId() : null;
  }

  /**
   * Opens a formatted directory for the broker of that id.
   *
   * @param clusterId the cluster that the configuration names, or empty for any
   */
  public static DataDirectory open(Disk disk, Path dataDir, int brokerId, String clusterId) {
    try {
      readAndCheck(disk, dataDir, brokerId, clusterId);
      FormatCheck.run(disk, dataDir);
      DirectoryLock lock = DirectoryLock.acquire(dataDir);
      try {
        // Again: it may have been replaced before the lock was ours.
        Id id = readAndCheck(disk, dataDir, brokerId, clusterId);
        DiskSpace.makeRoomToStart(disk, dataDir);
        RaftDirectory.check(disk, dataDir.resolve(RaftDirectory.NAME));
        boolean neverStarted = !disk.exists(dataDir.resolve(TOPICS));
        LifecycleFile lifecycle = new LifecycleFile(disk, dataDir, neverStarted);
        lifecycle.begin();
        return new DataDirectory(dataDir, id, lock, lifecycle);
      } catch (IOException | RuntimeException failed) {
        try {
          lock.close();
        } catch (IOException alsoFailed) {
          failed.addSuppressed(alsoFailed);
        }
        throw failed;
      }
    } catch (IOException failed) {
      throw failed("cannot open data directory " + dataDir, failed);
    }
  }

  public Path path() {
    return path;
  }

  /** Parent of the partitions' directories. */
  public Path topics() {
    return path.resolve(TOPICS);
  }

  /** Votes and replica health. */
  public Path raft() {
    return path.resolve(RaftDirectory.NAME);
  }

  public LocalBroker identity() {
    return identity;
  }

  /** Brokers that found the metadata group, ascending. */
  public List<Integer> bootstrapVoters() {
    return bootstrapVoters;
  }

  /** Boot id of the machine during the last run; empty when unknown or when there was none. */
  public Optional<String> previousBootId() {
    return Optional.of(lifecycle.previous().bootId()).filter(id -> !id.isEmpty());
  }

  /** True when the last run ended with {@link #closeCleanly}, or when there was none. */
  public boolean cleanStop() {
    return lifecycle.previous().clean();
  }

  /**
   * True when the machine went down under a running broker, so that bytes written and not synced
   * may be gone. False after a clean stop and after a killed process.
   */
  public boolean unsyncedBytesMayBeLost() {
    return lifecycle.unsyncedBytesMayBeLost();
  }

  /**
   * Ends recovery: from here on the next start compares with this boot. Call it when every replica
   * has recovered and what it concluded is on disk; not earlier, see {@link LifecycleFile}.
   */
  public void markRecovered() {
    try {
      lifecycle.recovered();
    } catch (IOException failed) {
      throw failed("cannot write " + path.resolve(LifecycleFile.FILE_NAME), failed);
    }
  }

  /** Writes the clean-stop mark and unlocks; only after everything is synced and closed. */
  public void closeCleanly() {
    try {
      lifecycle.stopped();
    } catch (IOException failed) {
      throw failed("cannot write " + path.resolve(LifecycleFile.FILE_NAME), failed);
    } finally {
      close();
    }
  }

  /** Unlocks without the mark: the next start recovers as after a killed process. */
  @Override
  public void close() {
    try {
      lock.close();
    } catch (IOException failed) {
      throw failed("cannot unlock " + path, failed);
    }
  }

  private static Id readAndCheck(Disk disk, Path dataDir, int brokerId, String clusterId)
      throws IOException {
    if (!disk.exists(dataDir)) {
      throw new DataDirectoryException(
          "data directory " + dataDir + " does not exist; make it with format first");
    }
    if (!disk.exists(dataDir.resolve(ID_FILE))) {
      List<String> data = dataNames(disk, dataDir);
      throw new DataDirectoryException(
          data.isEmpty()
              ? "data directory " + dataDir + " is empty; make it with format first"
              : ID_FILE
                  + " is missing beside data in "
                  + dataDir
                  + " ("
                  + shortened(data)
                  + "). Nothing was changed; restore "
                  + ID_FILE
                  + ", or set another data.dir");
    }
    Id id = parse(dataDir, idFile(disk, dataDir).read());
    LocalBroker identity = id.identity();
    if (identity.id() != brokerId) {
      throw new DataDirectoryException(
          "data directory "
              + dataDir
              + " belongs to broker "
              + identity.id()
              + ", the configuration is of broker "
              + brokerId
              + ". Nothing was changed; correct broker.id or data.dir");
    }
    if (!clusterId.isEmpty() && !identity.clusterId().equals(clusterId)) {
      throw new DataDirectoryException(
          "data directory "
              + dataDir
              + " belongs to cluster "
              + identity.clusterId()
              + ", the configuration is of cluster "
              + clusterId
              + ". Nothing was changed; correct cluster.id or data.dir");
    }
    return id;
  }

  private static Id parse(Path dataDir, Map<String, String> values) {
    try {
      List<Integer> voters =
          Arrays.stream(values.get("voters").split(",")).map(Integer::valueOf).toList();
      return new Id(
          new LocalBroker(
              values.get("cluster"),
              Integer.parseInt(values.get("broker")),
              UUID.fromString(values.get("incarnation"))),
          voters);
    } catch (IllegalArgumentException | NullPointerException wrong) {
      throw new DataDirectoryException(
          dataDir.resolve(ID_FILE) + " lacks a key or has a wrong value: " + values, wrong);
    }
  }

  private static void checkFormat(String clusterId, int brokerId, List<Integer> voters) {
    if (clusterId.isBlank() || !clusterId.matches("[A-Za-z0-9._-]{1,64}")) {
      throw new DataDirectoryException(
          "cluster id \"" + clusterId + "\" is not 1 to 64 letters, digits, dots, dashes or _");
    }
    if (brokerId < 1 || brokerId > BrokerConfig.MAX_BROKER_ID) {
      throw new DataDirectoryException(
          "broker id " + brokerId + " is outside 1.." + BrokerConfig.MAX_BROKER_ID);
    }
    int count = voters.size();
    if ((count != 1 && count != 3 && count != 5) || new TreeSet<>(voters).size() != count) {
      throw new DataDirectoryException(
          "bootstrap voters " + voters + ": 1, 3 or 5 different broker ids are needed");
    }
  }

  private static void refuseData(Disk disk, Path dataDir) throws IOException {
    List<String> data = dataNames(disk, dataDir);
    if (!data.isEmpty()) {
      throw new DataDirectoryException(
          "data directory "
              + dataDir
              + " is not empty ("
              + shortened(data)
              + "). Nothing was changed; format needs a new or empty directory");
    }
  }

  private static List<String> dataNames(Disk disk, Path dataDir) throws IOException {
    boolean unused = RaftDirectory.isUnused(disk, dataDir);
    return names(disk, dataDir).stream()
        .filter(name -> !NO_DATA.contains(name) && !(unused && name.equals(RaftDirectory.NAME)))
        .toList();
  }

  private static List<String> names(Disk disk, Path dataDir) throws IOException {
    List<String> names = new ArrayList<>();
    for (Path entry : disk.list(dataDir)) {
      names.add(entry.getFileName().toString());
    }
    names.sort(null);
    return names;
  }

  private static String shortened(List<String> names) {
    int shown = Math.min(3, names.size());
    return String.join(", ", names.subList(0, shown))
        + (names.size() > shown ? " and " + (names.size() - shown) + " more" : "");
  }

  private static CheckedTextFile idFile(Disk disk, Path dataDir) {
    return new CheckedTextFile(disk, dataDir.resolve(ID_FILE), FORMAT);
  }

  private static DataDirectoryException failed(String what, IOException cause) {
    return new DataDirectoryException(
        what + ": " + cause.getClass().getSimpleName() + ": " + cause.getMessage(), cause);
  }
}
