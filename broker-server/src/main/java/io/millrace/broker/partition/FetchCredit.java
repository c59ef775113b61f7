package io.millrace.broker.partition;

import io.millrace.protocol.message.FetchPartition;
import io.millrace.protocol.message.FetchRequest;

/**
 * How much may still be sent to a reader: what it allows less what it says it has and has not
 * processed. The broker keeps no count of its own, so an answer that got lost costs nothing.
 *
 * <p>Records are counted, not offsets passed; offsets are dense, so both are the same here. Sending
 * goes on while credit is left, and then by whole batches: the last one may go over it, and {@code
 * deliverUpTo} tells the reader how much of it to keep back. So what an application holds and has
 * not processed never exceeds the limit, and credit of one record is enough to go on.
 *
 * <p>Threads: one.
 */
final class FetchCredit {

  private static final long UNLIMITED = Long.MAX_VALUE;

  private final long limit;
  private final long inFlight;
  private long records;
  private long bytes;

  FetchCredit(FetchRequest request) {
    limit = orUnlimited(request.getPrefetchRecords());
    inFlight = request.getInFlightRecords();
    records = less(limit, inFlight);
    bytes = less(orUnlimited(request.getPrefetchBytes()), request.getInFlightBytes());
  }

  private static long orUnlimited(long limit) {
    return limit == 0 ? UNLIMITED : limit;
  }

  private static long less(long credit, long used) {
    return credit == UNLIMITED ? UNLIMITED : credit - used;
  }

  boolean any() {
    return records > 0 && bytes > 0;
  }

  /** Records that may be sent of this partition; 0 or less = none. */
  long of(FetchPartition partition) {
    long own = less(orUnlimited(partition.getPrefetchRecords()), partition.getInFlightRecords());
    return bytes > 0 ? Math.min(records, own) : 0;
  }

  int maxBytes(int other) {
    return (int) Math.min(other, bytes);
  }

  void take(long sentRecords, long sentBytes) {
    records = less(records, sentRecords);
    bytes = less(bytes, sentBytes);
  }

  /**
   * How far the reader may hand over what it has, per partition and without what is sent now. A
   * batch that went over the limit left it records to keep back.
   *
   * <p>Of the other partitions everything is taken to be handed over, so the sum stays below the
   * limit whatever the reader did with them. One request after the other over the same partitions
   * leaves at most one of them with more than the limit kept back, since nothing is sent while the
   * limit is reached; so one can always go on. A reader that asks in several requests can end with
   * more, and then the limit is shared out in the order of the request.
   */
  long[] deliverUpTo(FetchRequest request) {
    int partitions = request.getPartitionsCount();
    long[] handedOver = new long[partitions];
    long sum = 0;
    for (int i = 0; i < partitions; i++) {
      FetchPartition partition = request.getPartitions(i);
      long others = inFlight - partition.getInFlightRecords();
      handedOver[i] = mayHold(partition, limit == UNLIMITED ? UNLIMITED : limit - others);
      sum += handedOver[i];
    }
    if (sum == 0) {
      long left = limit;
      for (int i = 0; i < partitions; i++) {
        handedOver[i] = mayHold(request.getPartitions(i), left);
        left -= handedOver[i];
      }
    }
    for (int i = 0; i < partitions; i++) {
      FetchPartition partition = request.getPartitions(i);
      handedOver[i] += Math.max(0, partition.getPosition() - partition.getInFlightRecords());
    }
    return handedOver;
  }

  private static long mayHold(FetchPartition partition, long allowed) {
    long own = Math.min(allowed, orUnlimited(partition.getPrefetchRecords()));
    return Math.max(0, Math.min(own, partition.getInFlightRecords()));
  }
}
