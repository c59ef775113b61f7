package io.millrace.client;

/**
 * Settings of a topic to change; null = as it is. Segments become smaller by themselves where a new
 * limit needs it.
 *
 * @param retentionMillis age at which records go, 0 = never
 * @param retentionBytes of record batches that each partition may hold, 0 = any number
 * @param segmentBytes size at which a segment is closed
 * @param segmentMillis log time that a segment may span, 0 = any
 */
public record TopicChange(
    Long retentionMillis, Long retentionBytes, Long segmentBytes, Long segmentMillis) {

  public TopicChange {
    atLeastZero("retentionMillis", retentionMillis);
    atLeastZero("retentionBytes", retentionBytes);
    atLeastZero("segmentBytes", segmentBytes);
    atLeastZero("segmentMillis", segmentMillis);
  }

  private static void atLeastZero(String name, Long value) {
    if (value != null) {
      Checks.atLeast(name, value, 0);
    }
  }
}
