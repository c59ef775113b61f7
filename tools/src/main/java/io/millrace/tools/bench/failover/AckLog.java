package io.millrace.tools.bench.failover;

import io.millrace.client.Receipt;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * The acknowledgements of one run in the order in which they came.
 *
 * <p>Threads: any; one lock.
 */
public final class AckLog {
  /**
   * One acknowledged record.
   *
   * @param ackNanos when its receipt came, on the clock of {@link System#nanoTime}
   * @param sentNanos when it was handed to the producer
   * @param duplicate the receipt is for a repetition; its term is that of the first attempt then
   */
  public record Ack(long ackNanos, long sentNanos, long offset, long term, boolean duplicate) {}

  private final List<Ack> acks = new ArrayList<>();
  private long newestTerm;

  void add(long ackNanos, long sentNanos, Receipt receipt) {
    add(new Ack(ackNanos, sentNanos, receipt.offset(), receipt.term(), receipt.duplicate()));
  }

  synchronized void add(Ack ack) {
    acks.add(ack);
    if (!ack.duplicate()) {
      newestTerm = Math.max(newestTerm, ack.term());
    }
  }

  public synchronized int count() {
    return acks.size();
  }

  /** When the last receipt came; empty before the first. */
  public synchronized OptionalLong lastNanos() {
    return acks.isEmpty()
        ? OptionalLong.empty()
        : OptionalLong.of(acks.get(acks.size() - 1).ackNanos());
  }

  /** The newest term of a receipt that is not of a repetition, 0 before the first. */
  public synchronized long newestTerm() {
    return newestTerm;
  }

  public synchronized List<Ack> all() {
    return List.copyOf(acks);
  }
}
