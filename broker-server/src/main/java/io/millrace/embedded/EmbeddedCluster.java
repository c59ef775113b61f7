package io.millrace.embedded;

import io.millrace.broker.Broker;
import io.millrace.broker.BrokerConfig;
import io.millrace.broker.ClusterSecretFile;
import io.millrace.broker.DataDirectory;
import io.millrace.broker.HostPort;
import io.millrace.broker.RetentionTimes;
import io.millrace.broker.log.DirectDisk;
import io.millrace.broker.log.Disk;
import io.millrace.broker.net.NetworkConfig;
import io.millrace.broker.raft.RaftSettings;
import io.millrace.broker.raft.transport.NetworkFaults;
import io.millrace.broker.raft.transport.NetworkFaults.Flow;
import io.millrace.broker.raft.transport.PeerTlsFiles;
import io.millrace.protocol.message.MetadataRequest;
import io.millrace.protocol.message.MetadataResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * One to five brokers inside this JVM, on free ports of the loopback interface.
 *
 * <p>Owns: the brokers and, unless a directory was given, a temporary directory that goes with
 * {@link #close}. A broker that is started again keeps its identity and data, not its port.
 *
 * <p>Threads: one at a time.
 */
public final class EmbeddedCluster implements AutoCloseable {

  private static final String HOST = "127.0.0.1";
  private static final long LOW_DISK_BYTES = 16L << 20;
  private static final long HEAP_PER_BROKER = 256L * 1024 * 1024;
  private static final long POLL_MILLIS = 10;
  private static final long START_MILLIS = 30_000;

  /**
   * How to make a cluster.
   *
   * @param brokers 1, 3 or 5
   * @param directory parent of the brokers' directories; null = a temporary one
   * @param disks the disk of each broker, by id
   * @param electionTimeoutMillis of every Raft group; small values make tests quick
   * @param peerTls files of each broker, by id, for TLS between them; gives null = plain text
   * @param retention when what topics hold no longer is looked for and deleted
   * @param scrubIntervalMillis pause before each pass through all logs that looks for damage
   */
  public record Options(
      int brokers,
      Path directory,
      IntFunction<Disk> disks,
      int electionTimeoutMillis,
      IntFunction<PeerTlsFiles> peerTls,
      RetentionTimes retention,
      long scrubIntervalMillis) {

    public static final int DEFAULT_ELECTION_TIMEOUT_MILLIS = 600;

    public Options {
      if (brokers != 1 && brokers != 3 && brokers != 5) {
        throw new IllegalArgumentException(
            brokers + " brokers: an embedded cluster has 1, 3 or 5, so that one more is no loss");
      }
    }

    public static Options of(int brokers) {
      return new Options(
          brokers,
          null,
          id -> new DirectDisk(),
          DEFAULT_ELECTION_TIMEOUT_MILLIS,
          id -> null,
          RetentionTimes.DEFAULT,
          RaftSettings.DEFAULT_SCRUB_INTERVAL_MILLIS);
    }

    public Options withDisks(IntFunction<Disk> newDisks) {
      return new Options(
          brokers,
          directory,
          newDisks,
          electionTimeoutMillis,
          peerTls,
          retention,
          scrubIntervalMillis);
    }

    public Options withDirectory(Path newDirectory) {
      return new Options(
          brokers,
          newDirectory,
          disks,
          electionTimeoutMillis,
          peerTls,
          retention,
          scrubIntervalMillis);
    }

    public Options withPeerTls(IntFunction<PeerTlsFiles> newPeerTls) {
      return new Options(
          brokers,
          directory,
          disks,
          electionTimeoutMillis,
          newPeerTls,
          retention,
          scrubIntervalMillis);
    }

    public Options withElectionTimeoutMillis(int newElectionTimeoutMillis) {
      return new Options(
          brokers,
          directory,
          disks,
          newElectionTimeoutMillis,
          peerTls,
          retention,
          scrubIntervalMillis);
    }

    public Options withRetention(RetentionTimes newRetention) {
      return new Options(
          brokers,
          directory,
          disks,
          electionTimeoutMillis,
          peerTls,
          newRetention,
          scrubIntervalMillis);
    }

    public Options withScrubIntervalMillis(long newScrubIntervalMillis) {
      return new Options(
          brokers,
          directory,
          disks,
          electionTimeoutMillis,
          peerTls,
          retention,
          newScrubIntervalMillis);
    }
  }

  private final Options options;
  private final Path directory;
  private final boolean temporary;
  private final String clusterId = "embedded-" + UUID.randomUUID();
  private final Map<Integer, Broker> brokers = new TreeMap<>();
  private final List<String> fatalErrors = new ArrayList<>();

  private EmbeddedCluster(Options options, Path directory, boolean temporary) {
    this.options = options;
    this.directory = directory;
    this.temporary = temporary;
  }

  /** Formats and starts all brokers; returns when every broker is registered and known to all. */
  public static EmbeddedCluster start(Options options) throws IOException {
    boolean temporary = options.directory() == null;
    Path directory =
        temporary ? Files.createTempDirectory("millrace-embedded") : options.directory();
    EmbeddedCluster cluster = new EmbeddedCluster(options, directory, temporary);
    boolean started = false;
    try {
      cluster.format();
      cluster.ids().forEach(cluster::startQuietly);
      cluster.awaitMetadataLeader(START_MILLIS);
      cluster.await("registration of all brokers", START_MILLIS, cluster::allRegistered);
      started = true;
      return cluster;
    } finally {
      if (!started) {
        cluster.close();
      }
    }
  }

  private void format() throws IOException {
    Files.createDirectories(directory);
    ClusterSecretFile.makeIfMissing(secretFile());
    for (int id : ids()) {
      Disk disk = options.disks().apply(id);
      if (!DataDirectory.isFormatted(disk, dataDirectory(id))) {
        DataDirectory.format(disk, dataDirectory(id), clusterId, id, ids());
      }
    }
  }

  public List<Integer> ids() {
    return IntStream.rangeClosed(1, options.brokers()).boxed().toList();
  }

  public Path dataDirectory(int id) {
    return directory.resolve("broker-" + id);
  }

  /** The secret that the brokers share. */
  public Path secretFile() {
    return directory.resolve("cluster.secret");
  }

  public String clusterId() {
    return clusterId;
  }

  private void startQuietly(int id) {
    try {
      start(id);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Starts one broker that does not run. */
  public void start(int id) throws IOException {
    if (brokers.containsKey(id)) {
      throw new IllegalStateException("broker " + id + " runs already");
    }
    HostPort anyPort = new HostPort(HOST, 0);
    Disk disk = options.disks().apply(id);
    BrokerConfig config =
        new BrokerConfig(
            id,
            "",
            anyPort,
            anyPort,
            dataDirectory(id),
            new TreeMap<>(),
            secretFile(),
            options.peerTls().apply(id),
            NetworkConfig.defaults(HEAP_PER_BROKER),
            HEAP_PER_BROKER / 4,
            HEAP_PER_BROKER / 4,
            new RaftSettings(
                options.electionTimeoutMillis(),
                RaftSettings.DEFAULT_CHECKPOINT_BYTES,
                RaftSettings.DEFAULT_CHECKPOINT_MILLIS,
                RaftSettings.DEFAULT_REFILL_BYTES_PER_SECOND,
                RaftSettings.DEFAULT_SCRUB_BYTES_PER_SECOND,
                options.scrubIntervalMillis()),
            options.retention(),
            diskLowBytes(disk),
            true,
            Map.of());
    Broker started = Broker.start(config, disk, this::fatal);
    brokers.put(id, started);
    for (Broker broker : brokers.values()) {
      if (broker != started) {
        introduce(broker, started);
        introduce(started, broker);
      }
    }
  }

  private static void introduce(Broker broker, Broker other) {
    InetSocketAddress address = other.address();
    broker.peerSaid(other.identity().id(), address.getHostString(), address.getPort());
  }

  private synchronized void fatal(String reason) {
    fatalErrors.add(reason);
  }

  /** Less than a server keeps free: a test's files are small, and so may be its disk. */
  private long diskLowBytes(Disk disk) throws IOException {
    return Math.min(LOW_DISK_BYTES, Math.max(1 << 20, disk.totalBytes(directory) / 10));
  }

  /** What brokers reported as reason why they must not go on. */
  public synchronized List<String> fatalErrors() {
    return List.copyOf(fatalErrors);
  }

  /** The running broker with this id. */
  public Broker broker(int id) {
    Broker broker = brokers.get(id);
    if (broker == null) {
      throw new IllegalStateException("broker " + id + " does not run");
    }
    return broker;
  }

  public boolean isRunning(int id) {
    return brokers.containsKey(id);
  }

  /** Addresses of the running brokers, for a client. */
  public List<String> bootstrap() {
    return brokers.keySet().stream().map(this::addressOf).toList();
  }

  /** Host and port of a running broker. */
  public String addressOf(int id) {
    InetSocketAddress address = broker(id).address();
    return address.getHostString() + ":" + address.getPort();
  }

  /** Stops one broker cleanly. */
  public void stop(int id) {
    broker(id).close();
    brokers.remove(id);
  }

  /** Ends one broker at once, as far as that can be done inside a JVM: nobody hears from it. */
  public void kill(int id) {
    broker(id).kill();
    brokers.remove(id);
  }

  /**
   * Cuts one broker off from the others; clients still reach it. As every fault here, until {@link
   * #heal} or the end of the broker.
   */
  public void isolate(int id) {
    ids().stream().filter(peer -> peer != id).forEach(broker(id).faults()::isolateFrom);
  }

  /** Swallows what one broker sends to the other; what comes back is heard. */
  public void cutOneWay(int from, int to) {
    broker(from).faults().set(to, new NetworkFaults.Link(Flow.CUT, Flow.SOUND));
  }

  /** Makes messages between one broker and all others late or lost, in both directions. */
  public void slow(int id, Flow flow) {
    for (int peer : ids()) {
      if (peer != id) {
        broker(id).faults().set(peer, new NetworkFaults.Link(flow, flow));
      }
    }
  }

  /** Ends every fault. */
  public void heal() {
    brokers.values().forEach(broker -> broker.faults().heal());
  }

  /** Broker id of a partition's leader as the running brokers know it; 0 = none. */
  public int leaderOf(String topic, int partition) {
    for (Broker broker : brokers.values()) {
      MetadataResponse response =
          broker.metadata().describe(MetadataRequest.newBuilder().addTopics(topic).build());
      int leader =
          response.getTopicsCount() == 0 || response.getTopics(0).getPartitionsCount() <= partition
              ? 0
              : response.getTopics(0).getPartitions(partition).getLeader();
      if (leader != 0 && brokers.containsKey(leader)) {
        return leader;
      }
    }
    return 0;
  }

  /** Waits until some running broker leads the metadata group and has a majority in contact. */
  public void awaitMetadataLeader(long maxMillis) {
    await(
        "leader of the metadata group",
        maxMillis,
        () -> brokers.values().stream().anyMatch(Broker::leadsMetadata));
  }

  private boolean allRegistered() {
    return brokers.values().stream()
        .allMatch(b -> b.metadata().state().brokers().size() >= options.brokers());
  }

  /** Waits for a condition, polling. */
  public void await(String what, long maxMillis, java.util.function.BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(maxMillis);
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        throw new IllegalStateException("not within the time: " + what + ",  " + maxMillis + " ms");
      }
      try {
        TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted while waiting for " + what, e);
      }
    }
  }

  /** Stops all brokers, cleanly, and deletes the temporary directory. */
  @Override
  public void close() throws IOException {
    // All stop: handing leaders over to brokers that stop next would only take time.
    for (Broker broker : new ArrayList<>(brokers.values())) {
      broker.closeWithoutHandOver();
    }
    brokers.clear();
    if (temporary) {
      try (Stream<Path> files = Files.walk(directory)) {
        for (Path path : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.deleteIfExists(path);
        }
      }
    }
  }
}
