package io.millrace.broker;

/**
 * How often a broker looks for what may go, and how long files wait.
 *
 * @param checkMillis between two looks at a log to which nothing happens
 * @param deleteDelayMillis from a segment's leaving the log to the deletion of its files
 */
public record RetentionTimes(int checkMillis, int deleteDelayMillis) {

  public static final int DEFAULT_CHECK_MILLIS = 1000;
  public static final int MIN_CHECK_MILLIS = 50;
  public static final int MAX_CHECK_MILLIS = 3_600_000;

  /** A read of JRaft that had begun before is over long before that. */
  public static final int DEFAULT_DELETE_DELAY_MILLIS = 60_000;

  public static final int MAX_DELETE_DELAY_MILLIS = 3_600_000;

  public static final RetentionTimes DEFAULT =
      new RetentionTimes(DEFAULT_CHECK_MILLIS, DEFAULT_DELETE_DELAY_MILLIS);
}
