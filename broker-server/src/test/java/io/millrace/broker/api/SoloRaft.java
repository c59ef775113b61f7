package io.millrace.broker.api;

import io.millrace.broker.log.LogDamagedException;
import io.millrace.broker.log.LogEntry;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.raft.ProposalCallback;
import io.millrace.broker.raft.ProposalFailure;
import io.millrace.broker.raft.RaftGroup;
import io.millrace.broker.raft.ReplicaStateMachine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** A group of one replica: what is proposed is written and applied by its thread, unless held. */
final class SoloRaft implements RaftGroup, AutoCloseable {

  private static final long TERM = 7;

  private final PartitionLog log;
  private final ExecutorService fsm = Executors.newSingleThreadExecutor();
  private ReplicaStateMachine machine;
  private volatile boolean leading;
  private boolean held;
  private long applied;

  SoloRaft(PartitionLog log) {
    this.log = log;
  }

  void lead(ReplicaStateMachine stateMachine) throws Exception {
    machine = stateMachine;
    leading = true;
    fsm.submit(() -> machine.leaderStarted(TERM)).get(5, TimeUnit.SECONDS);
  }

  /** Commits nothing until {@link #release}. */
  synchronized void hold() {
    held = true;
  }

  synchronized void release() {
    held = false;
    notifyAll();
  }

  private synchronized void awaitRelease() {
    try {
      while (held) {
        wait();
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void propose(ByteBuffer batch, long expectedTerm, ProposalCallback callback) {
    if (!leading || expectedTerm != TERM) {
      callback.failed(new ProposalFailure(true, "not leading in term " + expectedTerm));
      return;
    }
    fsm.execute(
        () -> {
          awaitRelease();
          try {
            applied++;
            log.append(List.of(new LogEntry(applied, TERM, batch.duplicate())));
            machine.apply(applied, TERM, batch.asReadOnlyBuffer(), callback);
            machine.applyBatchEnd(applied);
          } catch (IOException failed) {
            throw new UncheckedIOException(failed);
          }
        });
  }

  @Override
  public String name() {
    return "solo";
  }

  @Override
  public boolean isLeader() {
    return leading;
  }

  @Override
  public long term() {
    return TERM;
  }

  @Override
  public int leader() {
    return leading ? 1 : 2;
  }

  @Override
  public boolean hasQuorumContact() {
    return leading;
  }

  @Override
  public long appliedIndex() {
    return log.lastIndex();
  }

  @Override
  public void damaged(LogDamagedException damage) {
    throw new AssertionError(damage);
  }

  @Override
  public boolean transferLeadership(int toBrokerId) {
    return false;
  }

  @Override
  public void close() throws InterruptedException {
    release();
    fsm.shutdown();
    fsm.awaitTermination(5, TimeUnit.SECONDS);
  }
}
