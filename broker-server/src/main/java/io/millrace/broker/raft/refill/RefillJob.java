package io.millrace.broker.raft.refill;

import io.millrace.broker.log.Disk;
import io.millrace.broker.log.DiskSpace;
import io.millrace.broker.log.FsyncPolicy;
import io.millrace.broker.log.LogConfig;
import io.millrace.broker.log.LogDamagedException;
import io.millrace.broker.log.LogEntry;
import io.millrace.broker.log.LogFormatException;
import io.millrace.broker.log.LogListener;
import io.millrace.broker.log.LogSalvage;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.log.RecoveryHint;
import io.millrace.broker.log.SyncMark;
import io.millrace.broker.raft.PeerIds;
import io.millrace.broker.raft.ReplicaSpec;
import io.millrace.broker.raft.message.Checkpoint;
import io.millrace.broker.raft.message.StoredHealth;
import io.millrace.broker.raft.storage.CheckpointStore;
import io.millrace.broker.raft.storage.GroupState;
import io.millrace.broker.raft.storage.VotesJournal;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.message.ReplicaFetchRequest;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The refill of one replica: opens its log, copies what it lacks, and lets it take part again.
 *
 * <p>It can be killed at any point. The replica's health says until the last step that it must not
 * vote, and what is in its log by then is where the next start goes on. Entries are appended as a
 * log appends them, so a half-done refill is a log like any other.
 *
 * <p>Owns: the log while it runs. Threads: {@link #attempt} on one at a time; all else from any.
 *
 * <p>Durability: the health becomes OK only after log, checkpoint, sync mark and term are on disk.
 */
final class RefillJob {

  private static final Logger LOG = LoggerFactory.getLogger(RefillJob.class);

  /** What {@link #attempt} gives when nothing is left to do. */
  static final long DONE = -1;

  /** What {@link #attempt} gives when no attempt will ever help. */
  static final long HOPELESS = -2;

  private static final int PART_BYTES = 1 << 20;

  /** Copied bytes between two syncs, so that the last one is not long. */
  private static final int SYNC_BYTES = 64 << 20;

  private static final long WAIT_MILLIS = 500;
  private static final long FAILED_MILLIS = 3000;
  private static final long NOT_WRITTEN_PAUSE_MILLIS = 5;
  private static final long NOT_WRITTEN_LIMIT_MILLIS = 10_000;

  private final Disk disk;
  private final VotesJournal votes;
  private final ReplicaSpec spec;
  private final LogListener listener;
  private SyncMark failedAbove; // guarded by lock
  private final RefillPeers peers;
  private final DiskSpace diskSpace;
  private final Throttle throttle;
  private final LogSalvage salvage;
  private final long leaseNanos;
  private final long stoppedNanos = System.nanoTime();
  private final TreeSet<Integer> otherVoters = new TreeSet<>();
  private final ReentrantLock lock = new ReentrantLock();
  private volatile PartitionLog log; // written under the lock
  private volatile boolean cancelled;
  private volatile String step = "begins";
  private volatile int fromBroker;
  private volatile long target;
  private volatile long copiedBytes;
  private long unsyncedBytes;

  /**
   * @param failedAbove above this mark nothing may be kept, because an fsync failed; null = none
   *     did
   * @param leaseNanos for so long a leader may count on having heard a majority
   */
  RefillJob(
      Disk disk,
      VotesJournal votes,
      ReplicaSpec spec,
      LogListener listener,
      SyncMark failedAbove,
      RefillPeers peers,
      DiskSpace diskSpace,
      Throttle throttle,
      long leaseNanos) {
    this.disk = disk;
    this.votes = votes;
    this.spec = spec;
    this.listener = listener;
    this.failedAbove = failedAbove;
    this.peers = peers;
    this.diskSpace = diskSpace;
    this.throttle = throttle;
    this.leaseNanos = leaseNanos;
    this.salvage = new LogSalvage(disk, spec.directory(), spec.identity(), this::pace);
    spec.members().forEach(peer -> otherVoters.add(PeerIds.brokerOf(peer)));
    otherVoters.remove(PeerIds.brokerOf(spec.self()));
  }

  /** The source is not what it was when the copy began. */
  private static final class SourceChangedException extends IOException {
    private static final long serialVersionUID = 1;

    SourceChangedException(String message) {
      super(message);
    }
  }

  /**
   * Goes as far as it can.
   *
   * @return milliseconds after which it is worth another attempt, {@link #DONE} or {@link
   *     #HOPELESS}
   */
  long attempt() {
    lock.lock();
    try {
      if (cancelled) {
        return HOPELESS;
      }
      if (log == null) {
        log = open();
      }
      return copyWhatIsMissing() ? finish() : WAIT_MILLIS;
    } catch (LogFormatException e) {
      step = e.getMessage();
      return HOPELESS;
    } catch (SourceChangedException e) {
      LOG.info("{}: refill begins again: {}", spec.name(), e.getMessage());
      step = e.getMessage();
      return WAIT_MILLIS;
    } catch (IOException | RuntimeException e) {
      if (!cancelled) {
        LOG.warn("{}: refill stopped and is tried again", spec.name(), e);
      }
      step = "stopped and is tried again: " + e.getMessage();
      closeLog();
      return FAILED_MILLIS;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return HOPELESS;
    } finally {
      lock.unlock();
    }
  }

  // -------------------------------------------------------------------------------------- opening

  private PartitionLog open() throws IOException {
    step = "checks its own log";
    GroupState state = votes.state(spec.groupId());
    PartitionLog opened;
    if (state.health() == StoredHealth.STORED_SUSPECT) {
      try {
        opened = open(new RecoveryHint(newestCheckpoint(), state.mark(), true));
      } catch (LogDamagedException e) {
        votes.saveHealth(
            spec.groupId(), StoredHealth.STORED_NO_VOTE, "damaged log: " + e.getMessage());
        opened = salvage();
      }
    } else {
      opened = salvage();
    }
    if (failedAbove != null && failedAbove.index() < opened.lastIndex()) {
      log = opened; // Closed with the attempt if this fails.
      opened.truncateSuffix(Math.max(failedAbove.index(), opened.firstIndex() - 1));
    }
    // Once: what comes later is copied, and not from before the failure.
    failedAbove = null;
    return opened;
  }

  private PartitionLog salvage() throws IOException {
    // Before anything is moved: with the old mark in force what is gone would be damage again.
    listener.lowerDurableMark(new SyncMark(0, 0, 0));
    salvage.run();
    return open(RecoveryHint.NONE);
  }

  private long newestCheckpoint() throws IOException {
    List<Checkpoint> all = CheckpointStore.open(disk, spec.directory()).checkpoints();
    return all.isEmpty() ? 0 : all.get(0).getIndex();
  }

  /** Without a sync per append: nothing is acknowledged before all is synced. */
  private PartitionLog open(RecoveryHint hint) throws IOException {
    LogConfig config = new LogConfig(FsyncPolicy.OS, 0, spec.logConfig().segmentBytes());
    return PartitionLog.open(disk, spec.directory(), spec.identity(), config, hint, listener);
  }

  private void pace(long bytes) throws IOException {
    if (cancelled) {
      throw new IOException("the refill is over");
    }
    try {
      throttle.acquire(bytes, () -> cancelled);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException();
    }
  }

  // -------------------------------------------------------------------------------------- copying

  /** False while there is nobody to copy from. */
  private boolean copyWhatIsMissing() throws IOException, InterruptedException {
    RefillPlan.Own own = own();
    List<PeerLog> answers = peers.states(spec.groupId(), otherVoters);
    RefillPlan.Choice choice = RefillPlan.choose(own, otherVoters, answers);
    if (choice.complete()) {
      return true;
    }
    PeerLog source = choice.source();
    if (source == null) {
      step = "waits: " + choice.reason();
      fromBroker = 0;
      return false;
    }
    step = "copies";
    fromBroker = source.broker();
    makeRoom(own, source);
    copyTo(source, source.lastIndex());
    takeCheckpoint(source);
    return true;
  }

  private RefillPlan.Own own() throws IOException {
    Checkpoint newest =
        CheckpointStore.open(disk, spec.directory()).checkpoints().stream()
            .filter(each -> ReplicaSource.fits(each, log))
            .findFirst()
            .orElse(null);
    return new RefillPlan.Own(
        PeerIds.brokerOf(spec.self()),
        votes.state(spec.groupId()).health() == StoredHealth.STORED_SUSPECT,
        votes.state(spec.groupId()).term(),
        System.nanoTime() - stoppedNanos > leaseNanos,
        log.firstIndex(),
        log.lastIndex(),
        ReplicaSource.lastTerm(log, newest),
        log.epochs());
  }

  /** Removes what the source does not have, so that the log can be continued. */
  private void makeRoom(RefillPlan.Own own, PeerLog source) throws IOException {
    long keep = RefillPlan.keep(own, source);
    boolean anew = RefillPlan.beginsAnew(own, source, keep);
    CheckpointStore.open(disk, spec.directory()).setAsideAbove(anew ? -1 : keep);
    if (anew) {
      LOG.info(
          "{}: the log begins anew at entry {}, where that of broker {} begins",
          spec.name(),
          source.firstIndex(),
          source.broker());
      log.reset(source.firstIndex(), source.firstOffset());
    } else if (keep < log.lastIndex()) {
      LOG.warn(
          "{}: its entries {} to {} are not those of broker {}",
          spec.name(),
          keep + 1,
          log.lastIndex(),
          source.broker());
      if (own.whole()) {
        log.truncateSuffix(keep); // A tail that was never committed, as in any change of leaders.
      } else {
        // Perhaps committed once: nothing of it is destroyed.
        closeLog();
        listener.lowerDurableMark(new SyncMark(0, 0, 0));
        salvage.setAsideFrom(keep + 1);
        log = open(RecoveryHint.NONE);
      }
    }
  }

  private void copyTo(PeerLog source, long last) throws IOException, InterruptedException {
    target = last;
    long waitUntilNanos = 0;
    while (log.lastIndex() < last) {
      if (cancelled) {
        throw new IOException("the refill is over");
      }
      if (diskSpace.level() == DiskSpace.Level.CRITICAL) {
        throw new IOException("the disk is full, " + diskSpace.freeBytes() + " bytes are free");
      }
      long from = log.lastIndex() + 1;
      RefillPeers.Entries entries =
          peers.fetch(
              source.broker(),
              ReplicaFetchRequest.newBuilder()
                  .setGroup(spec.groupId())
                  .setFromIndex(from)
                  .setPreviousTerm(log.termAt(from - 1))
                  .setLeaderTerm(source.leads() ? source.term() : 0)
                  .setMaxBytes(PART_BYTES)
                  .build());
      if (entries.changed()) {
        throw new SourceChangedException(
            "the log of broker " + source.broker() + " is not what it was");
      }
      if (entries.entries() == 0) {
        // Proposed and not written there yet, perhaps never: then it leads no more soon.
        waitUntilNanos = waitForSource(source, waitUntilNanos);
        continue;
      }
      waitUntilNanos = 0;
      append(source, from, entries);
    }
  }

  private static long waitForSource(PeerLog source, long waitUntilNanos)
      throws IOException, InterruptedException {
    long now = System.nanoTime();
    if (waitUntilNanos == 0) {
      waitUntilNanos = now + TimeUnit.MILLISECONDS.toNanos(NOT_WRITTEN_LIMIT_MILLIS);
    } else if (now - waitUntilNanos > 0) {
      throw new SourceChangedException(
          "broker " + source.broker() + " does not write what it has proposed");
    }
    TimeUnit.MILLISECONDS.sleep(NOT_WRITTEN_PAUSE_MILLIS);
    return waitUntilNanos;
  }

  private void append(PeerLog source, long from, RefillPeers.Entries entries)
      throws IOException, InterruptedException {
    int bytes = entries.batches().remaining();
    log.append(parse(source, from, entries, log.logEnd()));
    copiedBytes += bytes;
    unsyncedBytes += bytes;
    if (unsyncedBytes >= SYNC_BYTES) {
      log.sync();
      unsyncedBytes = 0;
    }
    throttle.acquire(bytes, () -> cancelled);
  }

  private static List<LogEntry> parse(
      PeerLog source, long from, RefillPeers.Entries entries, long offset) throws IOException {
    ByteBuffer bytes = entries.batches();
    List<LogEntry> parsed = new ArrayList<>(entries.entries());
    long next = offset;
    for (int i = 0; i < entries.entries(); i++) {
      int at = bytes.position();
      long size = bytes.remaining() < BatchHeader.SIZE ? -1 : BatchHeader.sizeInBytes(bytes, at);
      if (size < BatchHeader.SIZE || size > bytes.remaining()) {
        throw broken(source, from + i, "its length is " + size + " of " + bytes.remaining());
      }
      ByteBuffer batch = bytes.slice(at, (int) size);
      if (!BatchHeader.isIntact(batch, 0)) {
        throw broken(source, from + i, "its checksum does not match");
      }
      if (BatchHeader.baseOffset(batch, 0) != next) {
        throw broken(
            source,
            from + i,
            "it has offset " + BatchHeader.baseOffset(batch, 0) + " where " + next + " is next");
      }
      next = BatchHeader.isControl(batch, 0) ? next : BatchHeader.nextOffset(batch, 0);
      parsed.add(new LogEntry(from + i, BatchHeader.partitionLeaderEpoch(batch, 0), batch));
      bytes.position(at + (int) size);
    }
    if (bytes.hasRemaining()) {
      throw broken(source, from + entries.entries(), "it was not announced");
    }
    return parsed;
  }

  private static IOException broken(PeerLog source, long index, String why) {
    return new IOException("entry " + index + " from broker " + source.broker() + ": " + why);
  }

  /** The state of the source up to an entry that is here too, so that it need not be replayed. */
  private void takeCheckpoint(PeerLog source) throws IOException, InterruptedException {
    Checkpoint checkpoint = peers.checkpoint(source.broker(), spec.groupId(), PART_BYTES);
    if (checkpoint == null) {
      if (log.firstIndex() > 1) {
        throw new SourceChangedException(
            "broker "
                + source.broker()
                + " has no checkpoint, and the log begins at entry "
                + log.firstIndex());
      }
      return;
    }
    copyTo(source, checkpoint.getIndex());
    if (!ReplicaSource.fits(checkpoint, log)) {
      throw new SourceChangedException(
          "the checkpoint of broker "
              + source.broker()
              + " at entry "
              + checkpoint.getIndex()
              + " is not of the copied log");
    }
    CheckpointStore store = CheckpointStore.open(disk, spec.directory());
    if (store.checkpoints().isEmpty()
        || store.checkpoints().get(0).getIndex() < checkpoint.getIndex()) {
      log.sync();
      store.write(checkpoint);
    }
  }

  // ------------------------------------------------------------------------------------ finishing

  private long finish() throws IOException {
    log.sync();
    SyncMark mark = log.syncMark();
    long lastTerm = own().lastTerm();
    long lastIndex = log.lastIndex();
    closeLog();
    GroupState state = votes.state(spec.groupId());
    if (state.term() < lastTerm) {
      // It has not voted in a term that it has not seen.
      votes.saveVote(spec.groupId(), lastTerm, "");
    }
    votes.saveMarks(Map.of(spec.groupId(), mark));
    votes.saveHealth(spec.groupId(), StoredHealth.STORED_OK, "");
    LOG.info(
        "{}: refilled to entry {} of term {}, {} bytes copied",
        spec.name(),
        lastIndex,
        lastTerm,
        copiedBytes);
    return DONE;
  }

  /** Ends the refill where it is; returns when the log is closed. */
  void cancel() {
    cancelled = true;
    peers.cancel();
    lock.lock();
    try {
      closeLog();
    } finally {
      lock.unlock();
    }
  }

  private void closeLog() {
    PartitionLog open = log;
    log = null;
    if (open != null) {
      try {
        open.close();
      } catch (IOException e) {
        LOG.warn("{}: log not closed cleanly: {}", spec.name(), e.getMessage());
      }
    }
  }

  // --------------------------------------------------------------------------------------- status

  RefillProgress progress() {
    PartitionLog open = log;
    return new RefillProgress(
        step, fromBroker, open == null ? 0 : open.lastIndex() + 1, target, copiedBytes);
  }

  /** What others may copy, null while the log is not open. */
  ReplicaSource.Source asSource() {
    PartitionLog open = log;
    if (open == null) {
      return null;
    }
    GroupState state = votes.state(spec.groupId());
    return new ReplicaSource.Source(
        open,
        false,
        state.health() == StoredHealth.STORED_SUSPECT,
        state.term(),
        0,
        open.lastIndex(),
        failure -> LOG.warn("{}: cannot be read for another broker", spec.name(), failure));
  }
}
