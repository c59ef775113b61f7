package io.millrace.client.producer;

import com.google.protobuf.ByteString;
import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.Receipt;
import io.millrace.client.internal.Ticks;
import io.millrace.protocol.batch.BatchWriter;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * The batches for one partition, from the first record to the receipt, and the producer's sequence
 * there. The rules of sending are in {@link LaneState}.
 *
 * <p>Owns: the queue of batches that were never sent; the last may take more records.
 *
 * <p>Threads: the queue is guarded by this object's lock, held for an append or a look; {@link
 * #state} belongs to the sender thread.
 */
final class PartitionLane {

  enum Appended {
    /** Into a batch that was there. */
    DONE,
    /** Into a new batch: the sender must know. */
    DONE_NEW_BATCH,
    /** Into a new batch, behind one that is complete now. */
    DONE_CLOSED_BATCH,
    /** Nothing done: it would begin a batch, which was not wanted. */
    NEEDS_BATCH,
    /** The same, and the batch before is complete now. */
    NEEDS_BATCH_CLOSED_ONE,
    NO_MEMORY,
    /** Nothing done: the topic is gone or the producer closed; look again. */
    GONE
  }

  /** As time of sending: now. */
  static final long NOW = -1;

  /** A batch takes no records after so long, so that each has most of its delivery timeout. */
  private static final long MOST_OPEN_MILLIS = 1_000;

  private final String topic;
  private final ByteString topicId;
  private final int partition;
  private final ProducerConfig config;
  private final MemoryBudget budget;
  private final int batchBytes;
  private final long openMillis;

  private final ArrayDeque<ProducerBatch> queue = new ArrayDeque<>();
  private boolean gone;
  private boolean registered;

  final LaneState state = new LaneState(this);

  PartitionLane(
      String topic,
      ByteString topicId,
      int partition,
      int batchBytes,
      ProducerConfig config,
      MemoryBudget budget) {
    this.topic = topic;
    this.topicId = topicId;
    this.partition = partition;
    this.batchBytes = batchBytes;
    this.config = config;
    this.budget = budget;
    this.openMillis = Math.max(MOST_OPEN_MILLIS, config.lingerMillis());
  }

  String topic() {
    return topic;
  }

  ByteString topicId() {
    return topicId;
  }

  int partition() {
    return partition;
  }

  /**
   * Any thread.
   *
   * @param recordBytes upper bound of what the record takes in a batch
   * @param nowMillis when it was sent, wall clock
   * @param sentNanos the same in {@link Ticks}, or NOW, which saves a look at the clock
   * @param mayBegin whether a new batch may begin here; see the sticky choice of {@link TopicRoute}
   * @param force take memory beyond the limit
   */
  synchronized Appended append(
      ProducerRecord record,
      long recordBytes,
      long nowMillis,
      long sentNanos,
      CompletableFuture<Receipt> future,
      boolean mayBegin,
      boolean force) {
    if (gone) {
      return Appended.GONE;
    }
    long timestamp = record.timestampMillis() == null ? nowMillis : record.timestampMillis();
    ProducerBatch last = queue.peekLast();
    boolean closedOne = false;
    if (last != null && !last.full) {
      if (last.hasRoom(recordBytes, batchBytes) && nowMillis - last.createdMillis <= openMillis) {
        if (!last.reserve(recordBytes, force)) {
          return Appended.NO_MEMORY;
        }
        if (last.tryAppend(timestamp, record, future)) {
          return Appended.DONE;
        }
      }
      last.full = true;
      closedOne = true;
    }
    if (!mayBegin) {
      return closedOne ? Appended.NEEDS_BATCH_CLOSED_ONE : Appended.NEEDS_BATCH;
    }
    ProducerBatch batch =
        new ProducerBatch(
            this,
            budget,
            new BatchWriter(config.compression(), batchBytes),
            sentNanos == NOW ? Ticks.now() : sentNanos,
            nowMillis);
    if (!batch.reserve(recordBytes, force)) {
      return Appended.NO_MEMORY;
    }
    batch.tryAppend(timestamp, record, future);
    queue.addLast(batch);
    return closedOne ? Appended.DONE_CLOSED_BATCH : Appended.DONE_NEW_BATCH;
  }

  /** True once per stay with the sender: the caller hands the lane to it. */
  synchronized boolean register() {
    boolean first = !registered;
    registered = true;
    return first;
  }

  /** Sender: ends the stay if nothing is queued. */
  synchronized boolean unregisterIfIdle() {
    if (!queue.isEmpty()) {
      return false;
    }
    registered = false;
    return true;
  }

  /**
   * Sender: the next batch if it is time for it, removed from the queue.
   *
   * @param flushNanos batches begun until then do not wait for the linger time
   */
  synchronized ProducerBatch pollDue(long nowNanos, long flushNanos) {
    ProducerBatch head = queue.peekFirst();
    if (head == null) {
      return null;
    }
    boolean due =
        head.full
            || queue.size() > 1
            || nowNanos - head.createdNanos >= lingerNanos()
            || head.createdNanos <= flushNanos;
    return due ? queue.pollFirst() : null;
  }

  /** Sender: when the first queued batch must be sent; {@link Ticks#NEVER} when there is none. */
  synchronized long dueNanos() {
    ProducerBatch head = queue.peekFirst();
    return head == null ? Ticks.NEVER : head.createdNanos + lingerNanos();
  }

  /** Sender: creation of the first queued batch; {@link Ticks#NEVER} when there is none. */
  synchronized long oldestNanos() {
    ProducerBatch head = queue.peekFirst();
    return head == null ? Ticks.NEVER : head.createdNanos;
  }

  /** Sender: batches begun before that time, in order, removed. */
  synchronized List<ProducerBatch> pollBegunBefore(long nanos) {
    List<ProducerBatch> old = List.of();
    while (!queue.isEmpty() && queue.peekFirst().createdNanos < nanos) {
      if (old.isEmpty()) {
        old = new ArrayList<>();
      }
      old.add(queue.pollFirst());
    }
    return old;
  }

  /** Sender: takes everything; no record is appended here afterwards. */
  synchronized List<ProducerBatch> retire() {
    gone = true;
    List<ProducerBatch> left = new ArrayList<>(queue);
    queue.clear();
    return left;
  }

  private long lingerNanos() {
    return TimeUnit.MILLISECONDS.toNanos(config.lingerMillis());
  }
}
