package io.millrace.broker.cluster;

import io.millrace.broker.cluster.LocalReplicas.DirectoryState;
import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the replicas of this broker what the metadata says they should be. A pass compares and
 * takes the next step for each replica; it keeps nothing that a restart would miss.
 *
 * <pre>
 *  metadata   directory        step
 *  NEW        missing, empty   create it durably (*)
 *  NEW        present          report it as started (*); the next pass sees STARTED
 *  STARTED    present          start
 *  STARTED    missing, empty   if its vote is known: create it as one that must not vote, to be
 *                              completed from the others; the next pass starts it (*)
 *                              otherwise never: its data is lost; shown with the reason (*)
 *  any        foreign          never: shown with the reason
 *  deleted    any              stop, set aside, delete; then report it as removed
 *  unknown    any              stop, set aside and keep (*)
 *  (*) only when the local metadata is known not to be behind
 * </pre>
 *
 * <p>Why in this order (design review A3): an empty replica that votes can make a leader without
 * acknowledged records. So a Raft node starts on an empty directory only before STARTED was
 * committed, and STARTED is committed only after the directory is durable. A lagging copy of the
 * metadata could still say NEW of a replica that was started and lost; therefore (*).
 *
 * <p>Threads: {@link #runPass} on one thread, which it may block; {@link #problems} on any.
 *
 * <p>Errors: each failed step is retried with back-off and listed in {@link #problems}.
 */
public final class Reconciler {

  /** Longest pause between passes, for directories that change without a metadata change. */
  public static final long SLOW_MILLIS = 10_000;

  /**
   * Shortest pause between passes, so that a step that is due but cannot be taken does not spin.
   */
  static final long MIN_PAUSE_MILLIS = 50;

  /** Replicas in one report, so that an entry stays small. */
  static final int REPORT_SIZE = 200;

  /** Directories between two looks at whether the broker stops. */
  private static final int CREATED_AT_ONCE = 64;

  static final long REPORT_TIMEOUT_MILLIS = 10_000;

  private static final Logger LOG = LoggerFactory.getLogger(Reconciler.class);

  private static final String STOPPED = "the broker stops";

  private final LocalBroker self;
  private final MetadataService metadata;
  private final Predicate<MetadataState> caughtUp;
  private final LocalReplicas local;
  private final LongSupplier nowMillis;
  private final RetryTable retries = new RetryTable();
  // What was reported and in which entry, until the local state shows it.
  private final Map<ReplicaId, Long> reported = new HashMap<>();
  private final Map<ReplicaId, String> notStarted = new TreeMap<>();
  private volatile boolean stopped;
  private volatile CompletableFuture<MetadataResult> waitingFor;

  /**
   * @param caughtUp whether a state is at least as new as this process, see {@link
   *     BrokerRegistrar#isCaughtUp(MetadataState)}
   */
  public Reconciler(
      LocalBroker self,
      MetadataService metadata,
      Predicate<MetadataState> caughtUp,
      LocalReplicas local,
      LongSupplier nowMillis) {
    this.self = self;
    this.metadata = metadata;
    this.caughtUp = caughtUp;
    this.local = local;
    this.nowMillis = nowMillis;
  }

  /** A replica that the metadata wants here. */
  private record Target(ReplicaId id, TopicEntry topic, ReplicaEntry replica) {
    LocalReplicas.Start toStart() {
      return new LocalReplicas.Start(
          id, topic.name(), topic.settings(), topic.partition(id.partition()).replicas());
    }
  }

  /**
   * One pass over all replicas.
   *
   * @return milliseconds after which the next pass is due without any change
   */
  public long runPass() throws InterruptedException {
    MetadataState state = metadata.state();
    boolean fresh = caughtUp.test(state);
    List<Target> targets = targetsIn(state);
    reported.values().removeIf(index -> index <= state.index());

    Set<ReplicaId> running = local.running();
    List<Target> toCreate = new ArrayList<>();
    List<ReplicaId> toReport = new ArrayList<>();
    for (Target target : targets) {
      if (stopped) {
        return SLOW_MILLIS;
      }
      if (running.contains(target.id())) {
        retries.succeeded(target.id());
        forgetMark(target.id());
      } else if (retries.isDue(target.id(), nowMillis.getAsLong())) {
        step(target, fresh, toCreate, toReport);
      }
    }
    create(toCreate, toReport);
    report("started", toReport, true);
    List<ReplicaId> deleted = deletedHere(state);
    report("removed", removeDeleted(deleted), false);
    // Read once: it is one small file for each directory.
    Set<ReplicaId> directories = local.directories();
    if (fresh && !stopped) {
      setAsideUnknown(state, directories);
    }
    forgetOthers(targets, deleted, directories);
    return Math.max(MIN_PAUSE_MILLIS, Math.min(SLOW_MILLIS, millisUntilRetry()));
  }

  /** Until the earliest retry of a failed step; Long.MAX_VALUE without one. */
  long millisUntilRetry() {
    return retries.millisUntilNext(nowMillis.getAsLong());
  }

  private List<Target> targetsIn(MetadataState state) {
    List<Target> targets = new ArrayList<>();
    for (TopicEntry topic : state.topics()) {
      for (int p = 0; p < topic.partitions().size(); p++) {
        ReplicaEntry replica = topic.partitions().get(p).onBroker(self.id());
        if (replica != null) {
          targets.add(new Target(new ReplicaId(topic.id(), p, replica.idx()), topic, replica));
        }
      }
    }
    return targets;
  }

  private void step(Target target, boolean fresh, List<Target> toCreate, List<ReplicaId> toReport) {
    ReplicaId id = target.id();
    if (!target.replica().incarnation().equals(self.incarnation())) {
      mark(
          target,
          "it belongs to data directory "
              + target.replica().incarnation()
              + ", this broker has "
              + self.incarnation());
      return;
    }
    try {
      DirectoryState directory = local.directory(id);
      if (directory == DirectoryState.FOREIGN) {
        mark(target, "its directory belongs to another replica: move that away");
      } else if (target.replica().started()) {
        if (directory == DirectoryState.PRESENT) {
          local.start(target.toStart());
          retries.succeeded(id);
          forgetMark(id);
        } else if (fresh && !local.recreateLost(id)) {
          // Not before: in an old state a topic can still be there that was deleted meanwhile.
          mark(target, lostText(directory));
        }
      } else if (fresh && !reported.containsKey(id)) {
        if (directory == DirectoryState.PRESENT) {
          toReport.add(id);
        } else {
          toCreate.add(target);
        }
      }
    } catch (IOException | RuntimeException e) {
      cannotStart(target, e);
    }
  }

  private void cannotStart(Target target, Exception cause) {
    failed(target.id(), "cannot start: " + cause.getMessage(), cause);
    mark(target, "cannot start: " + cause.getMessage());
  }

  /** Creates directories and adds those that it created to what is to be reported. */
  private void create(List<Target> toCreate, List<ReplicaId> toReport) {
    for (int from = 0; from < toCreate.size() && !stopped; from += CREATED_AT_ONCE) {
      List<Target> some = toCreate.subList(from, Math.min(toCreate.size(), from + CREATED_AT_ONCE));
      Map<ReplicaId, Exception> failures =
          local.createDirectories(some.stream().map(Target::id).toList());
      for (Target target : some) {
        Exception failure = failures.get(target.id());
        if (failure == null) {
          toReport.add(target.id());
        } else {
          cannotStart(target, failure);
        }
      }
    }
  }

  private static String lostText(DirectoryState directory) {
    return "it was started before and its directory is now "
        + (directory == DirectoryState.MISSING ? "missing" : "empty")
        + ": its data is lost. It does not start empty, because its vote could then lose"
        + " acknowledged records; restore the directory, or replace the replica";
  }

  private void report(String what, List<ReplicaId> replicas, boolean started)
      throws InterruptedException {
    for (int from = 0; from < replicas.size(); from += REPORT_SIZE) {
      List<ReplicaId> some = replicas.subList(from, Math.min(replicas.size(), from + REPORT_SIZE));
      MetadataCommand command =
          started
              ? MetadataCommands.replicasStarted(self.id(), self.incarnation(), some)
              : MetadataCommands.replicasRemoved(self.id(), self.incarnation(), some);
      String error = submit(command, some);
      if (error != null) {
        some.forEach(id -> failed(id, "cannot report as " + what + ": " + error, null));
      }
    }
  }

  /** Null if the report is committed. */
  private String submit(MetadataCommand command, List<ReplicaId> replicas)
      throws InterruptedException {
    try {
      CompletableFuture<MetadataResult> future = metadata.submit(command, REPORT_TIMEOUT_MILLIS);
      waitingFor = future;
      if (stopped) {
        return STOPPED;
      }
      MetadataResult result = future.get(2 * REPORT_TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
      if (!MetadataResults.isDone(result)) {
        return result.getErrorText();
      }
      for (ReplicaId id : replicas) {
        retries.succeeded(id);
        reported.put(id, result.getIndex());
      }
      return null;
    } catch (CancellationException e) {
      return STOPPED;
    } catch (ExecutionException | TimeoutException e) {
      return String.valueOf(e);
    } finally {
      waitingFor = null;
    }
  }

  /**
   * Ends the present pass after its present step. The thread is not interrupted: that would close
   * the file it is just writing.
   */
  public void stop() {
    stopped = true;
    CompletableFuture<MetadataResult> future = waitingFor;
    if (future != null) {
      future.cancel(false);
    }
  }

  private List<ReplicaId> deletedHere(MetadataState state) {
    List<ReplicaId> here = new ArrayList<>();
    for (DeletedTopic topic : state.deleted()) {
      for (DeletedTopic.Remaining remaining : topic.remaining()) {
        ReplicaEntry replica = remaining.replica();
        if (replica.broker() == self.id() && replica.incarnation().equals(self.incarnation())) {
          here.add(new ReplicaId(topic.id(), remaining.partition(), replica.idx()));
        }
      }
    }
    return here;
  }

  /** Replicas of deleted topics of which nothing is left here and that are not yet reported. */
  private List<ReplicaId> removeDeleted(List<ReplicaId> deletedHere) {
    List<ReplicaId> removed = new ArrayList<>();
    for (ReplicaId id : deletedHere) {
      if (!stopped
          && !reported.containsKey(id)
          && retries.isDue(id, nowMillis.getAsLong())
          && remove(id)) {
        removed.add(id);
      }
    }
    return removed;
  }

  private boolean remove(ReplicaId id) {
    try {
      if (local.directory(id) == DirectoryState.FOREIGN) {
        throw new IOException("its directory belongs to another replica: move that away");
      }
      local.stopAndSetAside(id);
      local.deleteSetAside(id);
      forgetMark(id);
      return true;
    } catch (IOException | RuntimeException e) {
      failed(id, "cannot remove the replica of a deleted topic: " + e.getMessage(), e);
      return false;
    }
  }

  /**
   * A directory of a topic that never was, or that was deleted so long ago that nobody remembers:
   * no proof that its data is worthless, so it is kept.
   */
  private void setAsideUnknown(MetadataState state, Set<ReplicaId> directories) {
    Set<ReplicaId> here = new TreeSet<>(directories);
    here.addAll(local.running());
    for (ReplicaId id : here) {
      if (state.topic(id.topicId()) == null
          && state.deleted(id.topicId()) == null
          && retries.isDue(id, nowMillis.getAsLong())) {
        LOG.warn("{} belongs to no topic of this cluster: it is set aside, not deleted", id);
        try {
          local.stopAndSetAside(id);
          retries.succeeded(id);
        } catch (IOException | RuntimeException e) {
          failed(id, "cannot set aside the replica of an unknown topic: " + e.getMessage(), e);
        }
      }
    }
  }

  private void forgetOthers(
      List<Target> targets, List<ReplicaId> deleted, Set<ReplicaId> directories) {
    Set<ReplicaId> concern = new HashSet<>();
    targets.forEach(target -> concern.add(target.id()));
    synchronized (notStarted) {
      notStarted.keySet().retainAll(concern);
    }
    concern.addAll(deleted);
    concern.addAll(directories);
    concern.addAll(local.running());
    retries.retainAll(concern);
    reported.keySet().retainAll(concern);
  }

  private void failed(ReplicaId id, String reason, Exception cause) {
    // The stack once; the same failure comes back with every retry.
    LOG.warn("{}: {}", id, reason, retries.hasFailed(id) ? null : cause);
    retries.failed(id, reason, nowMillis.getAsLong());
  }

  private void mark(Target target, String reason) {
    String before;
    synchronized (notStarted) {
      before = notStarted.put(target.id(), reason);
    }
    if (!reason.equals(before)) {
      LOG.warn("{} of topic {} is not started: {}", target.id(), target.topic().name(), reason);
      local.markNotStarted(target.id(), target.topic().name(), reason);
    }
  }

  private void forgetMark(ReplicaId id) {
    synchronized (notStarted) {
      notStarted.remove(id);
    }
  }

  /** What is not as the metadata wants it, and why; for the broker's status. */
  public Map<ReplicaId, String> problems() {
    Map<ReplicaId, String> all = new TreeMap<>(retries.reasons());
    synchronized (notStarted) {
      all.putAll(notStarted);
    }
    return all;
  }
}
