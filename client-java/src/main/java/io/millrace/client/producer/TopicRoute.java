package io.millrace.client.producer;

import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.Receipt;
import io.millrace.client.internal.Ticks;
import io.millrace.client.metadata.TopicView;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;

/**
 * Where the records of one topic go. Until the topic is known they wait here, in order.
 *
 * <p>Threads: any; the waiting records are guarded by this object's lock, which is not taken any
 * more once the topic is known.
 */
final class TopicRoute {

  /** What a broker allows a batch beyond the topic's largest record. */
  static final int BATCH_OVERHEAD_BYTES = 128;

  /** Never lowers a batch below what a header and a few records need. */
  private static final int MIN_BATCH_BYTES = 256;

  /** The topic as it was when it became known. */
  record Known(TopicView view, PartitionLane[] lanes) {

    /** Largest batch, header included, that a single record may make; 0 = not limited. */
    long maxRecordBatchBytes() {
      return view.maxRecordBytes() == 0 ? 0 : (long) view.maxRecordBytes() + BATCH_OVERHEAD_BYTES;
    }
  }

  record Waiting(
      ProducerRecord record,
      CompletableFuture<Receipt> future,
      long memoryBytes,
      long sinceNanos) {}

  private final String topic;
  private final BooleanSupplier finished;
  private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
  private volatile boolean gone;
  private volatile Known known;
  private volatile int sticky = -1;

  /**
   * @param finished true once the sender makes its last sweep over all routes
   */
  TopicRoute(String topic, BooleanSupplier finished) {
    this.topic = topic;
    this.finished = finished;
  }

  String topic() {
    return topic;
  }

  /** Its topic was deleted, or the producer closed; another route must be made. */
  boolean isGone() {
    return gone;
  }

  /** Null while the topic is not known. */
  Known known() {
    return known;
  }

  enum Waits {
    YES,
    /** The topic became known meanwhile: append there. */
    KNOWN,
    GONE
  }

  /** Any thread. The memory is reserved already. */
  synchronized Waits enqueue(Waiting record) {
    // Asked under the lock: a route that the sweep did not see was made before it began.
    if (gone || finished.getAsBoolean()) {
      return Waits.GONE;
    }
    if (known != null) {
      return Waits.KNOWN;
    }
    waiting.addLast(record);
    return Waits.YES;
  }

  /**
   * Sender: the topic is known. Waiting records are appended before any other sees the lanes.
   *
   * @param append puts one record into its lane
   */
  synchronized void resolve(
      TopicView view,
      ProducerConfig config,
      MemoryBudget budget,
      BiConsumer<Known, Waiting> append) {
    int batchBytes = config.batchBytes();
    if (view.maxRecordBytes() > 0) {
      long most = (long) view.maxRecordBytes() + BATCH_OVERHEAD_BYTES;
      batchBytes = (int) Math.max(MIN_BATCH_BYTES, Math.min(batchBytes, most));
    }
    PartitionLane[] lanes = new PartitionLane[view.partitions()];
    for (int p = 0; p < lanes.length; p++) {
      lanes[p] = new PartitionLane(topic, view.id(), p, batchBytes, config, budget);
    }
    Known fresh = new Known(view, lanes);
    while (!waiting.isEmpty()) {
      append.accept(fresh, waiting.pollFirst());
    }
    known = fresh;
  }

  /** Sender: records that wait since before that time, removed, in order. */
  synchronized List<Waiting> waitingSinceBefore(long nanos) {
    List<Waiting> old = new ArrayList<>();
    while (!waiting.isEmpty() && waiting.peekFirst().sinceNanos() < nanos) {
      old.add(waiting.pollFirst());
    }
    return old;
  }

  /** Sender: since when the oldest record waits, NEVER when none does. */
  synchronized long oldestNanos() {
    Waiting oldest = waiting.peekFirst();
    return oldest == null ? Ticks.NEVER : oldest.sinceNanos();
  }

  /** Sender: ends the route if nothing waits here; whoever comes next makes another. */
  synchronized boolean retireIfEmpty() {
    gone |= waiting.isEmpty();
    return gone;
  }

  /** Sender: takes what waits; the route is not used afterwards. */
  synchronized List<Waiting> retire() {
    gone = true;
    List<Waiting> left = new ArrayList<>(waiting);
    waiting.clear();
    return left;
  }

  /** The partition of records without a key, until the batch there is full. */
  int sticky(TopicView now) {
    int current = sticky;
    return current >= 0 ? current : nextSticky(current, now);
  }

  /**
   * Moves on to another partition, one with a leader if there is one.
   *
   * @param from the caller's last choice: of many callers only the first moves
   */
  synchronized int nextSticky(int from, TopicView now) {
    if (sticky != from) {
      return sticky;
    }
    int count = now.partitions();
    int withLeader = 0;
    for (int p = 0; p < count; p++) {
      if (p != from && now.leader(p) != TopicView.NO_LEADER) {
        withLeader++;
      }
    }
    ThreadLocalRandom random = ThreadLocalRandom.current();
    if (withLeader == 0) {
      boolean stay = from >= 0 && (count == 1 || now.leader(from) != TopicView.NO_LEADER);
      sticky = stay ? from : random.nextInt(count);
    } else {
      int choice = random.nextInt(withLeader);
      for (int p = 0; p < count; p++) {
        if (p != from && now.leader(p) != TopicView.NO_LEADER && choice-- == 0) {
          sticky = p;
          break;
        }
      }
    }
    return sticky;
  }
}
