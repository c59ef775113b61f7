package io.millrace.broker.state;

import io.millrace.broker.state.message.ProducerImage;
import io.millrace.protocol.error.ErrorCode;
import java.util.List;

/**
 * Decides whether a batch of an idempotent producer is next, a duplicate, or must wait, so that
 * what a producer sends is stored in order and once.
 *
 * <p>The rules, with five batches in flight in mind (KIP-98, and what Kafka's first-batch window
 * leaves open):
 *
 * <ul>
 *   <li>A known producer's batch is taken when its sequence is the next one. One that is further on
 *       is out of order; one that is further back is a duplicate if it is among the last five or in
 *       flight, and otherwise of unknown outcome: never a success.
 *   <li>An unknown producer is taken with sequence 0, or with any sequence when the request says
 *       <em>resume</em>: the client states that nothing else of its is unresolved here, so nothing
 *       earlier can come later. Resume also lets a known producer skip what it gave up.
 *   <li>A refused batch closes the lane until its sequence is retried. For a known producer that
 *       follows from the first rule; for an unknown one it keeps a later batch from being the
 *       first.
 *   <li>After a failure of a batch in flight nothing new is taken until the fate of the others in
 *       flight is known.
 * </ul>
 *
 * <p>Owns: the committed part, equal on all replicas and part of the checkpoint; the leader's part,
 * gone with the leadership. It has no clock: time is log time, handed in from entries.
 *
 * <p>Threads: not safe; the owner serialises all calls (the committed part changes on the FSM
 * thread only, so that thread may read it without).
 *
 * @param <H> handle of a batch that is proposed and not yet applied
 */
public final class ProducerTable<H> {

  private final CommittedProducers committed = new CommittedProducers();
  private final ProducerLanes<H> lanes = new ProducerLanes<>();
  private final int maxProducers;

  /**
   * @param maxProducers above so many remembered producers a leader takes no unknown one, which
   *     bounds memory against clients that use a new id for every batch
   */
  public ProducerTable(int maxProducers) {
    this.maxProducers = maxProducers;
  }

  /** Changes nothing; follow it with {@link #accepted} or {@link #refused}. */
  public Decision<H> decide(BatchId id, boolean resume) {
    CommittedProducers.Producer producer = committed.get(id.producerId());
    ProducerLanes.Lane<H> lane = lanes.get(id.producerId());
    if (producer != null && id.epoch() < producer.epoch()) {
      return fenced(id, producer.epoch());
    }
    if (lane != null && id.epoch() < lane.epoch()) {
      return fenced(id, lane.epoch());
    }
    BatchWindow window = window(id, producer);
    Decision<H> duplicate = duplicate(id, window, lane);
    if (duplicate != null) {
      return duplicate;
    }
    if (lane != null && lane.draining()) {
      return refuse(
          ErrorCode.OUT_OF_ORDER_SEQUENCE,
          id + ": the outcome of earlier batches in flight is not known yet; send again");
    }
    int first = id.firstSequence();
    if (!resume && lane != null && lane.epoch() == id.epoch() && isAfterClosing(lane, first)) {
      return refuse(
          ErrorCode.OUT_OF_ORDER_SEQUENCE,
          id + ": sequence " + lane.closedAt() + " was refused and must be sent again first");
    }
    int last = lastSequence(id, window, lane);
    return last == Sequences.NONE
        ? decideUnknown(id, resume, producer != null)
        : decideKnown(id, resume, Sequences.next(last));
  }

  private BatchWindow window(BatchId id, CommittedProducers.Producer producer) {
    return producer != null && producer.epoch() == id.epoch() ? producer.window() : null;
  }

  /** Of what is in flight, else of what is stored; NONE = the producer is unknown in its epoch. */
  private int lastSequence(BatchId id, BatchWindow window, ProducerLanes.Lane<H> lane) {
    int last = lane == null ? Sequences.NONE : lane.lastSequence(id.epoch());
    return last == Sequences.NONE && window != null ? window.newestSequence() : last;
  }

  private Decision<H> duplicate(BatchId id, BatchWindow window, ProducerLanes.Lane<H> lane) {
    H pending = lane == null ? null : lane.find(id);
    if (pending != null) {
      return new Decision.DuplicatePending<>(pending);
    }
    int age = window == null ? -1 : window.find(id.firstSequence(), id.lastSequence());
    return age < 0 ? null : new Decision.Duplicate<>(window.baseOffset(age), window.term(age));
  }

  private boolean isAfterClosing(ProducerLanes.Lane<H> lane, int first) {
    return lane.closedAt() != Sequences.NONE && Sequences.distance(lane.closedAt(), first) > 0;
  }

  private Decision<H> decideUnknown(BatchId id, boolean resume, boolean idIsKnown) {
    if (id.firstSequence() != 0 && !resume) {
      return refuse(
          ErrorCode.UNKNOWN_PRODUCER,
          id
              + " is not known here and does not start at sequence 0; resume with nothing else"
              + " unresolved");
    }
    if (!idIsKnown && committed.size() >= maxProducers) {
      return refuse(
          ErrorCode.THROTTLED,
          id
              + " is new, but this partition already remembers "
              + committed.size()
              + " producers (limit "
              + maxProducers
              + "); reuse producers, or wait until idle ones are forgotten");
    }
    return new Decision.Accept<>();
  }

  private Decision<H> decideKnown(BatchId id, boolean resume, int expected) {
    int ahead = Sequences.distance(expected, id.firstSequence());
    if (ahead == 0 || (ahead > 0 && resume)) {
      return new Decision.Accept<>();
    }
    if (ahead > 0) {
      return refuse(
          ErrorCode.OUT_OF_ORDER_SEQUENCE, id + ": the next sequence here is " + expected);
    }
    return refuse(
        ErrorCode.SEQUENCE_BELOW_WINDOW,
        id
            + ": the next sequence here is "
            + expected
            + " and this batch is not one of the last "
            + BatchWindow.CAPACITY
            + ", so whether it was stored is not known");
  }

  private Decision<H> fenced(BatchId id, short epoch) {
    return refuse(
        ErrorCode.PRODUCER_FENCED, id + ": epoch " + epoch + " of this producer is in use");
  }

  private Decision<H> refuse(ErrorCode code, String text) {
    return new Decision.Refuse<>(code, text);
  }

  /** The batch is about to be proposed. */
  public void accepted(BatchId id, H handle) {
    lanes.accepted(id, handle);
  }

  /** The batch was not proposed, for whatever reason: closes the lane. */
  public void refused(BatchId id) {
    CommittedProducers.Producer producer = committed.get(id.producerId());
    if (producer != null && id.epoch() < producer.epoch()) {
      return;
    }
    ProducerLanes.Lane<H> lane = lanes.get(id.producerId());
    int last = lastSequence(id, window(id, producer), lane);
    if (last != Sequences.NONE
        && Sequences.distance(Sequences.next(last), id.firstSequence()) < 0) {
      // Too old to be taken ever again: waiting for it would keep the lane closed for good.
      lanes.reopen(id);
    } else {
      lanes.refused(id);
    }
  }

  /**
   * The batch is committed.
   *
   * @return the handle it had here while in flight, or null
   */
  public H applied(BatchId id, long baseOffset, long term, long logTime) {
    committed.applied(id, baseOffset, term, logTime);
    return lanes.applied(id);
  }

  /**
   * The proposal failed.
   *
   * @param certainlyNotAppended false: it may still be applied, so it stays in flight
   */
  public void failed(BatchId id, H handle, boolean certainlyNotAppended) {
    lanes.failed(id, handle, certainlyNotAppended);
  }

  /** Leadership of the same term goes on after an interruption. */
  public void resumed() {
    lanes.resumed();
  }

  /** Leadership is lost: forgets the leader's part, returns the handles that were in flight. */
  public List<H> clearPending() {
    return lanes.clear();
  }

  /** Forgets producers whose last batch has a smaller log time; returns how many. */
  public int expire(long idleSinceBefore) {
    return committed.expire(idleSinceBefore);
  }

  /** Log time of the producer that has been idle longest; Long.MAX_VALUE when there is none. */
  public long oldestLogTime() {
    return committed.oldestLogTime();
  }

  /** Producers remembered. */
  public int size() {
    return committed.size();
  }

  /** Lanes of the leader's part: with batches in flight, and closed without any. */
  public int laneCount() {
    return lanes.busyLanes() + lanes.idleLanes();
  }

  public List<ProducerImage> toImage() {
    return committed.toImage();
  }

  public void restore(List<ProducerImage> images) {
    committed.restore(images);
  }
}
