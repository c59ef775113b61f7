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
  private long records;
  private long bytes;

  FetchCredit(FetchRequest request) {
    limit = request.getPrefetchRecords();
    records = limit == 0 ? UNLIMITED : limit - request.getInFlightRecords();
    bytes =
        request.getPrefetchBytes() == 0
            ? UNLIMITED
            : request.getPrefetchBytes() - request.getInFlightBytes();
  }

  boolean any() {
    return records > 0 && bytes > 0;
  }

  /** Records that may be handed over of this partition; 0 or less = none. */
  long of(FetchPartition partition) {
    long own =
        partition.getPrefetchRecords() == 0
            ? UNLIMITED
            : partition.getPrefetchRecords() - partition.getInFlightRecords();
    return bytes > 0 ? Math.min(records, own) : 0;
  }

  int maxBytes(int other) {
    return (int) Math.min(other, bytes);
  }

  void take(long sentRecords, long sentBytes) {
    records = records == UNLIMITED ? UNLIMITED : records - sentRecords;
    bytes = bytes == UNLIMITED ? UNLIMITED : bytes - sentBytes;
  }

  /**
   * The limits of a request that has no credit: a batch that went over the limit left records at
   * the reader that it must keep back. The limit is shared out in the order of the request, which
   * stays the same from request to request.
   */
  static final class KeptBack {

    private long allowed;

    KeptBack(FetchCredit credit) {
      allowed = credit.limit == 0 ? UNLIMITED : credit.limit;
    }

    long deliverUpTo(FetchPartition partition) {
      long here = Math.max(0, partition.getInFlightRecords());
      long handedOver = Math.min(here, allowed);
      allowed -= handedOver;
      return Math.max(0, partition.getPosition() - here + handedOver);
    }
  }
}
