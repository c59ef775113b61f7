package io.millrace.broker.raft;

/**
 * What each group that this broker leads may have on its way to one follower. JRaft bounds that per
 * group only, and every request is a copy on the heap until it is answered: a follower that comes
 * back makes all groups send at once, and a hundred groups could ask for gigabytes.
 *
 * @param messages requests without an answer
 * @param bodyBytes of one request; one batch goes whatever its size
 */
record CatchUpMemory(int messages, int bodyBytes) {

  static final int MOST_MESSAGES = 16;
  static final int MOST_BODY_BYTES = 1 << 20;

  private static final int LEAST_MESSAGES = 2;
  private static final int LEAST_BODY_BYTES = 64 << 10;

  /** Of the heap, for all followers together. */
  private static final int SHARE_OF_HEAP = 4;

  /**
   * @param led groups that this broker leads
   * @param followers of each of them
   */
  static CatchUpMemory of(long maxHeapBytes, int led, int followers) {
    long each = maxHeapBytes / SHARE_OF_HEAP / Math.max(1, (long) led * followers);
    int body = (int) Math.max(LEAST_BODY_BYTES, Math.min(MOST_BODY_BYTES, each / LEAST_MESSAGES));
    int messages = (int) Math.max(LEAST_MESSAGES, Math.min(MOST_MESSAGES, each / body));
    return new CatchUpMemory(messages, body);
  }
}
