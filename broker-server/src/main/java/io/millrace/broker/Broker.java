package io.millrace.broker;

import io.millrace.broker.api.DistinctErrors;
import io.millrace.broker.api.NetworkFaultsHandler;
import io.millrace.broker.cluster.BalancerDriver;
import io.millrace.broker.cluster.BrokerEntry;
import io.millrace.broker.cluster.BrokerRegistrar;
import io.millrace.broker.cluster.ClusterMetadata;
import io.millrace.broker.cluster.LeaderAnnouncer;
import io.millrace.broker.cluster.LeaderDirectory;
import io.millrace.broker.cluster.LocalBroker;
import io.millrace.broker.cluster.MetadataGroup;
import io.millrace.broker.cluster.MetadataService;
import io.millrace.broker.cluster.Reconciler;
import io.millrace.broker.cluster.ReconcilerThread;
import io.millrace.broker.cluster.ThreadScheduler;
import io.millrace.broker.log.Disk;
import io.millrace.broker.log.DiskSpace;
import io.millrace.broker.net.NettyServer;
import io.millrace.broker.net.NetworkCounters;
import io.millrace.broker.partition.AppendBudget;
import io.millrace.broker.partition.FetchBudget;
import io.millrace.broker.partition.FetchCoordinator;
import io.millrace.broker.partition.FetchLimits;
import io.millrace.broker.partition.Partition;
import io.millrace.broker.partition.PartitionCounters;
import io.millrace.broker.partition.PartitionEnvironment;
import io.millrace.broker.partition.SliceInspector;
import io.millrace.broker.raft.JRaftRuntime;
import io.millrace.broker.raft.RaftContext;
import io.millrace.broker.raft.Replicas;
import io.millrace.broker.raft.refill.ReplicaSource;
import io.millrace.broker.raft.storage.VotesJournal;
import io.millrace.broker.raft.transport.FailureDetector;
import io.millrace.broker.raft.transport.NetworkFaults;
import io.millrace.broker.raft.transport.PeerCredentials;
import io.millrace.broker.raft.transport.PeerNetwork;
import io.millrace.broker.raft.transport.PeerRequests;
import io.millrace.protocol.message.ReplicaStatus;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.HashedWheelTimer;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Clock;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One broker: wires the parts together and owns their lives.
 *
 * <p>Threads: {@link #start}, {@link #close} and {@link #kill} block and belong to the embedder's
 * thread; everything else is safe from any.
 *
 * <p>Durability: {@link #close} hands leaders over, answers what is in flight, writes checkpoints,
 * syncs every log, and leaves the mark of a clean stop. {@link #kill} leaves what a killed process
 * leaves.
 *
 * <p>Errors: a start that fails throws with one line and leaves nothing running and nothing
 * changed. What makes a running broker unfit (its directory is not the one that the cluster knows)
 * is told to the fatal handler, once.
 */
public final class Broker implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Broker.class);

  public static final String VERSION = "0.1.0";

  /** Highest feature level whose log entries this version understands. */
  static final int FEATURE_LEVEL = 1;

  /** -Dmillrace.checks=true: costly checks of what cannot happen, for tests. */
  private static final boolean CHECKS = Boolean.getBoolean("millrace.checks");

  private static final long HAND_OVER_MILLIS = 5000;
  private static final long DRAIN_MILLIS = 3000;
  private static final long RECOVERY_CHECK_MILLIS = 500;
  private static final long DISK_CHECK_MILLIS = 1000;
  private static final long DISK_CHECK_WHEN_LOW_MILLIS = 100;

  /** No leader is moved to a broker before it has been up for so long. */
  private static final long SETTLED_AFTER_MILLIS = 10_000;

  /** What waits on the wheel are deadlines; a late end of a long poll costs nobody. */
  private static final int WHEEL_TICK_MILLIS = 100;

  private static final int WHEEL_SLOTS = 512;
  private static final int READER_THREADS = 4;
  private static final int COPY_THREADS = 2;

  private final BrokerConfig config;
  private final DataDirectory directory;
  private final LocalBroker identity;
  private final HashedWheelTimer timer;
  private final ThreadScheduler scheduler;
  private final BrokerAddresses addresses;
  private final KnownPeers knownPeers;
  private final VotesJournal votes;
  private final NettyServer server;
  private final EventLoopGroup peerLoops;
  private final ExecutorService readers;
  private final ExecutorService copies;
  private final PeerNetwork network;
  private final PeerRequests peerRequests;
  private final Replicas replicas;
  private final MetadataGroup metadataGroup = new MetadataGroup();
  private final LeaderDirectory leaders;
  private final ClusterMetadata metadata;
  private final LeaderAnnouncer announcer;
  private final BrokerRegistrar registrar;
  private final LocalPartitions partitions;
  private final LeaderTransfers transfers;
  private final Reconciler reconciler;
  private final ReconcilerThread reconcilerThread;
  private final BalancerDriver balancer;
  private final FetchCoordinator fetches;
  private final PartitionEnvironment environment;
  private final DiskSpace diskSpace;
  private final StatusReport status;
  private final RetentionDriver retention;
  private volatile FailureDetector detector;
  private volatile InetSocketAddress advertised;
  private volatile boolean stopped;

  /**
   * Starts a broker and returns when it listens; its replicas start in the background.
   *
   * @param fatal told why this broker must not go on, at most once; the embedder stops it
   */
  public static Broker start(BrokerConfig config, Disk disk, Consumer<String> fatal)
      throws IOException {
    PeerCredentials credentials = PeerSecurity.load(config);
    JRaftRuntime.ensureStarted();
    DataDirectory directory =
        DataDirectory.open(disk, config.dataDir(), config.brokerId(), config.clusterId());
    Broker broker = null;
    try {
      PeerSecurity.requireSecret(credentials, config.brokerId(), directory.bootstrapVoters());
      broker = new Broker(config, credentials, disk, directory, fatal);
      broker.run();
      return broker;
    } catch (IOException | RuntimeException e) {
      if (broker != null) {
        broker.kill();
      } else {
        directory.close();
      }
      throw e;
    }
  }

  private Broker(
      BrokerConfig config,
      PeerCredentials credentials,
      Disk disk,
      DataDirectory directory,
      Consumer<String> fatal)
      throws IOException {
    this.config = config;
    this.directory = directory;
    this.identity = directory.identity();
    int id = identity.id();
    disk.createDirectory(directory.topics());
    diskSpace =
        new DiskSpace(
            disk,
            directory.path(),
            config.diskLowBytes() == 0
                ? DiskSpace.Limits.forDiskOf(disk.totalBytes(directory.path()))
                : DiskSpace.Limits.withLow(config.diskLowBytes()));
    diskSpace.check();
    votes = VotesJournal.open(disk, directory.raft(), id);
    knownPeers = KnownPeers.open(disk, directory.raft());
    timer =
        new HashedWheelTimer(
            new DefaultThreadFactory("timer-" + id, true),
            WHEEL_TICK_MILLIS,
            TimeUnit.MILLISECONDS,
            WHEEL_SLOTS);
    scheduler = new ThreadScheduler("cluster-" + id);
    addresses = new BrokerAddresses(config.clusterBrokers());

    NetworkFaults faults = new NetworkFaults();
    peerLoops =
        new MultiThreadIoEventLoopGroup(
            config.network().peerThreads(),
            new DefaultThreadFactory("peers-" + id, true),
            NioIoHandler.newFactory());
    network =
        new PeerNetwork(
            new PeerNetwork.LocalIdentity(
                identity.clusterId(), id, identity.incarnation().toString(), () -> advertised),
            addresses,
            knownPeers,
            credentials,
            peerLoops,
            timer,
            faults,
            config.network().maxFrameBytes());
    peerRequests = new PeerRequests(id, network::heard, peerLoops, network.lateAnswers());
    replicas =
        new Replicas(
            new RaftContext(
                id,
                disk,
                votes,
                network,
                peerRequests,
                config.raft(),
                diskSpace,
                directory.unsyncedBytesMayBeLost()));

    leaders = new LeaderDirectory(id);
    PeerLinks links = new PeerLinks(network, move -> transfersOfThis().move(move));
    metadata =
        new ClusterMetadata(
            identity,
            metadataGroup,
            leaders,
            this::isReachable,
            links,
            scheduler,
            UUID::randomUUID);
    announcer = new LeaderAnnouncer(id, leaders, this::otherBrokers, links, scheduler);
    registrar = new BrokerRegistrar(metadata, scheduler, fatal);
    environment =
        new PartitionEnvironment(
            Clock.systemUTC(),
            new AppendBudget(config.appendInflightBytes(), diskSpace),
            new PartitionCounters(),
            what -> LOG.error("cannot happen: {}", what));
    partitions =
        new LocalPartitions(
            id,
            identity.clusterId(),
            new ReplicaDirectories(
                disk, directory.topics(), identity.clusterId(), identity.incarnation()),
            replicas,
            votes,
            environment,
            leaders,
            metadata);
    transfers = new LeaderTransfers(id, partitions, replicas, this::isUp);
    retention = new RetentionDriver(id, partitions, replicas, metadata, config.retention());
    reconciler =
        new Reconciler(identity, metadata, registrar::isCaughtUp, partitions, scheduler::nowMillis);
    reconcilerThread = new ReconcilerThread(reconciler, metadataGroup, "reconciler-" + id);
    balancer =
        new BalancerDriver(
            metadataGroup, leaders, this::hasSettled, metadataGroup::isFresh, links, scheduler);
    readers =
        Executors.newFixedThreadPool(
            READER_THREADS, new DefaultThreadFactory("readers-" + id, true));
    copies =
        Executors.newFixedThreadPool(COPY_THREADS, new DefaultThreadFactory("copies-" + id, true));
    FetchBudget fetchBudget =
        new FetchBudget(config.fetchResponseBytes(), FetchBudget.DEFAULT_MAX_WAITING);
    fetches =
        new FetchCoordinator(
            new FetchCoordinator.Context(
                timer,
                readers,
                fetchBudget,
                FetchLimits.defaults(),
                environment.counters(),
                CHECKS ? SliceInspector.EVERY_HEADER : SliceInspector.NONE));
    status =
        new StatusReport(
            metadataGroup,
            replicas,
            peerRequests,
            partitions,
            environment,
            fetchBudget,
            diskSpace,
            faults,
            () -> otherBrokers().stream().filter(broker -> !isUp(broker)).toList(),
            this::server);
    BrokerHandlers handlers =
        new BrokerHandlers(
            identity,
            config.network().maxFrameBytes(),
            metadata,
            diskSpace,
            registrar::isCaughtUp,
            leaders,
            partitions,
            fetches,
            peerRequests,
            network::pinged,
            transfers::move,
            credentials,
            knownPeers,
            this::peerSaid,
            status,
            new NetworkFaultsHandler(id, config.faultsAllowed(), faults, network::hasPeer),
            timer,
            readers,
            new ReplicaSource(disk, replicas::source),
            replicas::has,
            copies,
            new DistinctErrors(LOG));
    server =
        new NettyServer(
            config.network(),
            handlers.all(),
            new NetworkCounters(),
            "b" + id,
            faults,
            credentials.tls());
  }

  private LeaderTransfers transfersOfThis() {
    return transfers;
  }

  private NettyServer server() {
    return server;
  }

  private void run() throws IOException {
    advertised = config.advertised().resolve();
    InetSocketAddress bound = server.start(config.listen().resolve());
    if (config.advertised().port() == 0) {
      advertised = InetSocketAddress.createUnresolved(config.advertised().host(), bound.getPort());
    }
    metadataGroup.addListener(this::metadataChanged);
    network.addConnectListener(announcer::peerConnected);
    detector =
        FailureDetector.start(
            network,
            timer,
            new FailureDetector.Listener() {
              @Override
              public void down(int brokerId, String reason) {
                replicas.brokerDown(brokerId);
              }

              @Override
              public void up(int brokerId) {
                replicas.brokerUp(brokerId);
              }
            });
    directory.bootstrapVoters().forEach(network::addPeer);
    config.clusterBrokers().keySet().forEach(network::addPeer);
    if (directory.bootstrapVoters().contains(identity.id())) {
      replicas.start(MetadataReplica.spec(identity, directory), new MetadataReplica(metadataGroup));
    }
    announcer.start();
    reconcilerThread.start();
    retention.start();
    balancer.start();
    registrar.register(
        new BrokerEntry(
            identity.id(),
            identity.incarnation(),
            advertised.getHostString(),
            advertised.getPort(),
            VERSION,
            FEATURE_LEVEL));
    scheduler.schedule(RECOVERY_CHECK_MILLIS, this::checkRecovered);
    scheduler.schedule(DISK_CHECK_MILLIS, this::checkDisk);
  }

  private void checkDisk() {
    if (stopped) {
      return;
    }
    try {
      copies.execute(diskSpace::check);
    } catch (RejectedExecutionException e) {
      LOG.debug("no look at the disk, the broker stops", e);
      return;
    }
    boolean near = diskSpace.freeBytes() < 4 * diskSpace.limits().lowBytes();
    scheduler.schedule(near ? DISK_CHECK_WHEN_LOW_MILLIS : DISK_CHECK_MILLIS, this::checkDisk);
  }

  /** FSM thread of the metadata group. */
  private void metadataChanged() {
    Collection<BrokerEntry> registered = metadataGroup.state().brokers();
    knownPeers.learn(registered);
    for (BrokerEntry broker : registered) {
      if (broker.id() != identity.id()) {
        network.addPeer(broker.id());
        if (addresses.registered(broker)) {
          network.addressesChanged();
        }
      }
    }
  }

  /** A broker listens at this address now: it said so itself, or whoever started it says so. */
  public void peerSaid(int brokerId, String host, int port) {
    if (addresses.saidBy(brokerId, host, port)) {
      network.addressesChanged();
    }
    network.addPeer(brokerId);
  }

  private void checkRecovered() {
    if (stopped) {
      return;
    }
    if (registrar.isCaughtUp() && replicas.allSettled() && reconciler.problems().isEmpty()) {
      try {
        directory.markRecovered();
        return;
      } catch (DataDirectoryException e) {
        LOG.warn("the end of the recovery cannot be noted yet: {}", e.getMessage());
      }
    }
    scheduler.schedule(RECOVERY_CHECK_MILLIS, this::checkRecovered);
  }

  private boolean isReachable(int brokerId) {
    return brokerId == identity.id() || network.isConnected(brokerId);
  }

  /** Connected, and not silent: a frozen broker keeps its connections. */
  private boolean isUp(int brokerId) {
    return upMillis(brokerId) >= 0;
  }

  /**
   * Fit to be given more to lead. A broker that has just started still recovers, and its code is
   * not compiled yet: a partition that moves there is without a leader for seconds.
   */
  private boolean hasSettled(int brokerId) {
    return brokerId == identity.id() || upMillis(brokerId) >= SETTLED_AFTER_MILLIS;
  }

  /** For how long another broker has been up; -1 = it is not, or nobody has looked yet. */
  private long upMillis(int brokerId) {
    FailureDetector watching = detector;
    return watching != null && network.isConnected(brokerId) ? watching.upMillis(brokerId) : -1;
  }

  private Collection<Integer> otherBrokers() {
    Collection<Integer> others = new TreeSet<>(directory.bootstrapVoters());
    metadataGroup.state().brokers().forEach(broker -> others.add(broker.id()));
    others.remove(identity.id());
    return others;
  }

  // -------------------------------------------------------------------------------- its parts

  public BrokerConfig config() {
    return config;
  }

  public LocalBroker identity() {
    return identity;
  }

  /** Where clients and other brokers reach this broker. */
  public InetSocketAddress address() {
    return advertised;
  }

  public NetworkFaults faults() {
    return network.faults();
  }

  public MetadataService metadata() {
    return metadata;
  }

  // ---------------------------------------------------------------------------------- stopping

  /** State of every replica of this broker. Takes locks of their nodes. */
  public List<ReplicaStatus> replicaStatus() {
    return status.replicas("");
  }

  /** Broker id of the metadata leader that this broker knows, 0 = none. */
  public int metadataLeader() {
    return metadataGroup.leader();
  }

  /** True if both connections to the other broker are up, its identity checked. */
  public boolean knowsPeer(int brokerId) {
    return network.isConnected(brokerId);
  }

  /** True if this broker leads the metadata group, is ready, and hears a majority. */
  public boolean leadsMetadata() {
    return metadataGroup.isFresh();
  }

  /** Stops cleanly: other brokers lead before this one goes. */
  @Override
  public void close() {
    stop(HAND_OVER_MILLIS);
  }

  /** As {@link #close}, for a cluster that stops as a whole. */
  public void closeWithoutHandOver() {
    stop(0);
  }

  private void stop(long handOverMillis) {
    if (stopped) {
      return;
    }
    LOG.info("broker {} stops", identity.id());
    stopped = true;
    balancer.close();
    registrar.close();
    try {
      if (handOverMillis > 0) {
        transfers.handOverAll(handOverMillis);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    partitions.all().forEach(Partition::shutDown);
    if (!server.drain(DRAIN_MILLIS)) {
      LOG.warn("{} requests were not answered before the stop", server.unanswered());
    }
    stopParts();
    if (replicas.allSynced()) {
      directory.closeCleanly();
      LOG.info("broker {} has stopped", identity.id());
    } else {
      directory.close();
      LOG.error("broker {} has stopped without a mark of it: a log is not on disk", identity.id());
    }
  }

  /**
   * Stops without handing over and without the mark of a clean stop; for tests and failed starts.
   */
  public void kill() {
    if (stopped) {
      return;
    }
    stopped = true;
    network.faults().isolateFromAll();
    balancer.close();
    registrar.close();
    stopParts();
    directory.close();
  }

  private void stopParts() {
    if (detector != null) {
      detector.close();
    }
    reconcilerThread.close();
    announcer.close();
    retention.close();
    replicas.close();
    transfers.close();
    fetches.close();
    network.close();
    server.close();
    peerLoops.shutdownGracefully(0, 2, TimeUnit.SECONDS).awaitUninterruptibly(3000);
    readers.shutdownNow();
    copies.shutdownNow();
    closeStep("peer requests", peerRequests::close);
    metadata.close();
    scheduler.close();
    timer.stop();
    closeStep("votes", votes::close);
  }

  private interface Step {
    void run() throws Exception;
  }

  private static void closeStep(String what, Step step) {
    try {
      step.run();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Exception e) {
      LOG.warn("{} not closed cleanly", what, e);
    }
  }
}
