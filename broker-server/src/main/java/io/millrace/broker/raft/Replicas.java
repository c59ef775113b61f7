package io.millrace.broker.raft;

import io.millrace.broker.log.FsyncPolicy;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.log.SyncMark;
import io.millrace.broker.raft.message.StoredHealth;
import io.millrace.broker.raft.refill.RefillProgress;
import io.millrace.broker.raft.refill.Refills;
import io.millrace.broker.raft.refill.ReplicaSource;
import io.millrace.broker.raft.storage.GroupState;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The replicas of one broker: starts them, keeps them running, and stops them.
 *
 * <p>A replica that ends by itself is started again after a pause that doubles up to half a minute,
 * unless its log may lack entries that it acknowledged: then it stays down until {@link Refills}
 * has completed the log from another broker.
 *
 * <p>Owns: a few threads for starting and stopping (both block), and the timer that fdatasyncs logs
 * of policy {@code interval} and stores sync marks.
 *
 * <p>Threads: any.
 */
public final class Replicas implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Replicas.class);

  /** Starting and stopping mostly waits for the disk; syncs that wait together are joined. */
  private static final int THREADS = 8;

  private static final long FIRST_PAUSE_MILLIS = 500;
  private static final long MAX_PAUSE_MILLIS = 30_000;
  private static final long MARK_INTERVAL_MILLIS = 1000;
  private static final long SYNC_TICK_MILLIS = 10;

  private enum SlotState {
    STARTING,
    RUNNING,
    /** Ended by itself; will be started again. */
    WAITING,
    /** Must not vote before its log is complete; will be started again then. */
    REFILLED,
    /** Will not be started again by itself. */
    NOT_STARTED,
    STOPPED
  }

  /** One group on this broker over all its starts. Guarded by itself. */
  private final class Slot {
    final ReplicaSpec spec;
    final StateMachineFactory factory;
    volatile SlotState state = SlotState.STARTING;
    volatile String reason = "starting";
    long pauseMillis = FIRST_PAUSE_MILLIS;
    SyncMark failedAbove;
    volatile boolean unsynced;
    volatile Replica replica;
    volatile SyncMark storedMark;
    long lastSyncMillis;

    /** Whether it was judged what the last power loss did to it; once per life of this broker. */
    boolean powerLossJudged;

    /** Why it was refilled since this broker started; empty if it was not. */
    volatile String refilledBecause = "";

    Slot(ReplicaSpec spec, StateMachineFactory factory) {
      this.spec = spec;
      this.factory = factory;
    }
  }

  private final RaftContext context;
  private final Map<String, Slot> slots = new ConcurrentHashMap<>();
  private final ScheduledExecutorService lifecycle;
  private final ScheduledExecutorService syncer;
  private final FastElections fastElections;
  private final Refills refills;
  private final Scrubber scrubberOrNull;
  private final AtomicBoolean intervalSyncs = new AtomicBoolean();
  private CatchUpMemory catchUpMemory; // of the syncer
  private volatile boolean closed;

  public Replicas(RaftContext context) {
    this.context = context;
    this.lifecycle = executor("replicas-" + context.brokerId() + "-", THREADS);
    this.fastElections =
        new FastElections(this::allRunning, executor("elections-" + context.brokerId() + "-", 1));
    this.refills =
        new Refills(
            context.brokerId(),
            context.disk(),
            context.votes(),
            context.network(),
            context.diskSpace(),
            context.settings().refillBytesPerSecond(),
            TimeUnit.MILLISECONDS.toNanos(2L * context.settings().electionTimeoutMillis()));
    this.scrubberOrNull =
        context.settings().scrubBytesPerSecond() == 0
            ? null
            : new Scrubber(
                context.brokerId(), context.disk(), this::allRunning, context.settings());
    this.syncer = executor("log-sync-" + context.brokerId() + "-", 1);
    syncer.scheduleWithFixedDelay(
        this::shareCatchUpMemory,
        MARK_INTERVAL_MILLIS,
        MARK_INTERVAL_MILLIS,
        TimeUnit.MILLISECONDS);
    syncer.scheduleWithFixedDelay(
        this::storeMarks, MARK_INTERVAL_MILLIS, MARK_INTERVAL_MILLIS, TimeUnit.MILLISECONDS);
  }

  private static ScheduledExecutorService executor(String prefix, int threads) {
    AtomicInteger count = new AtomicInteger();
    ScheduledThreadPoolExecutor executor =
        new ScheduledThreadPoolExecutor(
            threads,
            task -> {
              Thread thread = new Thread(task, prefix + count.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            });
    executor.setRemoveOnCancelPolicy(true);
    executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    return executor;
  }

  // ----------------------------------------------------------------------------- starting,
  // stopping

  /**
   * Lets a replica run from now on; returns at once. Idempotent for a group that is here already.
   */
  public void start(ReplicaSpec spec, StateMachineFactory factory) {
    if (closed) {
      return;
    }
    Slot slot = new Slot(spec, factory);
    // One that was only shown as not started, and may start now, gives way.
    Slot kept = slots.merge(spec.name(), slot, (old, fresh) -> old.factory == null ? fresh : old);
    if (kept == slot) {
      lifecycle.execute(() -> startNow(slot));
    }
  }

  /** Shows a replica that must not run, with the reason. */
  public void showNotStarted(ReplicaSpec spec, String reason) {
    Slot slot = new Slot(spec, null);
    slot.state = SlotState.NOT_STARTED;
    slot.reason = reason;
    Slot previous = slots.putIfAbsent(spec.name(), slot);
    if (previous != null && previous.factory == null) {
      synchronized (previous) {
        previous.reason = reason;
      }
    }
  }

  /** Stops a replica and forgets it; done when its node has ended and its log is closed. */
  public CompletableFuture<Void> stop(String name) {
    Slot slot = slots.get(name);
    if (slot == null) {
      return CompletableFuture.completedFuture(null);
    }
    return CompletableFuture.runAsync(
        () -> {
          stopNow(slot);
          slots.remove(name, slot);
        },
        lifecycle);
  }

  private void startNow(Slot slot) {
    synchronized (slot) {
      if (slot.state == SlotState.STOPPED || slot.replica != null) {
        return;
      }
      slot.state = SlotState.STARTING;
      try {
        slot.replica =
            Replica.start(
                context,
                slot.spec,
                slot.factory,
                slot.failedAbove,
                context.bootChanged() && !slot.powerLossJudged,
                f -> replicaFailed(slot, f));
        slot.powerLossJudged = true;
        slot.state = SlotState.RUNNING;
        if (slot.spec.logConfig().fsync() == FsyncPolicy.INTERVAL) {
          startIntervalSyncs();
        }
        fastElections.started(slot.replica);
        slot.reason = "";
        slot.failedAbove = null;
        slot.unsynced = false;
        slot.storedMark = context.votes().state(slot.spec.groupId()).mark();
      } catch (ReplicaNotStartedException e) {
        slot.reason = e.getMessage();
        LOG.error("{}: not started: {}", slot.spec.name(), e.getMessage(), e.getCause());
        if (e.retryable()) {
          startLater(slot);
        } else {
          refillOrGiveUp(slot);
        }
      } catch (RuntimeException e) {
        slot.reason = String.valueOf(e);
        LOG.error("{}: not started", slot.spec.name(), e);
        startLater(slot);
      }
    }
  }

  /**
   * A replica that must not vote gets its log from another broker; nothing else helps any other.
   */
  private void refillOrGiveUp(Slot slot) {
    String group = slot.spec.groupId();
    if (closed || context.votes().state(group).health() == StoredHealth.STORED_OK) {
      slot.state = SlotState.NOT_STARTED;
      return;
    }
    slot.state = SlotState.REFILLED;
    slot.powerLossJudged = true;
    String reason = context.votes().state(group).reason();
    refills.begin(
        slot.spec,
        new ReplicaLogListener(context.votes(), group, slot.factory),
        slot.failedAbove,
        () -> {
          if (!closed) {
            lifecycle.execute(() -> startRefilled(slot, reason));
          }
        });
  }

  private void startRefilled(Slot slot, String reason) {
    synchronized (slot) {
      slot.refilledBecause = reason;
      slot.failedAbove = null;
      slot.pauseMillis = FIRST_PAUSE_MILLIS;
    }
    startNow(slot);
  }

  private void startLater(Slot slot) {
    slot.state = SlotState.WAITING;
    long pause = slot.pauseMillis;
    slot.pauseMillis = Math.min(MAX_PAUSE_MILLIS, pause * 2);
    if (!closed) {
      lifecycle.schedule(() -> startNow(slot), pause, TimeUnit.MILLISECONDS);
    }
  }

  /** Called by the replica on any of its threads. */
  private void replicaFailed(Slot slot, Replica.Failure failure) {
    if (closed) {
      return;
    }
    lifecycle.execute(
        () -> {
          synchronized (slot) {
            if (slot.state == SlotState.STOPPED || slot.replica == null) {
              return;
            }
            PartitionLog log = slot.replica.log();
            slot.replica.stop();
            slot.replica = null;
            slot.unsynced = log.failed();
            slot.reason = failure.reason();
            afterFailure(slot, log);
          }
        });
  }

  private void afterFailure(Slot slot, PartitionLog log) {
    String group = slot.spec.groupId();
    boolean always = slot.spec.logConfig().fsync() == FsyncPolicy.ALWAYS;
    // A failed append, as on a full disk, under the other policies: what was acknowledged was
    // written before and is as good as it was. Cutting back to the mark would lose it.
    boolean inDoubt = always ? log.failed() : log.writtenInDoubt();
    if (context.votes().state(group).health() == StoredHealth.STORED_OK && inDoubt) {
      // What a failed fsync covered is unknown and reading it back proves nothing. With "always"
      // nothing above the sync mark was acknowledged, so cutting back to it is safe; with the other
      // policies the cut part may have been.
      // From memory: what is stored of the mark can be older, and cutting there would lose more.
      slot.failedAbove = log.syncMark();
      if (always) {
        saveMark(slot, log.syncMark());
      } else {
        saveSuspect(group, slot.reason);
      }
    }
    if (context.votes().state(group).health() == StoredHealth.STORED_OK) {
      startLater(slot);
    } else {
      refillOrGiveUp(slot);
    }
  }

  private void saveMark(Slot slot, SyncMark mark) {
    try {
      if (mark != null) {
        context.votes().saveMarks(Map.of(slot.spec.groupId(), mark));
      }
    } catch (IOException e) {
      LOG.error("{}: its sync mark cannot be stored", slot.spec.name(), e);
    }
  }

  private void saveSuspect(String group, String reason) {
    try {
      context.votes().saveHealth(group, StoredHealth.STORED_SUSPECT, reason);
    } catch (IOException e) {
      LOG.error("{}: its health cannot be stored", group, e);
    }
  }

  private void stopNow(Slot slot) {
    synchronized (slot) {
      slot.state = SlotState.STOPPED;
      refills.stop(slot.spec.name());
      if (slot.replica != null) {
        PartitionLog log = slot.replica.log();
        slot.replica.stop();
        slot.replica = null;
        slot.unsynced = log.failed();
        if (!log.failed()) {
          saveMark(slot, log.syncMark());
        }
      }
    }
  }

  // ----------------------------------------------------------------------------------- sync marks

  /** From the first such log on: without one nobody wakes a hundred times a second. */
  private void startIntervalSyncs() {
    if (intervalSyncs.compareAndSet(false, true)) {
      try {
        syncer.scheduleWithFixedDelay(
            this::syncIntervalLogs, SYNC_TICK_MILLIS, SYNC_TICK_MILLIS, TimeUnit.MILLISECONDS);
      } catch (RejectedExecutionException e) {
        LOG.debug("no syncs by time, the broker stops", e);
      }
    }
  }

  private void syncIntervalLogs() {
    long now = TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
    for (Slot slot : slots.values()) {
      Replica replica = slot.replica;
      if (replica != null
          && slot.spec.logConfig().fsync() == FsyncPolicy.INTERVAL
          && now - slot.lastSyncMillis >= slot.spec.logConfig().fsyncIntervalMillis()
          && replica.log().dirty()) {
        slot.lastSyncMillis = now;
        try {
          replica.log().sync();
        } catch (IOException | RuntimeException e) {
          replica.storageFailed(e);
        }
      }
    }
  }

  /** Once a second is soon enough: what is too much now is still bounded per group. */
  private void shareCatchUpMemory() {
    List<Replica> led = allRunning().stream().filter(Replica::isLeader).toList();
    int followers = led.stream().mapToInt(each -> each.spec().members().size() - 1).max().orElse(0);
    CatchUpMemory share =
        CatchUpMemory.of(Runtime.getRuntime().maxMemory(), led.size(), Math.max(1, followers));
    if (!share.equals(catchUpMemory)) {
      LOG.debug("{} groups led, catching up with {}", led.size(), share);
      catchUpMemory = share;
    }
    led.forEach(each -> each.limitCatchUp(share));
  }

  private void storeMarks() {
    Map<String, SyncMark> changed = new HashMap<>();
    List<Slot> touched = new ArrayList<>();
    for (Slot slot : slots.values()) {
      Replica replica = slot.replica;
      SyncMark mark = replica == null ? null : replica.log().syncMark();
      if (mark != null && !mark.equals(slot.storedMark)) {
        changed.put(slot.spec.groupId(), mark);
        slot.storedMark = mark;
        touched.add(slot);
      }
    }
    if (changed.isEmpty()) {
      return;
    }
    try {
      context.votes().saveMarks(changed);
    } catch (IOException e) {
      touched.forEach(slot -> slot.storedMark = null);
      LOG.error("sync marks cannot be stored: {}", e.getMessage());
    }
  }

  // ------------------------------------------------------------------------------------ elections

  /** A broker seems dead: the groups that it led elect early. */
  public void brokerDown(int brokerId) {
    if (!closed) {
      fastElections.leaderDown(brokerId);
    }
  }

  /** It was not, or is back. */
  public void brokerUp(int brokerId) {
    if (!closed) {
      fastElections.leaderUp(brokerId);
    }
  }

  private Collection<Replica> allRunning() {
    return slots.values().stream().map(slot -> slot.replica).filter(Objects::nonNull).toList();
  }

  // --------------------------------------------------------------------------------------- status

  /** The running replica of a group, or null. */
  public Replica running(String name) {
    Slot slot = slots.get(name);
    return slot == null ? null : slot.replica;
  }

  /** The log of a group as other brokers may copy it; null if it is not open. */
  public ReplicaSource.Source source(String name) {
    Slot slot = slots.get(name);
    if (slot == null) {
      return null;
    }
    Replica replica = slot.replica;
    return replica == null ? refills.source(name) : replica.asSource();
  }

  /** Bytes that the scrub has read since the start. */
  public long scrubbedBytes() {
    return scrubberOrNull == null ? 0 : scrubberOrNull.checkedBytes();
  }

  /** Segments in which the scrub has found damage since the start. */
  public long scrubDamaged() {
    return scrubberOrNull == null ? 0 : scrubberOrNull.damagedSegments();
  }

  /** True if a replica of the group is here, in whatever state. */
  public boolean has(String name) {
    return slots.containsKey(name);
  }

  /** True if no replica is starting or waiting to be started again. */
  public boolean allSettled() {
    return slots.values().stream()
        .noneMatch(slot -> slot.state == SlotState.STARTING || slot.state == SlotState.WAITING);
  }

  /**
   * One replica as status shows it.
   *
   * @param running null if it does not run
   * @param reason why it does not, empty if it does
   * @param refill null if it is not refilled now
   * @param refilledBecause why it was, since this broker started; empty if it was not
   */
  public record View(
      ReplicaSpec spec,
      Replica running,
      StoredHealth health,
      String reason,
      RefillProgress refill,
      String refilledBecause) {}

  public List<View> views() {
    List<View> views = new ArrayList<>();
    for (Slot slot : slots.values()) {
      views.add(view(slot));
    }
    return views;
  }

  private View view(Slot slot) {
    Replica running = slot.replica;
    GroupState stored = context.votes().state(slot.spec.groupId());
    if (stored.health() != StoredHealth.STORED_OK) {
      return new View(
          slot.spec,
          running,
          stored.health(),
          stored.reason(),
          refills.progress(slot.spec.name()),
          slot.refilledBecause);
    }
    StoredHealth health =
        slot.factory == null ? StoredHealth.STORED_NO_VOTE : StoredHealth.STORED_OK;
    return new View(
        slot.spec, running, health, running == null ? slot.reason : "", null, slot.refilledBecause);
  }

  /** Stops all replicas, several at once; returns when their logs are closed. */
  @Override
  public void close() {
    closed = true;
    syncer.shutdown();
    if (scrubberOrNull != null) {
      scrubberOrNull.close();
    }
    fastElections.close();
    List<CompletableFuture<Void>> stops = new ArrayList<>();
    for (Slot slot : slots.values()) {
      stops.add(CompletableFuture.runAsync(() -> stopNow(slot), lifecycle));
    }
    stops.forEach(CompletableFuture::join);
    refills.close();
    lifecycle.shutdown();
  }

  /** After {@link #close}: false if the log of a replica may end in bytes that are not on disk. */
  public boolean allSynced() {
    return slots.values().stream().noneMatch(slot -> slot.unsynced);
  }
}
