package io.millrace.client.producer;

import io.millrace.client.internal.Ticks;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Sequences and attempts of one partition's batches: what may be sent next, and what follows from
 * an answer.
 *
 * <p>A batch gets its sequence when it is sent first and keeps it, with its producer id, through
 * all attempts: a copy of an earlier attempt that is still on its way somewhere (a paused broker, a
 * socket buffer, a deposed leader) is then the same batch for every broker, and is either stored as
 * it or recognised as a duplicate. Sequences are never given to other records, also not those of a
 * batch that was refused for good.
 *
 * <p><b>Order.</b> After an attempt fails nothing is sent until all attempts under way are decided;
 * then the undecided batches are sent again in sequence order: the first alone, until it is stored,
 * the others behind it. A broker takes only the next sequence, so what it refused with a gap before
 * it cannot have been stored around the gap.
 *
 * <p><b>A batch that ends for good without being stored</b> (refused, or its time is over) leaves a
 * gap. The batch after it carries <em>resume</em>, which lets the broker skip sequences, and it is
 * sent alone: nothing older is undecided, and everything younger follows when it is stored.
 *
 * <p><b>A batch that ends with its outcome unknown</b> may have been stored, may be on its way, or
 * be lost. Why the later batches are neither lost, doubled nor reordered by going on with
 * <em>resume</em> under the same producer id and epoch:
 *
 * <ul>
 *   <li>It is stored or proposed at the leader: the later batch has the next sequence there and
 *       follows it.
 *   <li>It is not: the later batch is accepted with a gap. A copy that arrives afterwards is below
 *       the partition's last sequence and not among its last five batches: the broker refuses it
 *       (SEQUENCE_BELOW_WINDOW), also when it carries resume itself. So the unknown batch is stored
 *       before every later one, once, or never.
 *   <li>A deposed leader may accept a copy, but cannot commit it once the new leader has committed
 *       the later batch; and a new leader has applied every entry of its log before it accepts.
 *   <li>The later batches may themselves have been sent behind the unknown one. That is why a new
 *       epoch is not the answer: they would have to get new sequences, and a copy under the old
 *       ones could be stored beside them. With the old ones they are duplicates of themselves.
 * </ul>
 *
 * <p>What it rests on: the broker remembers a producer for longer than the delivery timeout, and
 * resume never takes a sequence at or below the last one it knows.
 *
 * <p><b>The window</b> of batches in flight is counted from the oldest undecided one, not by how
 * many are undecided: answers may overtake each other, and a batch whose answer is missing while
 * five later ones are stored would no longer be among the five that brokers recognise.
 *
 * <p>A producer id that a broker calls fenced is given up: batches that were sent under it end, the
 * others go on under a new id from sequence 0.
 *
 * <p>Threads: the sender's only. Pure: time comes in as an argument.
 */
final class LaneState {

  static final long NO_PRODUCER_ID = -1;

  /** Brokers count sequences from 0 to this, then from 0 again. */
  private static final int SEQUENCE_MASK = Integer.MAX_VALUE;

  private static final short EPOCH = 0;

  private static final long NO_GAP = Long.MAX_VALUE;

  private final PartitionLane lane;

  /** Sent at least once and undecided, in sequence order. */
  private final ArrayDeque<ProducerBatch> unresolved = new ArrayDeque<>();

  private long producerId = NO_PRODUCER_ID;
  private int nextSequence;
  private int inFlight;
  private boolean draining;

  /** Batches from this place on need resume, NO_GAP = none: the one before it is not stored. */
  private long gapBefore = NO_GAP;

  private long nextPlace;
  private boolean idFenced;
  private int failures;
  private long notBeforeNanos;

  /** The leader was where the last failure came from, and may not be it any more; 0 = no doubt. */
  private int doubtedLeader;

  private String lastFailure = "";

  LaneState(PartitionLane lane) {
    this.lane = lane;
  }

  /** False while attempts under way, or a wait, stand before anything that could be sent. */
  private boolean maySend(long nowNanos) {
    return nowNanos >= notBeforeNanos && !((draining || failures > 0) && inFlight > 0);
  }

  /** When the wait after a failure ends. */
  long notBeforeNanos() {
    return notBeforeNanos;
  }

  /**
   * The batch to send now, or null. Its attempt must be set by {@link #sent}.
   *
   * @param currentProducerId of the producer, for lanes that begin; NO_PRODUCER_ID = not known yet
   */
  ProducerBatch next(long nowNanos, long flushNanos, int maxInFlight, long currentProducerId) {
    if (!maySend(nowNanos)) {
      return null;
    }
    draining = false;
    for (ProducerBatch batch : unresolved) {
      if (!batch.inFlight()) {
        boolean wait = resumes(batch) && unresolved.peekFirst() != batch;
        return wait ? null : batch;
      }
    }
    if (windowFull(maxInFlight) || gapBefore != NO_GAP && !unresolved.isEmpty()) {
      return null;
    }
    if (idFenced) {
      if (!unresolved.isEmpty()) {
        return null;
      }
      producerId = NO_PRODUCER_ID;
    }
    if (producerId == NO_PRODUCER_ID) {
      if (currentProducerId == NO_PRODUCER_ID) {
        return null;
      }
      producerId = currentProducerId;
      nextSequence = 0;
      gapBefore = NO_GAP;
      idFenced = false;
    }
    ProducerBatch batch = lane.pollDue(nowNanos, flushNanos);
    if (batch == null) {
      return null;
    }
    // If this throws, the batch has used no sequence; the caller ends it.
    batch.build(producerId, EPOCH, nextSequence);
    batch.place = nextPlace++;
    nextSequence = nextSequence + batch.recordCount() & SEQUENCE_MASK;
    unresolved.addLast(batch);
    return batch;
  }

  /**
   * The broker remembers the last batches by count: the oldest undecided one must stay among them,
   * also when later ones are decided before it.
   */
  private boolean windowFull(int maxInFlight) {
    ProducerBatch oldest = unresolved.peekFirst();
    return oldest != null && nextPlace - oldest.place >= maxInFlight;
  }

  /** Whether this batch must carry resume. */
  boolean resumes(ProducerBatch batch) {
    return batch.place >= gapBefore;
  }

  /** A lane with failures sends apart from the others, whose answers would wait for it. */
  boolean inTrouble() {
    return failures > 0;
  }

  void sent(ProducerBatch batch, ProduceAttempt attempt) {
    batch.attempt = attempt;
    inFlight++;
  }

  /** The attempt is over, in whatever way; one of the methods below says how. */
  private void ended(ProducerBatch batch) {
    if (batch.attempt != null) {
      batch.attempt = null;
      inFlight--;
    }
  }

  void stored(ProducerBatch batch) {
    ended(batch);
    unresolved.remove(batch);
    if (resumes(batch)) {
      gapBefore = NO_GAP;
    }
    failures = 0;
    notBeforeNanos = 0;
    doubtedLeader = 0;
    lastFailure = "";
  }

  /**
   * The batch is to be sent again.
   *
   * @param gap the broker misses what is before it, or does not know the producer
   */
  void failed(ProducerBatch batch, boolean maybeStored, boolean gap, String reason) {
    ended(batch);
    batch.maybeStored |= maybeStored;
    if (!draining) {
      draining = true;
      failures++;
    }
    lastFailure = reason;
    if (gap && unresolved.peekFirst() == batch && gapBefore == NO_GAP) {
      gapBefore = batch.place;
    }
  }

  /** The last failure may mean that this broker does not lead. */
  void doubtLeader(int broker) {
    doubtedLeader = broker;
  }

  /** Whether another leader is looked for. */
  boolean doubtsLeader() {
    return doubtedLeader != 0;
  }

  /** The wait after a failure was for that leader, not for a new one. */
  void leaderIs(int broker) {
    if (doubtedLeader != 0 && broker != doubtedLeader) {
      doubtedLeader = 0;
      notBeforeNanos = 0;
    }
  }

  /** Why nothing can be sent now. */
  void blocked(String reason) {
    lastFailure = reason;
  }

  /** Nothing is sent before this time. */
  void waitUntil(long nanos) {
    notBeforeNanos = Math.max(notBeforeNanos, nanos);
  }

  int failures() {
    return failures;
  }

  String lastFailure() {
    return lastFailure;
  }

  /** The batch ends without being stored, as far as is known: it leaves a gap. */
  void endedForGood(ProducerBatch batch, String reason) {
    ended(batch);
    unresolved.remove(batch);
    draining = true;
    gapBefore = gapBefore == NO_GAP ? batch.place + 1 : Math.max(gapBefore, batch.place + 1);
    if (lastFailure.isEmpty()) {
      // What an attempt met says more than that its batch ended, whose text repeats it.
      lastFailure = reason;
    }
  }

  void producerFenced() {
    idFenced = true;
  }

  long producerId() {
    return producerId;
  }

  int inFlight() {
    return inFlight;
  }

  boolean idle() {
    return unresolved.isEmpty();
  }

  /** Creation of the oldest undecided batch that was sent, NEVER when there is none. */
  long oldestNanos() {
    ProducerBatch oldest = unresolved.peekFirst();
    return oldest == null ? Ticks.NEVER : oldest.createdNanos;
  }

  /** The same of those that are not under way. */
  long oldestWaitingNanos() {
    for (ProducerBatch batch : unresolved) {
      if (!batch.inFlight()) {
        return batch.createdNanos;
      }
    }
    return Ticks.NEVER;
  }

  /** Under way to another broker than this since before that time. */
  List<ProducerBatch> underWayElsewhere(int leader, long sentBeforeNanos) {
    List<ProducerBatch> elsewhere = List.of();
    for (ProducerBatch batch : unresolved) {
      ProduceAttempt attempt = batch.attempt;
      if (attempt != null && attempt.broker != leader && attempt.sentNanos < sentBeforeNanos) {
        if (elsewhere.isEmpty()) {
          elsewhere = new ArrayList<>();
        }
        elsewhere.add(batch);
      }
    }
    return elsewhere;
  }

  /** When the oldest attempt under way was sent, NEVER when there is none. */
  long oldestAttemptNanos() {
    long oldest = Ticks.NEVER;
    for (ProducerBatch batch : unresolved) {
      if (batch.attempt != null) {
        oldest = Math.min(oldest, batch.attempt.sentNanos);
      }
    }
    return oldest;
  }

  /** Batches begun before that time and not under way. */
  List<ProducerBatch> begunBefore(long nanos) {
    List<ProducerBatch> old = List.of();
    for (ProducerBatch batch : unresolved) {
      if (batch.createdNanos < nanos && !batch.inFlight()) {
        if (old.isEmpty()) {
          old = new ArrayList<>();
        }
        old.add(batch);
      }
    }
    return old;
  }

  /** Everything undecided, removed. */
  List<ProducerBatch> takeAll() {
    List<ProducerBatch> all = new ArrayList<>(unresolved);
    unresolved.clear();
    return all;
  }
}
