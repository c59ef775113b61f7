package io.millrace.client.fake;

import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.error.ErrorCode;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

/** The rules of a partition for idempotent producers, as the design states them. */
final class FakeProducers {

  record Stored(int firstSequence, int lastSequence, long baseOffset) {}

  /** Accept = both null; duplicate = where it went; else the refusal. */
  record Decision(Stored duplicate, ErrorCode refusal) {
    static final Decision ACCEPT = new Decision(null, null);

    static Decision refuse(ErrorCode code) {
      return new Decision(null, code);
    }
  }

  private static final int WINDOW = 5;

  private static final class Producer {
    short epoch;
    final Deque<Stored> window = new ArrayDeque<>();
  }

  private final Map<Long, Producer> producers = new HashMap<>();
  private final Map<Long, Integer> closedAt = new HashMap<>();

  Decision decide(BatchHeader batch, boolean resume) {
    Producer producer = producers.get(batch.producerId());
    if (producer != null && batch.producerEpoch() < producer.epoch) {
      return Decision.refuse(ErrorCode.PRODUCER_FENCED);
    }
    int first = batch.baseSequence();
    if (producer != null && producer.epoch == batch.producerEpoch()) {
      for (Stored stored : producer.window) {
        if (stored.firstSequence() == first && stored.lastSequence() == batch.lastSequence()) {
          return new Decision(stored, null);
        }
      }
    }
    Integer closed = closedAt.get(batch.producerId());
    if (!resume && closed != null && first > closed) {
      return Decision.refuse(ErrorCode.OUT_OF_ORDER_SEQUENCE);
    }
    if (producer == null || producer.window.isEmpty()) {
      return first == 0 || resume ? Decision.ACCEPT : Decision.refuse(ErrorCode.UNKNOWN_PRODUCER);
    }
    int expected = producer.window.peekLast().lastSequence() + 1;
    if (first == expected || first > expected && resume) {
      return Decision.ACCEPT;
    }
    return Decision.refuse(
        first > expected ? ErrorCode.OUT_OF_ORDER_SEQUENCE : ErrorCode.SEQUENCE_BELOW_WINDOW);
  }

  /** Closes the lane until the sequence is retried. */
  void refused(BatchHeader batch) {
    Producer producer = producers.get(batch.producerId());
    if (producer != null
        && !producer.window.isEmpty()
        && batch.baseSequence() <= producer.window.peekLast().lastSequence()) {
      return;
    }
    closedAt.merge(batch.producerId(), batch.baseSequence(), Math::min);
  }

  void applied(BatchHeader batch, long baseOffset) {
    closedAt.remove(batch.producerId());
    Producer producer = producers.computeIfAbsent(batch.producerId(), id -> new Producer());
    producer.epoch = batch.producerEpoch();
    producer.window.addLast(new Stored(batch.baseSequence(), batch.lastSequence(), baseOffset));
    if (producer.window.size() > WINDOW) {
      producer.window.removeFirst();
    }
  }

  void forgetAll() {
    producers.clear();
    closedAt.clear();
  }

  /** What a new leader knows: the log, not which lanes were closed. */
  void newLeader() {
    closedAt.clear();
  }
}
