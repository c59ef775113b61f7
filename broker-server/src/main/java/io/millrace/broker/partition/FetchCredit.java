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
   * How far the reader may hand over what it has of a partition that gets nothing now. A batch that
   * went over the limit left it records to keep back. Of other partitions everything is taken to be
   * handed over, so the sum stays below the limit whatever the reader did; and since nothing is sent
   * while the limit is reached, only one partition can hold back more than the limit, so one can
   * always go on.
   */
  long deliverUpTo(FetchPartition partition) {
    long here = partition.getInFlightRecords();
    long handedOver = Math.min(here, orUnlimited(partition.getPrefetchRecords()));
    if (limit != UNLIMITED) {
      handedOver = Math.min(handedOver, Math.max(0, limit - (inFlight - here)));
    }
    return Math.max(0, partition.getPosition() - here + handedOver);
  }
}
