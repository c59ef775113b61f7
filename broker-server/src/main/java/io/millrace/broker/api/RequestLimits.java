package io.millrace.broker.api;

import io.millrace.protocol.error.ErrorCode;

/**
 * Bounds on the counts inside one request, so that a small frame cannot ask for much work.
 *
 * @param maxPartitions partitions or batches of one request
 * @param maxTopics topic names of one request
 */
public record RequestLimits(int maxPartitions, int maxTopics) {

  public static final RequestLimits DEFAULT = new RequestLimits(2_000, 1_000);

  void checkPartitions(int count) {
    check("partitions in one request", count, maxPartitions);
  }

  void checkTopics(int count) {
    check("topics in one request", count, maxTopics);
  }

  private static void check(String what, int count, int limit) {
    if (count > limit) {
      throw malformed(what + ": " + count + ", the limit is " + limit + "; split the request");
    }
  }

  /** Refuses a field that must not be negative. */
  static void notNegative(String field, long value) {
    if (value < 0) {
      throw malformed(field + " is " + value + ", it must not be negative");
    }
  }

  static RequestRefusedException malformed(String text) {
    return new RequestRefusedException(ErrorCode.MALFORMED_REQUEST, text);
  }
}
