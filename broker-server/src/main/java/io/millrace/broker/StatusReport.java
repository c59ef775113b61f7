package io.millrace.broker;

import com.alipay.sofa.jraft.core.State;
import io.millrace.broker.api.BrokerStatusHandler;
import io.millrace.broker.api.NetworkFaultsHandler;
import io.millrace.broker.cluster.MetadataGroup;
import io.millrace.broker.log.DiskSpace;
import io.millrace.broker.log.FsyncPolicy;
import io.millrace.broker.log.LogDamagedException;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.log.SegmentSummary;
import io.millrace.broker.net.NettyServer;
import io.millrace.broker.partition.FetchBudget;
import io.millrace.broker.partition.Partition;
import io.millrace.broker.partition.PartitionEnvironment;
import io.millrace.broker.raft.Replica;
import io.millrace.broker.raft.Replicas;
import io.millrace.broker.raft.message.StoredHealth;
import io.millrace.broker.raft.transport.NetworkFaults;
import io.millrace.broker.raft.transport.PeerRequests;
import io.millrace.protocol.message.DiskLevel;
import io.millrace.protocol.message.DiskStatus;
import io.millrace.protocol.message.Gauge;
import io.millrace.protocol.message.PeerFaults;
import io.millrace.protocol.message.RefillStatus;
import io.millrace.protocol.message.ReplicaHealth;
import io.millrace.protocol.message.ReplicaRole;
import io.millrace.protocol.message.ReplicaStatus;
import io.millrace.protocol.message.SegmentStatus;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a broker says of itself and its replicas.
 *
 * <p>Threads: any; takes locks of the Raft nodes, so not for event loops.
 */
final class StatusReport implements BrokerStatusHandler.Source {

  private static final Logger LOG = LoggerFactory.getLogger(StatusReport.class);

  private final MetadataGroup metadataGroup;
  private final Replicas replicas;
  private final PeerRequests peerRequests;
  private final LocalPartitions partitions;
  private final PartitionEnvironment environment;
  private final FetchBudget fetchBudget;
  private final DiskSpace diskSpace;
  private final NetworkFaults faults;
  private final Supplier<List<Integer>> unreachedPeers;
  private final Supplier<NettyServer> server;

  StatusReport(
      MetadataGroup metadataGroup,
      Replicas replicas,
      PeerRequests peerRequests,
      LocalPartitions partitions,
      PartitionEnvironment environment,
      FetchBudget fetchBudget,
      DiskSpace diskSpace,
      NetworkFaults faults,
      Supplier<List<Integer>> unreachedPeers,
      Supplier<NettyServer> server) {
    this.metadataGroup = metadataGroup;
    this.replicas = replicas;
    this.peerRequests = peerRequests;
    this.partitions = partitions;
    this.environment = environment;
    this.fetchBudget = fetchBudget;
    this.diskSpace = diskSpace;
    this.faults = faults;
    this.unreachedPeers = unreachedPeers;
    this.server = server;
  }

  @Override
  public int metadataLeader() {
    return metadataGroup.leader();
  }

  @Override
  public List<ReplicaStatus> replicas(String segmentsOf) {
    List<ReplicaStatus> all = new ArrayList<>();
    for (Replicas.View view : replicas.views()) {
      all.add(describe(view, segmentsOf));
    }
    all.sort(
        Comparator.comparing(ReplicaStatus::getTopic)
            .thenComparingInt(ReplicaStatus::getPartition));
    return all;
  }

  private ReplicaStatus describe(Replicas.View view, String segmentsOf) {
    ReplicaStatus.Builder status =
        ReplicaStatus.newBuilder()
            .setGroup(view.spec().name())
            .setPartition(view.spec().identity().partition())
            .setHealth(health(view.health()))
            .setReason(view.reason())
            .setFsync(fsync(view.spec().logConfig().fsync()));
    String topic = partitions.topicOf(view.spec().name());
    if (topic != null) {
      status.setTopic(topic);
    }
    if (view.refill() != null) {
      status.setRefill(
          RefillStatus.newBuilder()
              .setStep(view.refill().step())
              .setFromBroker(view.refill().fromBroker())
              .setNextIndex(view.refill().nextIndex())
              .setTargetIndex(view.refill().targetIndex())
              .setCopiedBytes(view.refill().copiedBytes()));
    }
    Replica running = view.running();
    if (running != null) {
      PartitionLog log = running.log();
      status
          .setRole(role(running.nodeState()))
          .setTerm(running.term())
          .setLeader(running.leader())
          .setFirstIndex(log.firstIndex())
          .setLastIndex(log.lastIndex())
          .setAppliedIndex(running.appliedIndex())
          .setLogStart(log.logStart())
          .setLogEnd(log.logEnd())
          .setBytes(log.sizeBytes())
          .setSegments(log.segmentCount())
          .setRecovery(recovery(log, view));
      if (!segmentsOf.isEmpty() && segmentsOf.equals(topic)) {
        addSegments(log, status);
      }
      Partition partition = partitions.byGroup(view.spec().name());
      if (partition != null) {
        status
            .setLogStart(partition.logStart())
            .setCommittedEnd(partition.committedEnd())
            .setReadableEnd(partition.readableEnd());
      }
    }
    return status.build();
  }

  private static void addSegments(PartitionLog log, ReplicaStatus.Builder status) {
    List<SegmentSummary> segments;
    try {
      segments = log.segments();
    } catch (IOException | LogDamagedException e) {
      // A damaged segment is shown by the replica's health; what is known of the others is above.
      LOG.warn("{}: its segments cannot be listed", log.directory(), e);
      return;
    }
    for (SegmentSummary segment : segments) {
      status.addSegmentList(
          SegmentStatus.newBuilder()
              .setBaseOffset(segment.baseOffset())
              .setNextOffset(segment.nextOffset())
              .setFirstIndex(segment.firstIndex())
              .setLastIndex(segment.lastIndex())
              .setBytes(segment.bytes())
              .setMaxTimestamp(segment.maxTimestamp())
              .setFirstLogTime(segment.firstLogTime())
              .setLastLogTime(segment.lastLogTime())
              .setClosed(segment.closed()));
    }
  }

  private static String recovery(PartitionLog log, Replicas.View view) {
    String report = log.recovery().oneLine();
    return view.refilledBecause().isEmpty()
        ? report
        : report + "; was refilled: " + view.refilledBecause();
  }

  private static ReplicaHealth health(StoredHealth health) {
    return switch (health) {
      case STORED_NO_LEAD -> ReplicaHealth.HEALTH_NO_LEAD;
      case STORED_NO_VOTE, STORED_SUSPECT -> ReplicaHealth.HEALTH_NO_VOTE;
      case STORED_REPLACED -> ReplicaHealth.HEALTH_REPLACED;
      default -> ReplicaHealth.HEALTH_OK;
    };
  }

  private static io.millrace.protocol.message.FsyncPolicy fsync(FsyncPolicy policy) {
    return switch (policy) {
      case ALWAYS -> io.millrace.protocol.message.FsyncPolicy.FSYNC_ALWAYS;
      case INTERVAL -> io.millrace.protocol.message.FsyncPolicy.FSYNC_INTERVAL;
      case OS -> io.millrace.protocol.message.FsyncPolicy.FSYNC_OS;
    };
  }

  private static ReplicaRole role(State state) {
    return switch (state) {
      case STATE_LEADER, STATE_TRANSFERRING -> ReplicaRole.ROLE_LEADER;
      case STATE_CANDIDATE -> ReplicaRole.ROLE_CANDIDATE;
      case STATE_FOLLOWER -> ReplicaRole.ROLE_FOLLOWER;
      case STATE_ERROR -> ReplicaRole.ROLE_ERROR;
      default -> ReplicaRole.ROLE_NONE;
    };
  }

  @Override
  public List<Gauge> gauges() {
    List<Gauge> gauges = new ArrayList<>(server.get().gauges());
    gauges.add(
        gauge(
            "append.inflight.bytes",
            environment.appendBudget().usedBytes(),
            environment.appendBudget().limitBytes()));
    gauges.add(
        gauge("fetch.response.bytes", fetchBudget.responseBytes(), fetchBudget.maxResponseBytes()));
    gauges.add(gauge("fetch.waiting", fetchBudget.waiting(), fetchBudget.maxWaiting()));
    gauges.add(gauge("scrub.bytes", replicas.scrubbedBytes(), 0));
    gauges.add(gauge("scrub.damaged.segments", replicas.scrubDamaged(), 0));
    gauges.add(gauge("raft.messages.in", peerRequests.parsedCount(), 0));
    Runtime jvm = Runtime.getRuntime();
    // Garbage included: what would be left after a collection is not known without one.
    gauges.add(gauge("jvm.heap.bytes", jvm.totalMemory() - jvm.freeMemory(), jvm.maxMemory()));
    environment.counters().snapshot().forEach((name, value) -> gauges.add(gauge(name, value, 0)));
    return gauges;
  }

  @Override
  public DiskStatus disk() {
    return DiskStatus.newBuilder()
        .setLevel(
            switch (diskSpace.level()) {
              case ROOMY -> DiskLevel.DISK_ROOMY;
              case LOW -> DiskLevel.DISK_LOW;
              case CRITICAL -> DiskLevel.DISK_CRITICAL;
            })
        .setFreeBytes(diskSpace.freeBytes())
        .setLowBytes(diskSpace.limits().lowBytes())
        .setCriticalBytes(diskSpace.limits().criticalBytes())
        .build();
  }

  @Override
  public List<Integer> unreachedPeers() {
    return unreachedPeers.get();
  }

  @Override
  public List<PeerFaults> networkFaults() {
    return NetworkFaultsHandler.toWire(faults.inForce());
  }

  private static Gauge gauge(String name, long used, long limit) {
    return Gauge.newBuilder().setName(name).setUsed(used).setLimit(limit).build();
  }
}
