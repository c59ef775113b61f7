package io.millrace.broker.raft;

import com.alipay.sofa.jraft.Status;
import com.alipay.sofa.jraft.conf.Configuration;
import com.alipay.sofa.jraft.core.NodeImpl;
import com.alipay.sofa.jraft.core.State;
import com.alipay.sofa.jraft.entity.PeerId;
import com.alipay.sofa.jraft.entity.Task;
import io.millrace.broker.log.FsyncPolicy;
import io.millrace.broker.log.LogDamagedException;
import io.millrace.broker.log.LogFailedException;
import io.millrace.broker.log.LogFormatException;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.log.RecoveryHint;
import io.millrace.broker.log.SyncMark;
import io.millrace.broker.raft.message.Checkpoint;
import io.millrace.broker.raft.message.StoredHealth;
import io.millrace.broker.raft.refill.ReplicaSource;
import io.millrace.broker.raft.storage.CheckpointSnapshotStorage;
import io.millrace.broker.raft.storage.CheckpointStore;
import io.millrace.broker.raft.storage.GroupConfigurations;
import io.millrace.broker.raft.storage.GroupState;
import io.millrace.broker.raft.storage.SegmentLogStorage;
import io.millrace.broker.raft.storage.VotesMetaStorage;
import io.millrace.broker.raft.transport.AppendEntriesGuard;
import io.millrace.broker.raft.transport.GroupNodeOptions;
import io.millrace.broker.raft.transport.InstallSnapshotGuard;
import io.millrace.broker.raft.transport.NodeMessages;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One running replica: the log, the JRaft node on top of it, and the state machine that it drives.
 *
 * <p>Owns: the open log and the node, from {@link #start} to {@link #stop}; a replica that ended is
 * never started again, a new object takes its place.
 *
 * <p>Threads: {@link #start} and {@link #stop} block and are called by {@link Replicas} only; all
 * else from any thread without blocking.
 *
 * <p>Errors: a failed read or write, a divergence, or a failure of the state machine ends the
 * replica; the listener is told the first cause, once.
 */
public final class Replica implements RaftGroup {

  private static final Logger LOG = LoggerFactory.getLogger(Replica.class);

  /** Why a replica must stop. */
  record Failure(String reason, Exception cause) {}

  private final RaftContext context;
  private final ReplicaSpec spec;
  private final PartitionLog log;
  private final Consumer<Failure> onFailure;
  private final AtomicBoolean failed = new AtomicBoolean();
  private final GroupConfigurations configurations = new GroupConfigurations();
  private final VotesMetaStorage votes;
  private final NodeImpl node;
  private final StateMachineFactory factory;
  private ReplicaStateMachine stateMachine;
  private StateMachineBridge bridge;
  private PrefixRelease release;
  private volatile int leader;
  private volatile long leadsInTerm;

  private Replica(
      RaftContext context,
      ReplicaSpec spec,
      PartitionLog log,
      StateMachineFactory factory,
      Consumer<Failure> onFailure) {
    this.context = context;
    this.spec = spec;
    this.log = log;
    this.factory = factory;
    this.onFailure = onFailure;
    this.votes = new VotesMetaStorage(context.votes(), spec.groupId());
    this.node = new NodeImpl(spec.groupId(), spec.self());
  }

  /**
   * Recovers the log, restores the checkpoint and joins the group.
   *
   * @param failedAbove the last life's log failed in this process: nothing above this mark of its
   *     may be kept; null = it did not. The log keeps a note of its own for the next process, but
   *     on a failing disk that note can be missing
   * @param tailMayBeLost the machine went down, and what the last life of this replica wrote and
   *     did not sync may be gone
   * @throws ReplicaNotStartedException with the reason; a damaged replica is marked NO_VOTE durably
   *     before this throws
   */
  static Replica start(
      RaftContext context,
      ReplicaSpec spec,
      StateMachineFactory factory,
      SyncMark failedAbove,
      boolean tailMayBeLost,
      Consumer<Failure> onFailure)
      throws ReplicaNotStartedException {
    GroupState state = context.votes().state(spec.groupId());
    if (state.health() != StoredHealth.STORED_OK) {
      throw new ReplicaNotStartedException(state.reason(), false, null);
    }
    boolean startedBefore = context.votes().knows(spec.groupId());
    if (startedBefore && tailMayBeLost && spec.logConfig().fsync() != FsyncPolicy.ALWAYS) {
      throw suspect(context, spec, "the machine went down before its log was on disk");
    }
    CheckpointStore checkpoints;
    PartitionLog log;
    ReplicaLogListener listener = new ReplicaLogListener(context.votes(), spec.groupId(), factory);
    try {
      if (startedBefore && !hasSegments(context, spec)) {
        throw damaged(context, spec, "no segment is left in " + spec.directory(), null);
      }
      checkpoints = CheckpointStore.open(context.disk(), spec.directory());
      long checkpointIndex =
          checkpoints.checkpoints().isEmpty() ? 0 : checkpoints.checkpoints().get(0).getIndex();
      log =
          PartitionLog.open(
              context.disk(),
              spec.directory(),
              spec.identity(),
              spec.logConfig(),
              new RecoveryHint(
                  checkpointIndex, state.mark(), context.bootChanged() || failedAbove != null),
              listener);
    } catch (LogDamagedException e) {
      throw damaged(context, spec, "damaged log: " + e.getMessage(), e);
    } catch (LogFormatException e) {
      throw new ReplicaNotStartedException(e.getMessage(), false, e);
    } catch (IOException e) {
      throw new ReplicaNotStartedException(
          "cannot open " + spec.directory() + ": " + e.getMessage(), true, e);
    }
    boolean started = false;
    try {
      if (!startedBefore) {
        // From here on this replica may vote, so an empty directory means lost data.
        firstStart(context, spec);
      }
      refuseIfCutBelowWhatWasAcknowledged(context, spec, log);
      if (failedAbove != null) {
        cutBack(spec, log, failedAbove.index());
      }
      Checkpoint checkpoint = usable(context, spec, checkpoints, log);
      Replica replica = new Replica(context, spec, log, factory, onFailure);
      replica.startNode(checkpoints, checkpoint);
      started = true;
      return replica;
    } finally {
      if (!started) {
        closeQuietly(log);
      }
    }
  }

  private static boolean hasSegments(RaftContext context, ReplicaSpec spec) throws IOException {
    // A directory that is gone while the broker runs is lost like one that is gone at its start.
    return context.disk().exists(spec.directory())
        && context.disk().list(spec.directory()).stream()
            .anyMatch(path -> path.getFileName().toString().endsWith(".log"));
  }

  private static void firstStart(RaftContext context, ReplicaSpec spec)
      throws ReplicaNotStartedException {
    try {
      context.votes().saveVote(spec.groupId(), 0, "");
    } catch (IOException e) {
      throw new ReplicaNotStartedException(e.getMessage(), true, e);
    }
  }

  /**
   * With always, nothing above the sync mark was acknowledged; with the other policies it may have
   * been, so a replica that lost it must not help to elect a leader without it.
   */
  private static void refuseIfCutBelowWhatWasAcknowledged(
      RaftContext context, ReplicaSpec spec, PartitionLog log) throws ReplicaNotStartedException {
    if (log.recovery().cutToMark() && spec.logConfig().fsync() != FsyncPolicy.ALWAYS) {
      throw suspect(
          context, spec, "an fsync failed, and the log was cut back to " + log.lastIndex());
    }
  }

  private static void cutBack(ReplicaSpec spec, PartitionLog log, long keep)
      throws ReplicaNotStartedException {
    if (log.lastIndex() <= keep) {
      return;
    }
    LOG.warn(
        "{}: cutting the log from {} back to {}, the last entry known to be on disk",
        spec.name(),
        log.lastIndex(),
        keep);
    try {
      log.truncateSuffix(keep);
    } catch (IOException e) {
      throw new ReplicaNotStartedException(
          "the log cannot be cut back to entry " + keep + ": " + e.getMessage(), true, e);
    }
  }

  private static Checkpoint usable(
      RaftContext context, ReplicaSpec spec, CheckpointStore checkpoints, PartitionLog log)
      throws ReplicaNotStartedException {
    checkpoints
        .damaged()
        .forEach(d -> LOG.warn("{}: {} is not used: {}", spec.name(), d.file(), d.reason()));
    if (checkpoints.checkpoints().isEmpty()) {
      if (log.firstIndex() > 1) {
        throw damaged(
            context,
            spec,
            "no checkpoint can be read and the log begins at index " + log.firstIndex(),
            null);
      }
      return null;
    }
    Checkpoint newest = checkpoints.checkpoints().get(0);
    // Its own entry may have left the log as the last of those that did.
    boolean inFrontOfLog =
        newest.getIndex() == log.firstIndex() - 1
            && (log.lastIndex() < log.firstIndex()
                || log.termAt(log.firstIndex()) >= newest.getTerm());
    if (!inFrontOfLog && log.termAt(newest.getIndex()) != newest.getTerm()) {
      // The log was on disk up to there when the checkpoint was written.
      throw damaged(
          context,
          spec,
          "checkpoint at entry "
              + newest.getIndex()
              + " of term "
              + newest.getTerm()
              + " is not in the log, which ends at "
              + log.lastIndex(),
          null);
    }
    return newest;
  }

  private static ReplicaNotStartedException damaged(
      RaftContext context, ReplicaSpec spec, String reason, Exception cause) {
    return mustNotVote(context, spec, StoredHealth.STORED_NO_VOTE, reason, cause);
  }

  /** The log is whole, but its tail may be shorter than what was acknowledged. */
  private static ReplicaNotStartedException suspect(
      RaftContext context, ReplicaSpec spec, String reason) {
    return mustNotVote(context, spec, StoredHealth.STORED_SUSPECT, reason, null);
  }

  private static ReplicaNotStartedException mustNotVote(
      RaftContext context, ReplicaSpec spec, StoredHealth health, String reason, Exception cause) {
    LOG.error("{}: {}; the replica does not vote until it is refilled", spec.name(), reason);
    try {
      context.votes().saveHealth(spec.groupId(), health, reason);
    } catch (IOException e) {
      // Nothing is lost: the next start finds the same again.
      return new ReplicaNotStartedException(
          reason + "; its health cannot be stored: " + e.getMessage(), true, e);
    }
    return new ReplicaNotStartedException(reason, false, cause);
  }

  private void startNode(CheckpointStore checkpoints, Checkpoint checkpoint)
      throws ReplicaNotStartedException {
    JRaftRuntime.ensureStarted();
    JRaftRuntime.registerGroup(spec.groupId());
    JRaftRuntime.registerEndpoint(spec.self().getEndpoint());
    stateMachine = factory.create(this, log);
    Checkpointer checkpointer =
        new Checkpointer(
            spec.name(),
            log,
            checkpoints,
            configurations,
            context.settings(),
            checkpoint == null ? 0 : checkpoint.getIndex(),
            context.diskSpace(),
            () -> bridge.image(),
            System::currentTimeMillis,
            this::storageFailed);
    bridge = new StateMachineBridge(this, stateMachine, checkpointer);
    SegmentLogStorage storage =
        new SegmentLogStorage(
            spec.name(),
            log,
            checkpoint,
            configurations,
            stateMachine::logWritten,
            this::storageFailed);
    CheckpointSnapshotStorage snapshots = new CheckpointSnapshotStorage(checkpoint);
    release =
        new PrefixRelease(
            spec.name(), log, storage, snapshots, checkpoints, checkpointer, configurations);
    bridge.releaseWith(release);
    try {
      storage.load();
      if (checkpoint != null) {
        bridge.restore(checkpoint);
      }
    } catch (IOException | RuntimeException e) {
      factory.ended(stateMachine);
      throw e instanceof LogDamagedException
          ? damaged(context, spec, "damaged log: " + e.getMessage(), e)
          : new ReplicaNotStartedException("cannot be restored: " + e.getMessage(), true, e);
    }
    if (!node.init(options(storage, snapshots))) {
      // Its threads may stay: a node that did not start cannot be joined.
      node.shutdown();
      factory.ended(stateMachine);
      throw new ReplicaNotStartedException(
          "JRaft refused to start; MILLRACE_RAFT_LOG_LEVEL=INFO shows its log lines", true, null);
    }
    AppendEntriesGuard guard = new AppendEntriesGuard(new GuardView(), this::diverged);
    context
        .requests()
        .add(
            spec.groupId(),
            new NodeMessages(
                spec.self(), node, guard, new SnapshotView(), context.diskSpace()::level));
    LOG.info(
        "{}: replica {} started at entry {}, {}",
        spec.name(),
        spec.self(),
        log.lastIndex(),
        log.recovery().oneLine());
  }

  private GroupNodeOptions options(SegmentLogStorage storage, CheckpointSnapshotStorage snapshots) {
    GroupNodeOptions options =
        new GroupNodeOptions(spec.groupId(), context.network(), this::members);
    NodeOptionsFactory.apply(options, context.settings());
    options.setServiceFactory(new ReplicaStorages(storage, snapshots, votes));
    options.setFsm(bridge);
    options.setInitialConf(new Configuration(spec.members()));
    // JRaft only checks that these are not blank: the storages are handed over as objects.
    options.setLogUri("segments");
    options.setRaftMetaUri("votes");
    options.setSnapshotUri("checkpoint");
    return options;
  }

  private Collection<PeerId> members() {
    Collection<PeerId> newest = configurations.newestPeers();
    return newest.isEmpty() ? spec.members() : newest;
  }

  private final class GuardView implements AppendEntriesGuard.Applied {
    @Override
    public long appliedIndex() {
      return node.getLastAppliedLogIndex();
    }

    @Override
    public long termAt(long index) {
      return log.termAt(index);
    }

    @Override
    public long currentTerm() {
      return votes.getTerm();
    }
  }

  private final class SnapshotView implements InstallSnapshotGuard.Log {
    @Override
    public boolean has(long index, long term) {
      // Only what is committed ever leaves the begin of a log.
      return index < log.firstIndex() || log.termAt(index) == term;
    }

    @Override
    public long currentTerm() {
      return votes.getTerm();
    }

    @Override
    public void tooFarBehind(String reason) {
      // Whole, but what it lacks the leader no longer sends entry by entry.
      fail(new Failure(reason, null), StoredHealth.STORED_SUSPECT);
    }
  }

  // ------------------------------------------------------------------------------------- failure

  @Override
  public void damaged(LogDamagedException damage) {
    storageFailed(damage);
  }

  void storageFailed(Exception cause) {
    String reason =
        cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
    if (cause instanceof LogDamagedException) {
      fail(new Failure("damaged log: " + reason, cause), StoredHealth.STORED_NO_VOTE);
    } else {
      fail(new Failure(reason, cause), StoredHealth.STORED_OK);
    }
  }

  private void diverged(String reason) {
    fail(new Failure(reason, null), StoredHealth.STORED_NO_VOTE);
  }

  /** Called for every error of the node; storage failures have been reported before it. */
  void nodeFailed(String reason) {
    fail(new Failure(reason, null), StoredHealth.STORED_OK);
  }

  private void fail(Failure failure, StoredHealth health) {
    if (!failed.compareAndSet(false, true)) {
      return;
    }
    LOG.error("{}: replica stops: {}", spec.name(), failure.reason(), failure.cause());
    if (health != StoredHealth.STORED_OK) {
      try {
        context.votes().saveHealth(spec.groupId(), health, failure.reason());
      } catch (IOException e) {
        LOG.error("{}: its health cannot be stored", spec.name(), e);
      }
    }
    stateMachine.failed(failure.reason());
    onFailure.accept(failure);
  }

  // ------------------------------------------------------------------------------------ retention

  /**
   * Lets go of what the log holds below an offset, as far as that is possible now. Blocks on the
   * disk; one caller at a time.
   *
   * @param again told, on any thread, when another call can do more
   * @return milliseconds until a file is due to be deleted, {@code Long.MAX_VALUE} if none waits
   */
  public long releaseBelow(long logStart, DeleteDelay delay, Runnable again) throws IOException {
    try {
      return release.pass(node, logStart, jraftAppliedIndex(), delay, again);
    } catch (LogFailedException | LogDamagedException e) {
      storageFailed(e);
      throw e;
    }
  }

  private long jraftAppliedIndex() {
    try {
      return node.getLastAppliedLogIndex();
    } catch (IllegalStateException e) {
      return 0; // JRaft's way to say that the node ends.
    }
  }

  /** Ends the node, which writes a checkpoint if it is sound, and closes the log. Blocks. */
  void stop() {
    context.requests().remove(spec.groupId());
    node.shutdown();
    joinNode();
    release.stop();
    closeQuietly(log);
    factory.ended(stateMachine);
  }

  private void joinNode() {
    try {
      node.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void closeQuietly(PartitionLog log) {
    try {
      log.close();
    } catch (IOException e) {
      LOG.warn("log not closed cleanly: {}", e.getMessage());
    }
  }

  // ------------------------------------------------------------------------------------ RaftGroup

  @Override
  public String name() {
    return spec.name();
  }

  PeerId self() {
    return spec.self();
  }

  void leaderIs(int brokerId) {
    leader = brokerId;
  }

  /** This replica leads in that term and has applied an entry of it; 0 = it does not. */
  void leadsIn(long newTerm) {
    leadsInTerm = newTerm;
  }

  /** What other brokers may copy. Any thread. */
  ReplicaSource.Source asSource() {
    // Not one that was replaced without knowing it yet.
    long leads = leadsInTerm != 0 && hasQuorumContact() ? leadsInTerm : 0;
    return new ReplicaSource.Source(
        log,
        true,
        true,
        votes.getTerm(),
        leads,
        leads == 0 ? log.lastIndex() : node.getLastLogIndex(),
        this::storageFailed);
  }

  @Override
  public boolean isLeader() {
    return node.isLeader(false);
  }

  @Override
  public long term() {
    return votes.getTerm();
  }

  @Override
  public int leader() {
    return leader;
  }

  @Override
  public boolean hasQuorumContact() {
    try {
      // JRaft's lease is as long as its election timeout allows; hurried elections do not wait for
      // it, but for the silence that the failure detectors of the others count.
      long inContact =
          node.listAlivePeers().stream()
              .mapToInt(PeerIds::brokerOf)
              .filter(id -> id == brokerId() || context.network().hasContact(id))
              .count();
      return inContact > node.listPeers().size() / 2;
    } catch (IllegalStateException e) {
      return false; // JRaft's way to say that this replica does not lead.
    }
  }

  @Override
  public void propose(ByteBuffer batch, long expectedTerm, ProposalCallback callback) {
    Task task = new Task(batch, new StateMachineBridge.ProposalClosure(callback));
    task.setExpectedTerm(expectedTerm);
    try {
      node.apply(task);
    } catch (IllegalStateException e) {
      // The node is shutting down and has told the callback.
      LOG.debug("{}: {}", name(), e.getMessage());
    }
  }

  @Override
  public long appliedIndex() {
    return bridge.appliedIndex();
  }

  @Override
  public boolean transferLeadership(int toBrokerId) {
    for (PeerId peer : members()) {
      if (PeerIds.brokerOf(peer) == toBrokerId) {
        Status status = node.transferLeadershipTo(peer);
        if (!status.isOk()) {
          LOG.info("{}: no transfer to broker {}: {}", name(), toBrokerId, status.getErrorMsg());
        }
        return status.isOk();
      }
    }
    return false;
  }

  /**
   * Shortens the election timeout until {@link #unhurryElection}. Takes the node's lock.
   *
   * @param timeoutMillis silence of the leader after which this replica grants a pre-vote
   * @param firstTryMillis when it asks for one itself, and again after each such time
   */
  void hurryElection(int timeoutMillis, int firstTryMillis) {
    node.getRaftOptions().setMaxElectionDelayMs(NodeOptionsFactory.HURRIED_ELECTION_DELAY_MILLIS);
    node.resetElectionTimeoutMs(firstTryMillis);
    // JRaft has one value for both. Whoever reads it holds the lock, which the last line releases.
    node.getOptions().setElectionTimeoutMs(timeoutMillis);
    node.isLeader(true);
  }

  void unhurryElection() {
    node.getRaftOptions().setMaxElectionDelayMs(NodeOptionsFactory.MAX_ELECTION_DELAY_MILLIS);
    node.resetElectionTimeoutMs(context.settings().electionTimeoutMillis());
  }

  // --------------------------------------------------------------------------------------- status

  /** JRaft reads both anew for each request. */
  void limitCatchUp(CatchUpMemory memory) {
    node.getRaftOptions().setMaxReplicatorInflightMsgs(memory.messages());
    node.getRaftOptions().setMaxBodySize(memory.bodyBytes());
  }

  /** Knows no leader and is none. */
  boolean isLeaderless() {
    return leader == 0 && !isLeader();
  }

  int brokerId() {
    return PeerIds.brokerOf(self());
  }

  public ReplicaSpec spec() {
    return spec;
  }

  /** The log time that a TIME batch carries; any thread. */
  long logTimeOf(ByteBuffer timeBatch) {
    return factory.logTimeOf(timeBatch);
  }

  public PartitionLog log() {
    return log;
  }

  public ReplicaStateMachine stateMachine() {
    return stateMachine;
  }

  /** Broker ids of the group's voters. */
  public List<Integer> memberBrokers() {
    return members().stream().map(PeerIds::brokerOf).sorted().toList();
  }

  public State nodeState() {
    return node.getNodeState();
  }
}
