package io.millrace.broker.partition;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.log.LogDamagedException;
import io.millrace.broker.raft.ProposalCallback;
import io.millrace.broker.raft.RaftGroup;
import io.millrace.broker.state.BatchId;
import io.millrace.broker.state.PartitionState;
import io.millrace.broker.state.ProducerTable;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.FsyncPolicy;
import io.millrace.protocol.message.ProduceResult;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Many event loops and one FSM thread at one sequencer. */
@Timeout(60)
class SequencerRaceTest {

  private static final int PRODUCERS = 4;
  private static final int BATCHES = 5000;
  private static final int IN_FLIGHT = 5;

  /** Commits what is proposed, at once, on its own thread. */
  private static final class EagerRaft implements RaftGroup {
    private record Proposed(ByteBuffer batch, ProposalCallback callback) {}

    private final LinkedBlockingQueue<Proposed> queue = new LinkedBlockingQueue<>();
    private volatile boolean stopped;

    void run(CountingMachine machine) {
      long index = 0;
      try {
        while (!stopped || !queue.isEmpty()) {
          Proposed next = queue.poll(10, TimeUnit.MILLISECONDS);
          if (next != null) {
            machine.apply(++index, 1, next.batch, next.callback);
            machine.applyBatchEnd(index);
          }
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    @Override
    public void propose(ByteBuffer batch, long expectedTerm, ProposalCallback callback) {
      queue.add(new Proposed(batch, callback));
    }

    @Override
    public String name() {
      return "eager";
    }

    @Override
    public boolean isLeader() {
      return true;
    }

    @Override
    public long term() {
      return 1;
    }

    @Override
    public int leader() {
      return 1;
    }

    @Override
    public boolean hasQuorumContact() {
      return true;
    }

    @Override
    public long appliedIndex() {
      return 0;
    }

    @Override
    public void damaged(LogDamagedException damage) {
      throw new AssertionError(damage);
    }

    @Override
    public boolean transferLeadership(int toBrokerId) {
      return false;
    }
  }

  private final EagerRaft raft = new EagerRaft();
  private final AppendBudget budget = new AppendBudget(10_000);
  private final List<String> faults = new ArrayList<>();
  private final PartitionState<Proposal.OfRecords> state =
      new PartitionState<>(new ProducerTable<>(100));
  private final Sequencer sequencer =
      new Sequencer(
          SequencerFixture.ID,
          new PartitionSettings(1 << 20, FsyncPolicy.FSYNC_OS, 2_000, 16, 1_000_000, 100),
          new PartitionEnvironment(new TestClock(), budget, new PartitionCounters(), faults::add),
          raft,
          state.producers());

  /** Sends all its batches, again and in order whenever one is refused; returns their offsets. */
  private List<Long> produce(long producer) throws Exception {
    List<Long> offsets = new ArrayList<>();
    List<CompletableFuture<ProduceResult>> flying = new ArrayList<>();
    int acknowledged = 0;
    int next = 0;
    while (acknowledged < BATCHES) {
      while (next < BATCHES && next - acknowledged < IN_FLIGHT) {
        flying.add(send(new BatchId(producer, (short) 0, next, next)));
        next++;
      }
      ProduceResult result = flying.remove(0).get(10, TimeUnit.SECONDS);
      if (!result.hasError()) {
        offsets.add(result.getBaseOffset());
        acknowledged++;
        continue;
      }
      ErrorCode code = ErrorCode.of(result.getError().getCode());
      assertThat(code).isIn(ErrorCode.THROTTLED, ErrorCode.OUT_OF_ORDER_SEQUENCE);
      for (CompletableFuture<ProduceResult> other : flying) {
        other.get(10, TimeUnit.SECONDS); // behind the closed lane: refused as well
      }
      flying.clear();
      next = acknowledged;
      Thread.onSpinWait();
    }
    return offsets;
  }

  private CompletableFuture<ProduceResult> send(BatchId id) {
    ByteBuffer batch = Batches.of(id, 100);
    CompletableFuture<ProduceResult> result = new CompletableFuture<>();
    sequencer.produce(Batches.request(SequencerFixture.ID, batch).build(), batch, result::complete);
    return result;
  }

  @Test
  void everyBatchIsStoredOnceInOrderUnderContentionAndThrottling() throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    try {
      sequencer.leaderStarted(1);
      Future<?> fsm = threads.submit(() -> raft.run(new CountingMachine(state, sequencer)));
      List<Future<List<Long>>> producers = new ArrayList<>();
      for (int i = 0; i < PRODUCERS; i++) {
        int producer = i;
        producers.add(threads.submit(() -> produce(producer)));
      }
      Set<Long> all = new HashSet<>();
      for (Future<List<Long>> producer : producers) {
        List<Long> offsets = producer.get(50, TimeUnit.SECONDS);
        assertThat(offsets).hasSize(BATCHES).isSorted();
        all.addAll(offsets);
      }
      assertThat(all).hasSize(PRODUCERS * BATCHES);
      raft.stopped = true;
      fsm.get(10, TimeUnit.SECONDS);
      assertThat(state.nextOffset()).isEqualTo((long) PRODUCERS * BATCHES);
      assertThat(budget.usedBytes()).isZero();
      assertThat(sequencer.inFlightEntries()).isZero();
      assertThat(faults).isEmpty();
    } finally {
      raft.stopped = true;
      threads.shutdown();
      assertThat(threads.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    }
  }
}
