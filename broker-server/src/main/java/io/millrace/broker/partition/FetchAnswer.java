package io.millrace.broker.partition;

import io.millrace.broker.log.FetchSlice;
import io.millrace.protocol.message.FetchResponse;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A fetch response: the header, and the batches behind it as file regions, in the order of the
 * header's results.
 *
 * <p>Owns: the slices and their share of the budget. Whoever got it calls {@link #release} once the
 * bytes are sent or given up; it releases the slices too.
 */
public final class FetchAnswer {

  private final FetchResponse header;
  private final List<FetchSlice> slices;
  private final long bytes;
  private final FetchBudget budget;
  private final AtomicBoolean released = new AtomicBoolean();

  FetchAnswer(FetchResponse header, List<FetchSlice> slices, long bytes, FetchBudget budget) {
    this.header = header;
    this.slices = List.copyOf(slices);
    this.bytes = bytes;
    this.budget = budget;
  }

  /** An answer without batches. */
  FetchAnswer(FetchResponse header) {
    this(header, List.of(), 0, null);
  }

  public FetchResponse header() {
    return header;
  }

  public List<FetchSlice> slices() {
    return slices;
  }

  /** Of all slices. */
  public long bytes() {
    return bytes;
  }

  public void release() {
    if (!released.compareAndSet(false, true)) {
      throw new IllegalStateException("a fetch answer of " + bytes + " bytes is released twice");
    }
    slices.forEach(FetchSlice::release);
    if (bytes > 0) {
      budget.releaseBytes(bytes);
    }
  }
}
