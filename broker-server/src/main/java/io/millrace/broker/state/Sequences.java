package io.millrace.broker.state;

/**
 * Arithmetic on producer sequences: 0 to 2^31 - 1, then 0 again, as in Kafka ({@code
 * DefaultRecordBatch.incrementSequence}).
 */
public final class Sequences {

  /** Marks "no sequence"; never a valid one. */
  public static final int NONE = -1;

  private static final int MASK = Integer.MAX_VALUE;
  private static final int HALF = 1 << 30;

  private Sequences() {}

  /** The sequence behind {@code sequence}. */
  public static int next(int sequence) {
    return (sequence + 1) & MASK;
  }

  /** The sequence {@code count} places behind {@code sequence}. */
  public static int plus(int sequence, int count) {
    return (sequence + count) & MASK;
  }

  /**
   * How far {@code to} lies behind {@code from} on the ring; negative when it lies before. Exact
   * while the two are less than 2^30 apart, which a window of five batches guarantees.
   */
  public static int distance(int from, int to) {
    int forward = (to - from) & MASK;
    return forward > HALF ? forward - MASK - 1 : forward;
  }
}
