package io.millrace.broker.partition;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.state.BatchId;
import io.millrace.broker.state.Sequences;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.ProduceResult;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * An idempotent client with up to five batches in flight, against a sequencer. It keeps to the
 * rules of the protocol and to nothing else: answers reach it in any order of batches, or never.
 * Five are counted from the oldest batch without a certain answer, whether or not those behind it
 * have theirs: the broker remembers the last five.
 */
final class ProducerModel {

  private static final int MAX_IN_FLIGHT = 5;
  private static final int RECORDS = 3;

  private enum Stage {
    NEW,
    IN_FLIGHT,
    RETRY,
    STORED,
    GIVEN_UP
  }

  private static final class Sent {
    final BatchId id;
    final ByteBuffer bytes;
    Stage stage = Stage.NEW;
    boolean resume;

    /** The broker does not know this producer: goes out again alone, and resumes. */
    boolean mustResume;

    /** An attempt ended without a certain answer, so the batch may be stored. */
    boolean maybeStored;

    long offset = -1;
    CompletableFuture<ProduceResult> answer;

    Sent(BatchId id) {
      this.id = id;
      this.bytes = Batches.of(id, 5);
    }
  }

  private record Copy(ByteBuffer bytes, boolean resume) {}

  private final SequencerFixture fixture;
  private final long producerId;
  private final List<Sent> batches = new ArrayList<>();

  /** Copies of requests that a broken connection may still deliver. */
  private final Deque<Copy> stale = new ArrayDeque<>();

  /**
   * Nothing follows a resuming batch before its answer. Needed only where sequences wrap: sequence
   * 0 behind a resuming batch that got lost would look like a start.
   */
  private final boolean resumesAlone;

  private int nextSequence;

  ProducerModel(SequencerFixture fixture, long producerId, int firstSequence) {
    this.fixture = fixture;
    this.producerId = producerId;
    this.nextSequence = firstSequence;
    this.resumesAlone = firstSequence != 0;
  }

  // --------------------------------------------------------------------------------- actions

  /** Sends the first batch that waits, a new one if none does. */
  void send(boolean lostOnTheWay) {
    if (resumesAlone && batches.stream().anyMatch(b -> b.resume && b.stage == Stage.IN_FLIGHT)) {
      return;
    }
    Sent next = firstWaiting();
    if (next == null) {
      if (span() == MAX_IN_FLIGHT) {
        return;
      }
      next = new Sent(SequencerFixture.batch(producerId, nextSequence, RECORDS));
      nextSequence = Sequences.plus(nextSequence, RECORDS);
      next.resume = batches.isEmpty() && next.id.firstSequence() != 0;
      next.resume |= !batches.isEmpty() && last().stage == Stage.GIVEN_UP && nothingUnresolved();
      if (!batches.isEmpty() && last().stage == Stage.GIVEN_UP && !next.resume) {
        nextSequence = next.id.firstSequence();
        return; // must wait until nothing else is unresolved
      }
      batches.add(next);
    }
    if (next.mustResume && !next.resume) {
      if (inFlight() > 0) {
        return;
      }
      next.resume = true;
    }
    next.stage = Stage.IN_FLIGHT;
    stale.addLast(new Copy(next.bytes, next.resume));
    if (stale.size() > 8) {
      stale.removeFirst();
    }
    next.answer = lostOnTheWay ? new CompletableFuture<>() : attempt(next.bytes, next.resume);
  }

  private CompletableFuture<ProduceResult> attempt(ByteBuffer bytes, boolean resume) {
    return fixture.send(
        Batches.request(SequencerFixture.ID, bytes).setResume(resume), bytes.duplicate());
  }

  /** The client reads the answer of one batch in flight, or gives up waiting for it. */
  void readAnswer(int which, boolean timesOut) {
    List<Sent> flying = batches.stream().filter(b -> b.stage == Stage.IN_FLIGHT).toList();
    if (flying.isEmpty()) {
      return;
    }
    Sent sent = flying.get(which % flying.size());
    if (sent.answer.isDone()) {
      read(sent, sent.answer.join());
    } else if (timesOut) {
      sent.maybeStored = true;
      sent.stage = Stage.RETRY;
    }
  }

  private void read(Sent sent, ProduceResult result) {
    if (!result.hasError()) {
      sent.stage = Stage.STORED;
      sent.offset = result.getBaseOffset();
      return;
    }
    ErrorCode code = ErrorCode.of(result.getError().getCode());
    switch (code) {
      case THROTTLED, NOT_READY, NOT_LEADER, OUT_OF_ORDER_SEQUENCE -> sent.stage = Stage.RETRY;
      case OUTCOME_UNKNOWN -> {
        sent.maybeStored = true;
        sent.stage = Stage.RETRY;
      }
      case UNKNOWN_PRODUCER -> {
        sent.stage = Stage.RETRY;
        sent.mustResume = true;
      }
      default -> throw new AssertionError(sent.id + ": " + code + " " + result);
    }
  }

  /** The delivery timeout of the oldest batch ends. */
  void giveUp() {
    Sent oldest = firstWaiting();
    if (oldest != null && inFlight() == 0 && batches.indexOf(oldest) == batches.size() - 1) {
      oldest.stage = Stage.GIVEN_UP;
    }
  }

  /** A broken connection delivers an old request after all; nobody reads the answer. */
  void deliverStale() {
    if (!stale.isEmpty()) {
      Copy copy = stale.removeFirst();
      attempt(copy.bytes, copy.resume);
    }
  }

  /** Longer ago than any network keeps a packet. */
  void forgetStale() {
    stale.clear();
  }

  // ----------------------------------------------------------------------------------- state

  private Sent last() {
    return batches.get(batches.size() - 1);
  }

  private Sent firstWaiting() {
    return batches.stream().filter(b -> b.stage == Stage.RETRY).findFirst().orElse(null);
  }

  private int inFlight() {
    return (int) batches.stream().filter(b -> b.stage == Stage.IN_FLIGHT).count();
  }

  /** Batches from the oldest unresolved one on. */
  private int span() {
    for (int i = 0; i < batches.size(); i++) {
      Stage stage = batches.get(i).stage;
      if (stage == Stage.IN_FLIGHT || stage == Stage.RETRY) {
        return batches.size() - i;
      }
    }
    return 0;
  }

  boolean nothingUnresolved() {
    return inFlight() == 0 && firstWaiting() == null;
  }

  /** Resolves everything with a broker that works. */
  void finish() {
    for (int round = 0; round < 20 * (batches.size() + 1) && !nothingUnresolved(); round++) {
      for (int i = 0; i < MAX_IN_FLIGHT; i++) {
        if (firstWaiting() != null) {
          send(false);
        }
      }
      fixture.raft.commitAll();
      for (int i = 0; i < MAX_IN_FLIGHT; i++) {
        readAnswer(0, true);
      }
    }
    assertThat(nothingUnresolved()).as("every batch ends").isTrue();
  }

  /** What was acknowledged is in the log where the receipt says, once, in order; nothing else. */
  void check() {
    List<BatchId> stored = new ArrayList<>();
    List<Long> offsets = new ArrayList<>();
    long offset = 0;
    for (BatchId id : fixture.stored()) {
      if (id != null && id.producerId() == producerId) {
        stored.add(id);
        offsets.add(offset);
      }
      offset += id == null ? 1 : RECORDS;
    }
    List<BatchId> expected = new ArrayList<>();
    for (Sent sent : batches) {
      int at = stored.indexOf(sent.id);
      if (sent.stage == Stage.STORED) {
        assertThat(at).as("%s was acknowledged and is stored", sent.id).isNotNegative();
        assertThat(offsets.get(at)).as("offset of %s", sent.id).isEqualTo(sent.offset);
        expected.add(sent.id);
      } else if (sent.stage == Stage.GIVEN_UP && at >= 0) {
        expected.add(sent.id);
      }
    }
    assertThat(stored).as("once and in order").isEqualTo(expected);
  }
}
