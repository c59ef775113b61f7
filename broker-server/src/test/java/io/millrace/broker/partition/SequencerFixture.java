package io.millrace.broker.partition;

import io.millrace.broker.state.BatchId;
import io.millrace.broker.state.PartitionState;
import io.millrace.broker.state.ProducerTable;
import io.millrace.broker.state.Sequences;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.FsyncPolicy;
import io.millrace.protocol.message.ProduceBatch;
import io.millrace.protocol.message.ProduceResult;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/** A sequencer over a {@link FakeRaft}, without a log. */
final class SequencerFixture {

  static final PartitionId ID = new PartitionId(new UUID(1, 2), 3, "orders");

  static final PartitionSettings SETTINGS =
      new PartitionSettings(1024 * 1024, FsyncPolicy.FSYNC_ALWAYS, 4096, 16, 3_600_000, 1000);

  final TestClock clock = new TestClock();
  final FakeRaft raft = new FakeRaft();
  final AppendBudget budget;
  final PartitionCounters counters = new PartitionCounters();
  final List<String> faults = new ArrayList<>();
  final PartitionState<Proposal.OfRecords> state;
  final Sequencer sequencer;

  SequencerFixture() {
    this(SETTINGS, 1_000_000);
  }

  SequencerFixture(PartitionSettings settings, long budgetBytes) {
    budget = new AppendBudget(budgetBytes);
    state = new PartitionState<>(new ProducerTable<>(settings.maxProducers()));
    sequencer =
        new Sequencer(
            ID,
            settings,
            new PartitionEnvironment(clock, budget, counters, faults::add),
            raft,
            state.producers());
    raft.attach(new CountingMachine(state, sequencer));
  }

  static BatchId batch(long producer, int firstSequence, int records) {
    return new BatchId(
        producer, (short) 0, firstSequence, Sequences.plus(firstSequence, records - 1));
  }

  CompletableFuture<ProduceResult> send(ByteBuffer batch) {
    return send(Batches.request(ID, batch), batch);
  }

  CompletableFuture<ProduceResult> send(ProduceBatch.Builder request, ByteBuffer batch) {
    CompletableFuture<ProduceResult> result = new CompletableFuture<>();
    sequencer.produce(
        request.build(),
        batch,
        r -> {
          if (!result.complete(r)) {
            throw new AssertionError("answered twice: " + r);
          }
        });
    return result;
  }

  CompletableFuture<ProduceResult> send(BatchId id) {
    return send(Batches.of(id, 10));
  }

  CompletableFuture<ProduceResult> resume(BatchId id) {
    ByteBuffer batch = Batches.of(id, 10);
    return send(Batches.request(ID, batch).setResume(true), batch);
  }

  static ErrorCode code(CompletableFuture<ProduceResult> result) {
    if (!result.isDone()) {
      throw new AssertionError("not answered yet");
    }
    ProduceResult done = result.join();
    return done.hasError() ? ErrorCode.of(done.getError().getCode()) : ErrorCode.NONE;
  }

  /** Identities of the record batches in the log, in order. */
  List<BatchId> stored() {
    List<BatchId> ids = new ArrayList<>();
    for (FakeRaft.Entry entry : raft.committed()) {
      if (!BatchHeader.isControl(entry.batch(), 0)) {
        ids.add(BatchId.of(entry.batch(), 0));
      }
    }
    return ids;
  }

  List<ControlType> storedControl() throws Exception {
    List<ControlType> types = new ArrayList<>();
    for (FakeRaft.Entry entry : raft.committed()) {
      if (BatchHeader.isControl(entry.batch(), 0)) {
        types.add(ControlBatch.decode(entry.batch().duplicate()).type());
      }
    }
    return types;
  }
}
