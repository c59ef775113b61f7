package io.millrace.broker;

import com.alipay.sofa.jraft.entity.PeerId;
import io.millrace.broker.cluster.LeaderDirectory;
import io.millrace.broker.cluster.LocalReplicas;
import io.millrace.broker.cluster.MetadataService;
import io.millrace.broker.cluster.ReplicaId;
import io.millrace.broker.cluster.TopicEntry;
import io.millrace.broker.log.FsyncPolicy;
import io.millrace.broker.log.LogConfig;
import io.millrace.broker.log.LogIdentity;
import io.millrace.broker.partition.Partition;
import io.millrace.broker.partition.PartitionEnvironment;
import io.millrace.broker.partition.PartitionId;
import io.millrace.broker.partition.PartitionLookup;
import io.millrace.broker.partition.PartitionSettings;
import io.millrace.broker.raft.PeerIds;
import io.millrace.broker.raft.ReplicaSpec;
import io.millrace.broker.raft.Replicas;
import io.millrace.broker.raft.message.StoredHealth;
import io.millrace.broker.raft.storage.VotesJournal;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.LeaderHint;
import io.millrace.protocol.message.TopicSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/**
 * The partitions of this broker: their directories, their replicas, and the running {@link
 * Partition} objects by topic id.
 *
 * <p>Owns: which partition object serves requests. A replica that starts again gets a new one.
 *
 * <p>Threads: the methods of {@link LocalReplicas} on the reconciler's thread, {@link #find} on
 * any.
 */
final class LocalPartitions implements LocalReplicas, PartitionLookup {

  /** New directories that wait for the disk together; the file system joins their syncs. */
  private static final int CREATE_THREADS = 8;

  private final int brokerId;
  private final String clusterId;
  private final ReplicaDirectories directories;
  private final Replicas replicas;
  private final VotesJournal votes;
  private final PartitionEnvironment environment;
  private final LeaderDirectory leaders;
  private final MetadataService metadata;
  private final Map<LeaderDirectory.Key, Partition> serving = new ConcurrentHashMap<>();
  private final Map<String, ReplicaId> started = new ConcurrentHashMap<>();
  private final Map<String, String> topicNames = new ConcurrentHashMap<>();
  private volatile Consumer<String> changed = group -> {};

  LocalPartitions(
      int brokerId,
      String clusterId,
      ReplicaDirectories directories,
      Replicas replicas,
      VotesJournal votes,
      PartitionEnvironment environment,
      LeaderDirectory leaders,
      MetadataService metadata) {
    this.brokerId = brokerId;
    this.clusterId = clusterId;
    this.directories = directories;
    this.replicas = replicas;
    this.votes = votes;
    this.environment = environment;
    this.leaders = leaders;
    this.metadata = metadata;
  }

  @Override
  public Partition find(UUID topicId, int partition) {
    return serving.get(new LeaderDirectory.Key(topicId, partition));
  }

  /** A client that asks in the wrong place is told the right one, if it is known. */
  @Override
  public ErrorInfo explainMissing(UUID topicId, int partition) {
    TopicEntry topic = metadata.state().topic(topicId);
    if (topic == null) {
      return ErrorCode.UNKNOWN_TOPIC.toInfo(
          "topic id " + topicId + " is not known here: it was deleted, or was never created");
    }
    if (topic.partition(partition) == null) {
      return ErrorCode.UNKNOWN_PARTITION.toInfo(
          "topic "
              + topic.name()
              + " has partitions 0 to "
              + (topic.partitions().size() - 1)
              + ", not "
              + partition);
    }
    LeaderDirectory.Leader leader = leaders.leader(topicId, partition);
    if (topic.partition(partition).onBroker(brokerId) != null && leader.broker() == 0) {
      return ErrorCode.NOT_READY.toInfo(
          topic.name()
              + "-"
              + partition
              + " has no leader that broker "
              + brokerId
              + " knows of, and is not open here; `cluster status` says why");
    }
    return ErrorCode.NOT_LEADER
        .toInfo(topic.name() + "-" + partition + " is not led by broker " + brokerId)
        .toBuilder()
        .setLeader(LeaderHint.newBuilder().setBrokerId(leader.broker()).setTerm(leader.term()))
        .build();
  }

  /** Topic name of a group, or null if it is no partition's. */
  String topicOf(String groupName) {
    return topicNames.get(groupName);
  }

  Collection<Partition> all() {
    return List.copyOf(serving.values());
  }

  /** The partition of a replica's group, or null while it does not serve. */
  Partition byGroup(String groupName) {
    ReplicaId id = idOf(groupName);
    return id == null ? null : find(id.topicId(), id.partition());
  }

  // ------------------------------------------------------------------------------- LocalReplicas

  @Override
  public Set<ReplicaId> running() {
    return new TreeSet<>(started.values());
  }

  @Override
  public Set<ReplicaId> directories() {
    try {
      return directories.all();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public DirectoryState directory(ReplicaId id) {
    try {
      return directories.state(id);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void createDirectory(ReplicaId id) throws IOException {
    directories.create(id);
  }

  @Override
  public Map<ReplicaId, Exception> createDirectories(Collection<ReplicaId> ids) {
    Map<ReplicaId, Exception> failures = new ConcurrentHashMap<>();
    ExecutorService threads = Executors.newFixedThreadPool(Math.min(ids.size(), CREATE_THREADS));
    try {
      List<CompletableFuture<Void>> all = new ArrayList<>();
      for (ReplicaId id : ids) {
        all.add(CompletableFuture.runAsync(() -> createOne(id, failures), threads));
      }
      all.forEach(CompletableFuture::join);
    } finally {
      threads.shutdown();
    }
    return failures;
  }

  private void createOne(ReplicaId id, Map<ReplicaId, Exception> failures) {
    try {
      directories.create(id);
    } catch (IOException | RuntimeException e) {
      failures.put(id, e);
    }
  }

  @Override
  public void start(Start replica) {
    ReplicaId id = replica.id();
    started.put(id.groupName(), id);
    topicNames.put(id.groupName(), replica.topic());
    replicas.start(
        specOf(replica),
        new PartitionMachines(
            new PartitionId(id.topicId(), id.partition(), replica.topic()),
            PartitionSettings.of(
                replica.settings().getMaxRecordBytes(), replica.settings().getFsync()),
            environment,
            leaders,
            serving,
            () -> changed.accept(id.groupName())));
  }

  /** Told the group, on a thread of Raft, whose log start moved or who closed a segment. */
  void onChange(Consumer<String> listener) {
    changed = listener;
  }

  /** The replica of a group, or null if this broker has started none. */
  ReplicaId idOf(String groupName) {
    return started.get(groupName);
  }

  /** Every replica that this broker has started, running or not, by its group. */
  Map<String, ReplicaId> startedByGroup() {
    return Map.copyOf(started);
  }

  private ReplicaSpec specOf(Start replica) {
    ReplicaId id = replica.id();
    List<PeerId> members =
        replica.peers().stream().map(peer -> PeerIds.of(peer.broker(), peer.idx())).toList();
    return new ReplicaSpec(
        id.groupName(),
        id.groupName(),
        directories.of(id),
        new LogIdentity(clusterId, id.topicId(), id.partition()),
        logConfig(replica.settings()),
        PeerIds.of(brokerId, id.idx()),
        members);
  }

  static LogConfig logConfig(TopicSettings settings) {
    FsyncPolicy policy =
        switch (settings.getFsync()) {
          case FSYNC_INTERVAL -> FsyncPolicy.INTERVAL;
          case FSYNC_OS -> FsyncPolicy.OS;
          default -> FsyncPolicy.ALWAYS;
        };
    return new LogConfig(
        policy,
        settings.getFsyncIntervalMillis(),
        settings.getSegmentBytes(),
        settings.getSegmentMillis());
  }

  @Override
  public void stopAndSetAside(ReplicaId id) throws IOException {
    Partition partition = find(id.topicId(), id.partition());
    if (partition != null) {
      partition.removed();
    }
    replicas.stop(id.groupName()).join();
    directories.setAside(id);
    // The group's name carries the topic's id, so it never comes back; only now may its votes go.
    votes.remove(id.groupName());
    started.remove(id.groupName());
    topicNames.remove(id.groupName());
  }

  @Override
  public boolean recreateLost(ReplicaId id) throws IOException {
    if (!votes.knows(id.groupName())) {
      return false;
    }
    votes.saveHealth(
        id.groupName(), StoredHealth.STORED_NO_VOTE, "its directory was missing or empty");
    directories.create(id);
    return true;
  }

  @Override
  public void deleteSetAside(ReplicaId id) throws IOException {
    directories.deleteAside(id);
  }

  @Override
  public void markNotStarted(ReplicaId id, String topic, String reason) {
    topicNames.put(id.groupName(), topic);
    replicas.showNotStarted(
        new ReplicaSpec(
            id.groupName(),
            id.groupName(),
            directories.of(id),
            new LogIdentity(clusterId, id.topicId(), id.partition()),
            new LogConfig(FsyncPolicy.ALWAYS, 0, LogConfig.DEFAULT_SEGMENT_BYTES),
            PeerIds.of(brokerId, id.idx()),
            List.of(PeerIds.of(brokerId, id.idx()))),
        reason);
  }
}
