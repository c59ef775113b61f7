package io.millrace.tools.local;

import io.millrace.broker.ClusterSecretFile;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.Progress;
import io.millrace.tools.UsageFailure;
import io.millrace.tools.Waits;
import io.millrace.tools.Words;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.IntStream;

/**
 * A cluster of broker processes on this machine.
 *
 * <p>Owns: the files of {@link ClusterHome}. Changes are made under a lock on the home, so that two
 * commands do not start the same broker twice.
 */
public final class LocalCluster {
  public static final int DEFAULT_BROKERS = 3;
  public static final int DEFAULT_BASE_PORT = 19_801;
  static final String DEFAULT_HOST = "127.0.0.1";
  public static final List<String> DEFAULT_ADDRESSES =
      IntStream.range(0, DEFAULT_BROKERS)
          .mapToObj(i -> DEFAULT_HOST + ":" + (DEFAULT_BASE_PORT + i))
          .toList();

  private static final int HIGHEST_PORT = 65_535;

  private final ClusterHome home;
  private final ClusterFile file;

  private LocalCluster(ClusterHome home, ClusterFile file) {
    this.home = home;
    this.file = file;
  }

  /** What the user may choose when a cluster is made. Null: not said. */
  public record Plan(
      Integer brokers,
      Integer basePort,
      String host,
      String heap,
      List<String> javaOptions,
      Boolean allowFaults) {
    public static Plan unstated() {
      return new Plan(null, null, null, null, List.of(), null);
    }
  }

  /** Refuses what Java would not take as -Xmx; null is not said. */
  public static void requireHeapSize(String heap) {
    if (heap != null && !heap.matches("\\d{1,9}[kKmMgG]?")) {
      throw new UsageFailure("--heap '" + heap + "' is not a heap size; write it as 512m or 2g");
    }
  }

  /** Opens the cluster of this home. */
  public static LocalCluster open(ClusterHome home) {
    if (!home.hasCluster()) {
      throw new CommandFailure(
          "there is no cluster in "
              + home.directory()
              + "; start one with: millrace cluster up, or name another directory with --home");
    }
    try {
      return new LocalCluster(home, ClusterFile.read(home.clusterFile()));
    } catch (IOException e) {
      throw new CommandFailure(home.clusterFile() + " can not be read: " + e.getMessage(), e);
    }
  }

  public static List<String> addresses(ClusterHome home) {
    return open(home).file.addresses();
  }

  /** Opens the cluster of this home or writes the files of a new one; starts nothing. */
  public static LocalCluster openOrCreate(ClusterHome home, Plan plan) throws IOException {
    if (home.hasCluster()) {
      LocalCluster existing = open(home);
      existing.refuseOther(plan);
      return existing.with(plan);
    }
    int brokers = plan.brokers() == null ? DEFAULT_BROKERS : plan.brokers();
    int basePort = plan.basePort() == null ? DEFAULT_BASE_PORT : plan.basePort();
    String host = plan.host() == null ? DEFAULT_HOST : plan.host();
    if (basePort < 1 || basePort + brokers - 1 > HIGHEST_PORT) {
      throw new CommandFailure(
          "--base-port "
              + basePort
              + " with "
              + Words.count(brokers, "broker")
              + " leaves the ports from 1 to "
              + HIGHEST_PORT);
    }
    List<ClusterFile.Member> members =
        IntStream.range(0, brokers)
            .mapToObj(i -> new ClusterFile.Member(i + 1, host, basePort + i, false))
            .toList();
    for (ClusterFile.Member member : members) {
      requireFreePort(
          member,
          "end the program that has it, or choose other ports with --base-port (and --home for a"
              + " second cluster)");
    }
    var file =
        new ClusterFile(
            ClusterFile.VERSION,
            UUID.randomUUID().toString(),
            members,
            plan.heap() == null ? BrokerJvm.DEFAULT_HEAP : plan.heap(),
            plan.javaOptions(),
            Boolean.TRUE.equals(plan.allowFaults()));
    Files.createDirectories(home.directory());
    file.write(home.clusterFile());
    return new LocalCluster(home, file);
  }

  private void refuseOther(Plan plan) {
    if (plan.brokers() != null && plan.brokers() != file.brokers().size()) {
      throw new CommandFailure(
          home.directory()
              + " holds a cluster of "
              + Words.count(file.brokers().size(), "broker")
              + ", not "
              + plan.brokers()
              + "; leave --brokers out, or make another cluster with --home");
    }
    ClusterFile.Member first = file.brokers().get(0);
    if (plan.basePort() != null && plan.basePort() != first.port()) {
      throw new CommandFailure(
          home.directory()
              + " holds a cluster whose first port is "
              + first.port()
              + ", not "
              + plan.basePort()
              + "; leave --base-port out, or make another cluster with --home");
    }
    if (plan.host() != null && !plan.host().equals(first.host())) {
      throw new CommandFailure(
          home.directory()
              + " holds a cluster on "
              + first.host()
              + ", not "
              + plan.host()
              + "; leave --host out, or make another cluster with --home");
    }
  }

  /** These may change from start to start of the brokers; they are kept for the next. */
  private LocalCluster with(Plan plan) throws IOException {
    if (plan.heap() == null && plan.javaOptions().isEmpty() && plan.allowFaults() == null) {
      return this;
    }
    var changed =
        new ClusterFile(
            file.version(),
            file.clusterId(),
            file.brokers(),
            plan.heap() == null ? file.heap() : plan.heap(),
            plan.javaOptions().isEmpty() ? file.javaOptions() : plan.javaOptions(),
            plan.allowFaults() == null ? file.allowFaults() : plan.allowFaults());
    changed.write(home.clusterFile());
    return new LocalCluster(home, changed);
  }

  public ClusterHome home() {
    return home;
  }

  public ClusterFile file() {
    return file;
  }

  List<BrokerProcess> brokers() {
    return file.brokers().stream().map(member -> new BrokerProcess(home, member)).toList();
  }

  BrokerProcess broker(int brokerId) {
    return new BrokerProcess(home, file.member(brokerId));
  }

  /** Brokers that have a process now, in whatever state. */
  List<Integer> present() throws IOException {
    var present = new ArrayList<Integer>();
    for (BrokerProcess broker : brokers()) {
      if (!broker.isGone()) {
        present.add(broker.member().id());
      }
    }
    return present;
  }

  /** Starts the brokers that do not run, and waits until they serve and have elected. */
  public void up(Duration limit, Progress progress) throws IOException, InterruptedException {
    long deadline = System.nanoTime() + limit.toNanos();
    List<Integer> absent = new ArrayList<>();
    for (BrokerProcess broker : brokers()) {
      switch (broker.state()) {
        case GONE -> absent.add(broker.member().id());
        case PAUSED ->
            throw new CommandFailure(
                "broker "
                    + broker.member().id()
                    + " is paused; let it go on with: millrace cluster resume "
                    + broker.member().id());
        case RUNNING -> {}
      }
    }
    start(absent, limit, progress);
    awaitCluster(file.brokers(), deadline, progress);
  }

  /** Starts one broker and waits until it serves and, with a majority running, has joined it. */
  public void start(int brokerId, Duration limit, Progress progress)
      throws IOException, InterruptedException {
    if (!broker(brokerId).isGone()) {
      throw new CommandFailure(
          "broker " + brokerId + " runs already as process " + broker(brokerId).pid().orElse(0L));
    }
    long deadline = System.nanoTime() + limit.toNanos();
    start(List.of(brokerId), limit, progress);
    var running = new ArrayList<ClusterFile.Member>();
    for (BrokerProcess broker : brokers()) {
      if (broker.state() == ProcessIdentity.State.RUNNING) {
        running.add(broker.member());
      }
    }
    if (running.size() * 2 > file.brokers().size()) {
      awaitCluster(running, deadline, progress);
    }
  }

  private void start(List<Integer> brokerIds, Duration limit, Progress progress)
      throws IOException, InterruptedException {
    Map<BrokerProcess, BrokerProcess.Starting> starting = new LinkedHashMap<>();
    try (var lock = lockHome()) {
      LocalCluster current = open(home);
      requireSecret();
      for (int brokerId : brokerIds) {
        ClusterFile.Member member = current.file.member(brokerId);
        var broker = new BrokerProcess(home, member);
        if (broker.isGone()) {
          requireFreePort(
              member,
              "end the program that has it, then start again: the ports of a cluster stay as it was"
                  + " made");
          prepare(member);
          starting.put(
              broker,
              broker.start(
                  BrokerJvm.command(
                      BrokerJvm.java(),
                      Runtime.version().feature(),
                      System.getProperty("java.class.path"),
                      file.heap(),
                      file.javaOptions(),
                      home.configFile(brokerId))));
        }
      }
    }
    awaitReady(starting, limit, progress);
  }

  /**
   * Makes the brokers' secret when there is none yet. Running brokers have one: a new one would
   * only keep the others from them.
   */
  void requireSecret() throws IOException {
    Path secret = home.secretFile();
    if (!Files.exists(secret)) {
      for (BrokerProcess broker : brokers()) {
        if (!broker.isGone()) {
          throw new CommandFailure(
              secret
                  + " is missing while broker "
                  + broker.member().id()
                  + " runs; put it back, or end all brokers with: millrace cluster down; then"
                  + " cluster up makes a new one for all");
        }
      }
    }
    ClusterSecretFile.makeIfMissing(secret);
  }

  private void prepare(ClusterFile.Member member) throws IOException {
    Path data = home.dataDirectory(member.id());
    if (member.formatted()) {
      if (!Files.isDirectory(data)) {
        throw new CommandFailure(
            "the data directory "
                + data
                + " of broker "
                + member.id()
                + " is gone; put it back, for an empty one would vote without what it stored");
      }
    } else {
      Files.createDirectories(data.getParent());
      if (!BrokerFormat.isFormatted(data)) {
        BrokerFormat.format(data, file.clusterId(), member.id(), file.ids());
      }
      ClusterFile.read(home.clusterFile()).withFormatted(member.id()).write(home.clusterFile());
    }
    SafeFiles.replace(home.configFile(member.id()), properties(member));
  }

  private String properties(ClusterFile.Member member) {
    return String.join(
        "\n",
        "# Written by millrace cluster at each start; changes here do not last.",
        "broker.id=" + member.id(),
        "listen=" + member.address(),
        "data.dir=" + escaped(home.dataDirectory(member.id())),
        "cluster.brokers=" + String.join(",", file.bootstrapEntries()),
        "cluster.secret.file=" + escaped(home.secretFile()),
        "faults.allowed=" + file.allowFaults(),
        "");
  }

  private static String escaped(Path path) {
    return path.toString().replace("\\", "\\\\");
  }

  private void awaitReady(
      Map<BrokerProcess, BrokerProcess.Starting> starting, Duration limit, Progress progress)
      throws IOException, InterruptedException {
    long startNanos = System.nanoTime();
    boolean all =
        Waits.until(
            limit,
            () -> {
              var ready = new ArrayList<BrokerProcess>();
              for (var entry : starting.entrySet()) {
                if (entry.getKey().isReady(entry.getValue())) {
                  ready.add(entry.getKey());
                }
              }
              for (BrokerProcess broker : ready) {
                progress.step(
                    "broker "
                        + broker.member().id()
                        + " serves at "
                        + broker.member().address()
                        + " (process "
                        + starting.remove(broker).process().pid()
                        + ", "
                        + Words.millis((System.nanoTime() - startNanos) / 1_000_000)
                        + ")");
              }
              return starting.isEmpty();
            });
    if (!all) {
      BrokerProcess late = starting.keySet().iterator().next();
      throw new CommandFailure(
          "broker "
              + late.member().id()
              + " does not serve after "
              + Words.millis(limit.toMillis())
              + "; its log: "
              + home.logFile(late.member().id()));
    }
  }

  private static void awaitCluster(
      List<ClusterFile.Member> members, long deadlineNanos, Progress progress)
      throws InterruptedException {
    long startNanos = System.nanoTime();
    new ClusterReadiness(members).await(deadlineNanos);
    progress.step(
        "the brokers reach each other and have a metadata leader ("
            + Words.millis((System.nanoTime() - startNanos) / 1_000_000)
            + ")");
  }

  /**
   * Stops all brokers cleanly; one that does not stop in time is killed, which loses nothing that
   * was acknowledged.
   *
   * @return the ids of the brokers that had to be killed
   */
  public List<Integer> down(Duration limit, Progress progress)
      throws IOException, InterruptedException {
    var asked = new ArrayList<BrokerProcess>();
    for (BrokerProcess broker : brokers()) {
      if (!broker.isGone()) {
        broker.terminate();
        asked.add(broker);
      }
    }
    int all = asked.size();
    Waits.until(
        limit,
        () -> {
          for (var each = asked.iterator(); each.hasNext(); ) {
            BrokerProcess broker = each.next();
            if (broker.isGone()) {
              each.remove();
              progress.step("broker " + broker.member().id() + " stopped");
            }
          }
          if (progress.due()) {
            progress.show("stopping: " + (all - asked.size()) + " of " + all);
          }
          return asked.isEmpty();
        });
    progress.clear();
    for (BrokerProcess broker : asked) {
      broker.kill();
    }
    return asked.stream().map(broker -> broker.member().id()).toList();
  }

  public void kill(int brokerId) throws IOException, InterruptedException {
    broker(brokerId).kill();
  }

  public void pause(int brokerId) throws IOException, InterruptedException {
    broker(brokerId).pause();
  }

  public void resume(int brokerId) throws IOException, InterruptedException {
    broker(brokerId).resume();
  }

  /** Stops one broker cleanly: it hands over what it leads, then ends. */
  public void stop(int brokerId, Duration limit) throws IOException, InterruptedException {
    BrokerProcess broker = broker(brokerId);
    broker.terminate();
    if (!Waits.until(limit, broker::isGone)) {
      throw new CommandFailure(
          "broker "
              + brokerId
              + " did not stop in "
              + Words.millis(limit.toMillis())
              + "; its log: "
              + home.logFile(brokerId));
    }
  }

  /** Undoes kill, pause and stop: a broker that runs is left alone. */
  public void bringBack(int brokerId, Duration limit, Progress progress)
      throws IOException, InterruptedException {
    switch (broker(brokerId).state()) {
      case GONE -> start(brokerId, limit, progress);
      case PAUSED -> resume(brokerId);
      case RUNNING -> {}
    }
  }

  /** The process of a broker, empty when there is none. */
  public Optional<Long> pid(int brokerId) throws IOException {
    return broker(brokerId).pid();
  }

  /**
   * Empties the directory of a broker that never held a replica. A broker with replicas is refused:
   * an empty replica that votes again could elect a leader without acknowledged records.
   */
  void wipe(int brokerId) throws IOException {
    BrokerProcess broker = broker(brokerId);
    Path data = home.dataDirectory(brokerId);
    List<String> kept = BrokerFiles.replicaFiles(data);
    if (!kept.isEmpty()) {
      throw new CommandFailure(
          "broker "
              + brokerId
              + " holds replicas ("
              + data.resolve(kept.get(0))
              + (kept.size() > 1 ? " and " + (kept.size() - 1) + " more" : "")
              + "); wiping a broker with replicas is refused until a replica can be replaced."
              + " To give up the whole cluster: millrace cluster down, then remove "
              + home.directory());
    }
    // Last: stopping it would not help a broker with replicas.
    if (!broker.isGone()) {
      throw new CommandFailure(
          "broker " + brokerId + " runs; stop it first with: millrace cluster kill " + brokerId);
    }
    BrokerFiles.deleteRecursively(data);
    file.withFormatted(brokerId, false).write(home.clusterFile());
  }

  private static void requireFreePort(ClusterFile.Member member, String advice) throws IOException {
    try (var socket = new ServerSocket()) {
      socket.setReuseAddress(true);
      socket.bind(new InetSocketAddress(InetAddress.getByName(member.host()), member.port()));
    } catch (java.net.BindException e) {
      throw new CommandFailure(
          "port "
              + member.port()
              + " of broker "
              + member.id()
              + " on "
              + member.host()
              + " can not be used ("
              + e.getMessage()
              + "); "
              + advice,
          e);
    }
  }

  private HomeLock lockHome() throws IOException {
    Files.createDirectories(home.directory());
    FileChannel channel =
        FileChannel.open(
            home.directory().resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    FileLock lock = channel.tryLock();
    if (lock == null) {
      channel.close();
      throw new CommandFailure(
          "another millrace command is starting brokers of " + home.directory() + "; wait for it");
    }
    return channel::close;
  }

  /** Closing ends the lock. */
  private interface HomeLock extends AutoCloseable {
    @Override
    void close() throws IOException;
  }
}
