package io.millrace.broker.raft.threads;

import java.util.concurrent.Executor;

/**
 * The threads of all Raft groups of all brokers in this JVM. Their number does not depend on the
 * number of groups, only on how many have something to do at once; idle ones end.
 *
 * <p>One pool per kind of work, so that no kind can wait for a thread that waits for it: the log
 * waits for the disk only; the state machine for a node's lock and, in a checkpoint, the disk;
 * proposals, callbacks and timers for a node's lock. Whoever holds a node's lock may wait for the
 * votes journal, which has a thread of its own.
 */
public final class RaftPools {

  /**
   * Appends of groups that run at once, each with its fdatasync: many, because the file system
   * joins syncs that wait together.
   */
  private static final Executor LOG = new WorkerPool("raft-log", 64);

  private static final Executor STATE = new WorkerPool("raft-state", 64);
  private static final Executor PROPOSALS = new WorkerPool("raft-propose", 32);
  private static final Executor CALLBACKS = new WorkerPool("raft-callback", 64);
  private static final Executor TIMERS = new WorkerPool("raft-timer", 16);

  private RaftPools() {}

  /**
   * A ring of JRaft, known by the prefix of the name that its thread would have.
   *
   * @param maxSlots slots that are enough for it
   */
  public record Ring(Executor pool, int maxSlots) {}

  /** ReadIndex is not used: freshness comes from the leader's lease. */
  private static final int READ_INDEX_SLOTS = 16;

  public static Ring ring(String threadNamePrefix) {
    return switch (threadNamePrefix) {
      case "JRaft-LogManager-Disruptor-" -> new Ring(LOG, Integer.MAX_VALUE);
      case "JRaft-FSMCaller-Disruptor-" -> new Ring(STATE, Integer.MAX_VALUE);
      case "JRaft-ReadOnlyService-Disruptor-" -> new Ring(PROPOSALS, READ_INDEX_SLOTS);
      default -> new Ring(PROPOSALS, Integer.MAX_VALUE);
    };
  }

  /** Where answers to votes and other requests of a node are handled; they may block. */
  public static Executor callbacks() {
    return CALLBACKS;
  }

  /** Where the tasks of {@link TickTimer} run. */
  static Executor timers() {
    return TIMERS;
  }
}
