package io.millrace.broker.state;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The leader's part of the producer table: batches that are proposed and not yet applied, and lanes
 * that a refused batch closed. Lost with the leadership, and rebuilt by the clients' retries.
 *
 * <p>Owns: one lane per producer with anything to remember. Lanes with batches in flight are as
 * many as admission control lets in; of the others the oldest are forgotten, which is safe: what is
 * then left of the rules still refuses a batch that is neither next, first nor a resumption.
 *
 * @param <H> handle of a batch in flight
 */
final class ProducerLanes<H> {

  static final int MAX_IDLE_LANES = 10_000;

  private static final class Pending<H> {
    final BatchId id;
    final H handle;

    Pending(BatchId id, H handle) {
      this.id = id;
      this.handle = handle;
    }
  }

  static final class Lane<H> {
    private final ArrayDeque<Pending<H>> pending = new ArrayDeque<>(8);
    private short epoch;
    private int closedAt = Sequences.NONE;
    private boolean draining;

    short epoch() {
      return epoch;
    }

    /** Sequence that must be retried before a later one is taken; NONE = lane open. */
    int closedAt() {
      return closedAt;
    }

    /**
     * True while a batch in flight decides what comes next: one of them failed, or raft may have
     * rejected some of them, so the log may already hold a later one.
     */
    boolean draining() {
      return draining;
    }

    H find(BatchId id) {
      for (Pending<H> batch : pending) {
        if (batch.id.equals(id)) {
          return batch.handle;
        }
      }
      return null;
    }

    /** Last sequence in flight of that epoch; NONE = nothing in flight. */
    int lastSequence(short ofEpoch) {
      Pending<H> last = pending.peekLast();
      return last == null || last.id.epoch() != ofEpoch ? Sequences.NONE : last.id.lastSequence();
    }

    private void closeAt(BatchId id) {
      if (id.epoch() > epoch) {
        epoch = id.epoch();
        closedAt = id.firstSequence();
      } else if (id.epoch() == epoch
          && (closedAt == Sequences.NONE || Sequences.distance(closedAt, id.firstSequence()) < 0)) {
        closedAt = id.firstSequence();
      }
    }
  }

  private final Map<Long, Lane<H>> busy = new HashMap<>();
  private final Map<Long, Lane<H>> idle =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, Lane<H>> eldest) {
          return size() > MAX_IDLE_LANES;
        }
      };

  Lane<H> get(long producerId) {
    Lane<H> lane = busy.get(producerId);
    return lane != null ? lane : idle.get(producerId);
  }

  void accepted(BatchId id, H handle) {
    Lane<H> lane = busy.get(id.producerId());
    if (lane == null) {
      lane = idle.remove(id.producerId());
      if (lane == null) {
        lane = new Lane<>();
      }
      busy.put(id.producerId(), lane);
    }
    lane.epoch = id.epoch();
    lane.closedAt = Sequences.NONE;
    lane.pending.addLast(new Pending<>(id, handle));
  }

  void refused(BatchId id) {
    Lane<H> lane = get(id.producerId());
    if (lane == null) {
      lane = new Lane<>();
      lane.epoch = id.epoch();
      idle.put(id.producerId(), lane);
    }
    lane.closeAt(id);
  }

  /** Ends the wait for a sequence that was retried and can never be taken. */
  void reopen(BatchId id) {
    Lane<H> lane = get(id.producerId());
    if (lane == null || lane.epoch != id.epoch() || lane.closedAt != id.firstSequence()) {
      return;
    }
    if (!lane.draining) {
      lane.closedAt = Sequences.NONE;
      idle.remove(id.producerId());
    }
  }

  /** Returns the handle of the batch that was in flight with this identity, or null. */
  H applied(BatchId id) {
    Lane<H> lane = busy.get(id.producerId());
    if (lane == null) {
      return null;
    }
    for (Iterator<Pending<H>> oldestFirst = lane.pending.iterator(); oldestFirst.hasNext(); ) {
      Pending<H> batch = oldestFirst.next();
      if (batch.id.equals(id)) {
        oldestFirst.remove();
        settle(id.producerId(), lane);
        return batch.handle;
      }
    }
    return null;
  }

  void failed(BatchId id, H handle, boolean certainlyNotAppended) {
    Lane<H> lane = busy.get(id.producerId());
    if (lane == null) {
      return;
    }
    for (Iterator<Pending<H>> batches = lane.pending.iterator(); batches.hasNext(); ) {
      if (batches.next().handle == handle) {
        if (certainlyNotAppended) {
          batches.remove();
          lane.closeAt(id);
        }
        lane.draining = true;
        settle(id.producerId(), lane);
        return;
      }
    }
  }

  /** The same term goes on after an interruption in which raft may have rejected batches. */
  void resumed() {
    busy.values().forEach(lane -> lane.draining = true);
  }

  /** Forgets everything; returns the handles that were in flight. */
  List<H> clear() {
    List<H> handles = new ArrayList<>();
    for (Lane<H> lane : busy.values()) {
      lane.pending.forEach(batch -> handles.add(batch.handle));
    }
    busy.clear();
    idle.clear();
    return handles;
  }

  int busyLanes() {
    return busy.size();
  }

  int idleLanes() {
    return idle.size();
  }

  private void settle(long producerId, Lane<H> lane) {
    if (!lane.pending.isEmpty()) {
      return;
    }
    lane.draining = false;
    busy.remove(producerId);
    if (lane.closedAt != Sequences.NONE) {
      idle.put(producerId, lane);
    }
  }
}
