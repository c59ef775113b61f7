package io.millrace.broker.raft;

/**
 * How long the files of segments that left the log wait to be deleted.
 *
 * @param millis a read that began before the segments left has ended after so long
 * @param maxWaitingBytes if more than this waits, the oldest go after {@link #LEAST_MILLIS}
 *     already: under load a topic with a limit in bytes would otherwise take many times as much
 */
public record DeleteDelay(long millis, long maxWaitingBytes) {

  /**
   * JRaft looks at the bounds of the log and reads an entry right after. A thread that is held up
   * longer than this between the two, and just there, finds nothing; then its replica stops and is
   * started again, and nothing is lost.
   */
  static final long LEAST_MILLIS = 100;

  public DeleteDelay {
    if (millis < 0 || maxWaitingBytes < 0) {
      throw new IllegalArgumentException(
          "delay of " + millis + " ms, " + maxWaitingBytes + " bytes: must not be negative");
    }
  }
}
