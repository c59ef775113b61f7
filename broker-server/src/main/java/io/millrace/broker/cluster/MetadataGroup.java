package io.millrace.broker.cluster;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.broker.raft.ProposalCallback;
import io.millrace.broker.raft.ProposalFailure;
import io.millrace.broker.raft.RaftGroup;
import io.millrace.broker.raft.ReplicaStateMachine;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlRecord;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.batch.InvalidBatchException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This broker's replica of the metadata group.
 *
 * <p>Owns: the newest local {@link MetadataState} and the proposals made here.
 *
 * <p>Threads: {@link ReplicaStateMachine} methods on the group's FSM thread; all else from any
 * thread, without blocking. Results of proposals and listeners run on the FSM thread (failures on
 * any) and must not block it.
 *
 * <p>Durability: a result that shows here is committed; the log and the checkpoint keep it.
 *
 * <p>Errors: an entry that this version cannot read throws, which stops the replica.
 */
public final class MetadataGroup implements ReplicaStateMachine {

  /** Name of the Raft group. */
  public static final String NAME = "meta";

  private static final Logger LOG = LoggerFactory.getLogger(MetadataGroup.class);

  /** Is told of changes; must not block or throw. */
  public interface Listener {
    /** The local state or the leadership is another one than before. */
    void metadataChanged();
  }

  private final List<Listener> listeners = new CopyOnWriteArrayList<>();
  private final Object proposeLock = new Object();
  private volatile RaftGroup raft;
  // What the replica has applied: written by its FSM thread, emptied before a new one begins.
  private volatile MetadataState applied = MetadataState.EMPTY;
  // What readers see: the same, except while a restarted replica replays.
  private volatile MetadataState state = MetadataState.EMPTY;
  private volatile long startedTerm;
  private volatile int leader;
  private volatile String failure;
  // FSM thread only: the state changed since the last applyBatchEnd.
  private boolean changed;

  /** A proposal made here and not decided yet. */
  private static final class Pending implements ProposalCallback {
    final CompletableFuture<ProposalOutcome> outcome = new CompletableFuture<>();

    @Override
    public void failed(ProposalFailure failure) {
      outcome.complete(new ProposalOutcome.Failed(failure));
    }
  }

  /**
   * The replica starts anew in this process and will restore or replay everything. Until it is as
   * far as before, {@link #state} stays what it was: that was committed, and to go back would make
   * topics disappear that exist.
   */
  public void replicaRestarts() {
    startedTerm = 0;
    leader = 0;
    failure = null;
    applied = MetadataState.EMPTY;
  }

  /** Gives the group through which this state machine proposes; before it can lead. */
  public void attach(RaftGroup group) {
    raft = group;
  }

  public void addListener(Listener listener) {
    listeners.add(listener);
  }

  public void removeListener(Listener listener) {
    listeners.remove(listener);
  }

  /** The newest state that this broker has applied; its index never goes back. */
  public MetadataState state() {
    return state;
  }

  /** True if this broker leads and has applied everything that earlier leaders committed. */
  public boolean isReady() {
    return startedTerm != 0;
  }

  /** True if, besides, a majority was heard within the leader lease: the state is fresh. */
  public boolean isFresh() {
    RaftGroup group = raft;
    return isReady() && group != null && group.hasQuorumContact();
  }

  /** Broker id of the known leader; 0 = none. */
  public int leader() {
    return leader;
  }

  /** Why the replica stopped; null while it runs. */
  public String failure() {
    return failure;
  }

  /**
   * Proposes a command as it is. Its sender must have filled what a leader fills.
   *
   * @return completed exactly once, at the latest when this replica stops leading or stops
   */
  CompletableFuture<ProposalOutcome> propose(MetadataCommand command) {
    Pending pending = new Pending();
    synchronized (proposeLock) {
      long term = startedTerm;
      RaftGroup group = raft;
      if (term == 0 || group == null) {
        pending.failed(new ProposalFailure(true, "this broker does not lead the metadata group"));
      } else {
        group.propose(MetadataCommands.toBatch(command), term, pending);
      }
    }
    return pending.outcome;
  }

  @Override
  public void apply(long index, long term, ByteBuffer batch, ProposalCallback local) {
    MetadataCommand command = commandOf(index, batch);
    if (command == null) {
      return;
    }
    MetadataState.Step step = applied.apply(index, command);
    applied = step.state();
    publish();
    changed = true;
    MetadataResult result = step.result();
    if (!MetadataResults.isDone(result)) {
      LOG.info("metadata entry {} was refused: {}", index, result.getErrorText());
    }
    if (local instanceof Pending pending) {
      pending.outcome.complete(new ProposalOutcome.Applied(result));
    }
  }

  private void publish() {
    if (applied.index() >= state.index()) {
      state = applied;
    }
  }

  /** Null for an entry that is no command and changes nothing. */
  private static MetadataCommand commandOf(long index, ByteBuffer batch) {
    try {
      ControlRecord record = ControlBatch.decode(batch);
      if (record.version() == ControlBatch.KEY_VERSION && record.type() == ControlType.NO_OP) {
        return null;
      }
      if (record.version() == ControlBatch.KEY_VERSION && record.type() == ControlType.METADATA) {
        return MetadataCommand.parseFrom(record.value());
      }
      throw new IllegalStateException(
          "entry "
              + index
              + " of the metadata group has type "
              + record.code()
              + " in version "
              + record.version()
              + ", which this broker does not know: upgrade it");
    } catch (InvalidBatchException | InvalidProtocolBufferException e) {
      throw new IllegalStateException("entry " + index + " of the metadata group is unreadable", e);
    }
  }

  @Override
  public void applyBatchEnd(long lastIndex) {
    if (changed) {
      changed = false;
      notifyListeners();
    }
  }

  @Override
  public void leaderStarted(long term) {
    startedTerm = term;
    LOG.info("leads the metadata group in term {}, {}", term, state);
    notifyListeners();
  }

  @Override
  public void leaderStopped(boolean sameTermMayResume) {
    startedTerm = 0;
    notifyListeners();
  }

  @Override
  public void leaderChanged(int leaderBrokerId, long term) {
    leader = leaderBrokerId;
    notifyListeners();
  }

  private void notifyListeners() {
    listeners.forEach(Listener::metadataChanged);
  }

  @Override
  public ByteString checkpoint() {
    return applied.image();
  }

  @Override
  public void restore(ByteString image, long index, long term) {
    MetadataState restored = MetadataState.ofImage(image);
    if (restored.index() > index) {
      throw new IllegalStateException(
          "metadata image of index " + restored.index() + " in a checkpoint of index " + index);
    }
    applied = restored;
    publish();
    notifyListeners();
  }

  @Override
  public void failed(String reason) {
    failure = reason;
    startedTerm = 0;
    leader = 0;
    LOG.error("the metadata replica of this broker stopped: {}", reason);
    notifyListeners();
  }
}
