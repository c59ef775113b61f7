package io.millrace.broker.partition;

import io.millrace.broker.raft.ProposalCallback;
import io.millrace.broker.raft.ProposalFailure;
import io.millrace.broker.state.BatchId;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.ProduceResult;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * One entry that a sequencer proposed.
 *
 * <p>Threads: fields that change are guarded by the sequencer's state lock. A proposal settles
 * once: by apply, by failure, or because its leadership or its partition ended; whatever comes
 * later changes no answer.
 */
abstract sealed class Proposal implements ProposalCallback {

  final Sequencer sequencer;
  final ByteBuffer batch;
  final long term;
  private boolean settled;

  private Proposal(Sequencer sequencer, ByteBuffer batch, long term) {
    this.sequencer = sequencer;
    this.batch = batch;
    this.term = term;
  }

  /** Bytes that admission control counts. */
  abstract int chargedBytes();

  /** False when it was settled before. */
  final boolean settle() {
    boolean first = !settled;
    settled = true;
    return first;
  }

  @Override
  public final void failed(ProposalFailure failure) {
    sequencer.failed(this, failure);
  }

  /** An entry of the leader's own, such as TIME: nobody waits for it. */
  static final class OfControl extends Proposal {

    OfControl(Sequencer sequencer, ByteBuffer batch, long term) {
      super(sequencer, batch, term);
    }

    @Override
    int chargedBytes() {
      return 0;
    }
  }

  /** A move of the log start, with the one who wants to know its outcome. */
  static final class OfLogStart extends Proposal {

    /** Gets an empty error when the move is applied. */
    final Consumer<ErrorInfo> done;

    OfLogStart(Sequencer sequencer, ByteBuffer batch, long term, Consumer<ErrorInfo> done) {
      super(sequencer, batch, term);
      this.done = done;
    }

    @Override
    int chargedBytes() {
      return 0;
    }
  }

  /** A producer's batch, with those who wait for its outcome. */
  static final class OfRecords extends Proposal {

    /** Retries of one batch in flight that may wait; a client has at most one at a time. */
    static final int MAX_PARKED = 8;

    /** Null for a producer without an id. */
    final BatchId id;

    private Consumer<ProduceResult> done;
    private List<Consumer<ProduceResult>> parked = List.of();

    OfRecords(
        Sequencer sequencer,
        ByteBuffer batch,
        long term,
        BatchId id,
        Consumer<ProduceResult> done) {
      super(sequencer, batch, term);
      this.id = id;
      this.done = done;
    }

    @Override
    int chargedBytes() {
      return batch.remaining();
    }

    /** False when too many wait already. */
    boolean park(Consumer<ProduceResult> retry) {
      if (parked.size() >= MAX_PARKED) {
        return false;
      }
      if (parked.isEmpty()) {
        parked = new ArrayList<>(2);
      }
      parked.add(retry);
      return true;
    }

    /** The first sender; null when it has its answer. */
    Consumer<ProduceResult> takeFirst() {
      Consumer<ProduceResult> first = done;
      done = null;
      return first;
    }

    List<Consumer<ProduceResult>> takeParked() {
      List<Consumer<ProduceResult>> waiting = parked;
      parked = List.of();
      return waiting;
    }
  }
}
