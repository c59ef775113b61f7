package io.millrace.broker.raft;

import com.alipay.sofa.jraft.Closure;
import com.alipay.sofa.jraft.Status;
import com.alipay.sofa.jraft.closure.SaveSnapshotClosure;
import com.alipay.sofa.jraft.core.NodeImpl;
import com.alipay.sofa.jraft.entity.RaftOutter.SnapshotMeta;
import com.alipay.sofa.jraft.error.RaftError;
import com.alipay.sofa.jraft.storage.snapshot.SnapshotWriter;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.raft.message.GroupConfiguration;
import io.millrace.broker.raft.storage.CheckpointSnapshotStorage;
import io.millrace.broker.raft.storage.CheckpointStore;
import io.millrace.broker.raft.storage.GroupConfigurations;
import io.millrace.broker.raft.storage.SegmentLogStorage;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets go of the begin of one replica's log, in the only order that is safe:
 *
 * <ol>
 *   <li>both generations of the checkpoint reach the last entry that goes, so that a start does
 *       well with either of them;
 *   <li>JRaft's first index moves above it. Otherwise a leader would look for the entries on behalf
 *       of a follower that is behind, and would stop when they are missing;
 *   <li>the log drops the segments; a read that had begun before still finds them;
 *   <li>after a while the files are deleted.
 * </ol>
 *
 * <p>JRaft moves its first index only behind the snapshot saved before the last one, or behind the
 * last one when nothing was applied since (LogManagerImpl.setSnapshot, SnapshotExecutorImpl
 * .doSnapshot). Its own choice of a snapshot's index would be what is applied: then a follower that
 * was away for a minute could not be served any more, though the log still has what it needs. So
 * the index is chosen here: first the last entry that goes, then the one behind it, which leaves
 * JRaft with exactly what the files hold.
 *
 * <p>Threads: {@link #pass} on one thread at a time, which it blocks for disk work; {@link #save}
 * on the group's FSM thread.
 */
final class PrefixRelease {

  private static final Logger LOG = LoggerFactory.getLogger(PrefixRelease.class);

  /** A log thread that is behind by more has other troubles; then it is asked once more. */
  private static final long PROMISE_MILLIS = 30_000;

  private final String group;
  private final PartitionLog log;
  private final SegmentLogStorage storage;
  private final CheckpointSnapshotStorage snapshots;
  private final CheckpointStore checkpoints;
  private final Checkpointer checkpointer;
  private final GroupConfigurations configurations;
  private final AtomicBoolean asking = new AtomicBoolean();

  /**
   * JRaft's first index when its log thread has come to what it was asked for. Until then there is
   * nothing to ask: each question is an event in the ring of that thread, and a full ring makes
   * JRaft refuse entries.
   */
  private volatile long promisedFirstIndex;

  private volatile long promisedNanos;

  /** First entry that shall stay. */
  private volatile long target = 1;

  /** Guarded by this. */
  private boolean stopped;

  PrefixRelease(
      String group,
      PartitionLog log,
      SegmentLogStorage storage,
      CheckpointSnapshotStorage snapshots,
      CheckpointStore checkpoints,
      Checkpointer checkpointer,
      GroupConfigurations configurations) {
    this.group = group;
    this.log = log;
    this.storage = storage;
    this.snapshots = snapshots;
    this.checkpoints = checkpoints;
    this.checkpointer = checkpointer;
    this.configurations = configurations;
  }

  /**
   * Takes the next steps towards a log that begins with the segment of its first readable record.
   *
   * @param logStart records below are gone
   * @param appliedIndex of JRaft: members count
   * @param again told, on any thread, when another pass can do more
   * @return milliseconds until a file is due to be deleted, {@code Long.MAX_VALUE} if none waits
   */
  synchronized long pass(
      NodeImpl node, long logStart, long appliedIndex, DeleteDelay delay, Runnable again)
      throws IOException {
    if (stopped) {
      return Long.MAX_VALUE;
    }
    log.prefix().closeActiveBelow(logStart);
    // As long as no record has left, segments of nothing but control batches stay as well.
    long wanted =
        logStart == 0 ? log.firstIndex() : log.prefix().firstIndexAbove(logStart, appliedIndex);
    if (wanted > log.firstIndex()) {
      storage.onPrefix(again);
      if (checkpoints.newestIndex() >= wanted - 1 && checkpoints.oldestIndex() < wanted - 1) {
        checkpoints.copyNewest();
      }
      long released = Math.min(storage.firstIndexOfRaft() - 1, checkpoints.oldestIndex());
      long first = log.prefix().firstIndexAbove(logStart, released);
      if (first > log.firstIndex()) {
        LOG.debug("{}: the log begins at entry {} instead of {}", group, first, log.firstIndex());
        log.prefix().drop(first);
      }
      if (first < wanted && !isPromised(wanted)) {
        ask(node, wanted, again);
      }
    }
    long left =
        log.prefix()
            .deleteDropped(
                TimeUnit.MILLISECONDS.toNanos(delay.millis()),
                delay.maxWaitingBytes(),
                TimeUnit.MILLISECONDS.toNanos(Math.min(delay.millis(), DeleteDelay.LEAST_MILLIS)));
    configurations.forgetBefore(log.prefix().firstReadableIndex());
    return left == Long.MAX_VALUE ? left : TimeUnit.NANOSECONDS.toMillis(left) + 1;
  }

  /**
   * Returns when no pass runs, and none will: the next life of the replica writes the same files.
   */
  synchronized void stop() {
    stopped = true;
  }

  private boolean isPromised(long wanted) {
    return promisedFirstIndex >= wanted
        && System.nanoTime() - promisedNanos < TimeUnit.MILLISECONDS.toNanos(PROMISE_MILLIS);
  }

  private void ask(NodeImpl node, long wanted, Runnable again) {
    if (!asking.compareAndSet(false, true)) {
      return;
    }
    target = wanted;
    long before = snapshots.lastIndex();
    node.snapshot(
        status -> {
          if (status.isOk()) {
            // Behind the one saved before, or, if none was saved now, behind the last one.
            if (before > 0) {
              promisedFirstIndex = before + 1;
              promisedNanos = System.nanoTime();
            }
            asking.set(false);
            again.run();
          } else {
            asking.set(false);
            LOG.debug("{}: JRaft keeps its first entry for now: {}", group, status);
          }
        });
  }

  /** JRaft saves a snapshot: a checkpoint first, then an index for JRaft to remember. */
  void save(SnapshotWriter writer, Closure done) {
    Status status = new Status(RaftError.EINTERNAL, "not saved");
    try {
      status = trySave(writer.getCurrentMeta(), (SaveSnapshotClosure) done);
    } catch (RuntimeException e) {
      LOG.error("{}: a snapshot could not be saved", group, e);
    } finally {
      // Always, or JRaft would wait for it for ever (SnapshotExecutorImpl.savingSnapshot).
      done.run(status);
    }
  }

  /** Never EIO, at which JRaft stops the node: what cannot be done now is tried again. */
  private Status trySave(SnapshotMeta applied, SaveSnapshotClosure done) {
    long appliedIndex = applied.getLastIncludedIndex();
    long first = Math.min(target, appliedIndex + 1);
    long last = snapshots.lastIndex();
    long index = last < first - 1 ? first - 1 : last + 1;
    long term = storage.getTerm(index);
    if (index > appliedIndex || term == 0) {
      return new Status(RaftError.EAGAIN, "entry %s is not in the log yet", index);
    }
    // At least up to the index saved: when nothing is applied after it, JRaft saves no other.
    if (!checkpointer.reach(index, appliedIndex, applied.getLastIncludedTerm())) {
      return new Status(RaftError.EAGAIN, "no checkpoint reaches entry %s yet", index);
    }
    GroupConfiguration members = configurations.inForceAt(index);
    if (members == null) {
      return new Status(RaftError.EAGAIN, "the members at entry %s are not known", index);
    }
    done.start(CheckpointSnapshotStorage.meta(index, term, members));
    return Status.OK();
  }
}
