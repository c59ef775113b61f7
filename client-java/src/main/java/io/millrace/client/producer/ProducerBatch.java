package io.millrace.client.producer;

import io.millrace.client.FsyncPolicy;
import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.Receipt;
import io.millrace.protocol.batch.BatchWriter;
import io.millrace.protocol.error.MillraceException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;

/**
 * Records for one partition that are sent, stored and answered as one.
 *
 * <p>Owns: the records' bytes, their futures, and the memory reserved for both.
 *
 * <p>Threads: filled under the lock of its lane while it is the last in the queue; afterwards it
 * belongs to the sender thread; its futures are completed on the callback thread.
 */
final class ProducerBatch {

  private static final int FIRST_FUTURES = 16;
  private static final long FIRST_RESERVE_BYTES = 4 << 10;
  private static final long MOST_RESERVE_BYTES = 64 << 10;

  final PartitionLane lane;
  final long createdNanos;
  final long createdMillis;
  private final MemoryBudget budget;
  private final BatchWriter writer;

  @SuppressWarnings({"unchecked", "rawtypes"})
  private CompletableFuture<Receipt>[] futures = new CompletableFuture[FIRST_FUTURES];

  private int count;
  private long neededBytes;
  private long reservedBytes;

  /** Closed for records: sent as soon as it is its turn. Guarded by the lane's lock. */
  boolean full;

  // Sender thread only.
  ByteBuffer built;
  int sequence;

  /** Counts the batches of the lane in the order of their sequences, which start again some day. */
  long place;

  /** Null = not under way. */
  ProduceAttempt attempt;

  /** Its futures are complete, or handed over to be. */
  boolean decided;

  /** An attempt ended without an answer: the batch may be stored, now or later. */
  boolean maybeStored;

  ProducerBatch(
      PartitionLane lane,
      MemoryBudget budget,
      BatchWriter writer,
      long createdNanos,
      long createdMillis) {
    this.lane = lane;
    this.budget = budget;
    this.writer = writer;
    this.createdNanos = createdNanos;
    this.createdMillis = createdMillis;
  }

  boolean hasRoom(long recordBytes, int limitBytes) {
    return count == 0 || writer.estimatedBytes() + recordBytes <= limitBytes;
  }

  /**
   * False when memory is used up; then nothing has changed.
   *
   * @param force for records that were counted before they came here
   */
  boolean reserve(long recordBytes, boolean force) {
    long missing = neededBytes + recordBytes + ProducerConfig.RECORD_OVERHEAD_BYTES - reservedBytes;
    if (missing <= 0) {
      return true;
    }
    long step = Math.min(MOST_RESERVE_BYTES, Math.max(FIRST_RESERVE_BYTES, reservedBytes / 4));
    if (missing < step && budget.tryReserve(step)) {
      reservedBytes += step;
      return true;
    }
    if (force) {
      budget.reserve(missing);
    } else if (!budget.tryReserve(missing)) {
      return false;
    }
    reservedBytes += missing;
    return true;
  }

  /** False when there is no room in the batch. Memory was reserved before. */
  boolean tryAppend(
      long timestampMillis, ProducerRecord record, CompletableFuture<Receipt> future) {
    int before = writer.estimatedBytes();
    if (!writer.tryAppend(timestampMillis, record.key(), record.value(), record.headers())) {
      return false;
    }
    neededBytes += writer.estimatedBytes() - before + ProducerConfig.RECORD_OVERHEAD_BYTES;
    if (count == futures.length) {
      futures = Arrays.copyOf(futures, count * 2);
    }
    futures[count++] = future;
    return true;
  }

  void build(long producerId, short epoch, int sequence) {
    this.sequence = sequence;
    try {
      built = writer.build(producerId, epoch, sequence);
    } catch (RuntimeException | LinkageError e) {
      throw new UnbuildableBatchException(this, e);
    }
  }

  int bytes() {
    return built.remaining();
  }

  int recordCount() {
    return count;
  }

  boolean inFlight() {
    return attempt != null;
  }

  /** Callback thread. Memory comes free when the callbacks have run. */
  void complete(long baseOffset, long term, FsyncPolicy fsync, boolean duplicate) {
    String topic = lane.topic();
    int partition = lane.partition();
    for (int i = 0; i < count; i++) {
      futures[i].complete(new Receipt(topic, partition, baseOffset + i, term, fsync, duplicate));
    }
    free();
  }

  /** Callback thread. */
  void fail(MillraceException failure) {
    for (int i = 0; i < count; i++) {
      futures[i].completeExceptionally(failure);
    }
    free();
  }

  private void free() {
    futures = null;
    budget.release(reservedBytes);
  }
}
