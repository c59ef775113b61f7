package io.millrace.broker.partition;

/**
 * Bounds of one fetch request.
 *
 * @param maxPartitions more are MALFORMED_REQUEST
 * @param maxBytes a request for more, or for no stated number, gets this much; one batch is always
 *     sent
 * @param maxWaitMillis longer waits are cut to this
 */
public record FetchLimits(int maxPartitions, int maxBytes, int maxWaitMillis) {

  public static final int DEFAULT_MAX_PARTITIONS = 4096;
  public static final int DEFAULT_MAX_BYTES = 16 * 1024 * 1024;
  public static final int DEFAULT_MAX_WAIT_MILLIS = 60_000;

  public FetchLimits {
    requirePositive("max partitions of a fetch", maxPartitions);
    requirePositive("max bytes of a fetch", maxBytes);
    requirePositive("max wait of a fetch", maxWaitMillis);
  }

  public static FetchLimits defaults() {
    return new FetchLimits(DEFAULT_MAX_PARTITIONS, DEFAULT_MAX_BYTES, DEFAULT_MAX_WAIT_MILLIS);
  }

  private static void requirePositive(String what, int value) {
    if (value < 1) {
      throw new IllegalArgumentException(what + " is " + value + "; it must be at least 1");
    }
  }
}
