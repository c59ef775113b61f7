package io.millrace.broker.raft;

/**
 * What an operator can set of Raft; everything else is decided in {@link NodeOptionsFactory}.
 *
 * @param electionTimeoutMillis a follower that hears nothing from its leader for this time starts
 *     an election; a pause of a healthy leader of nearly this length makes it resign
 * @param checkpointBytes a replica writes a checkpoint after so many bytes of log
 * @param checkpointMillis ... or after so long with anything new applied
 * @param refillBytesPerSecond what all refills of a broker together may copy and check
 * @param scrubBytesPerSecond what the scrub may read, 0 = there is none
 * @param scrubIntervalMillis between two passes of it
 */
public record RaftSettings(
    int electionTimeoutMillis,
    long checkpointBytes,
    long checkpointMillis,
    long refillBytesPerSecond,
    long scrubBytesPerSecond,
    long scrubIntervalMillis) {

  public static final int DEFAULT_ELECTION_TIMEOUT_MILLIS = 2000;
  public static final long DEFAULT_CHECKPOINT_BYTES = 64L * 1024 * 1024;
  public static final long DEFAULT_CHECKPOINT_MILLIS = 60_000;
  public static final long DEFAULT_REFILL_BYTES_PER_SECOND = 100L * 1024 * 1024;
  public static final long DEFAULT_SCRUB_BYTES_PER_SECOND = 4L * 1024 * 1024;
  public static final long DEFAULT_SCRUB_INTERVAL_MILLIS = 6 * 3_600_000;

  public RaftSettings {
    require(
        electionTimeoutMillis >= 100 && electionTimeoutMillis <= 60_000,
        "election timeout",
        electionTimeoutMillis,
        "100 to 60000 ms");
    require(checkpointBytes >= 1, "checkpoint bytes", checkpointBytes, "at least 1");
    require(checkpointMillis >= 1, "checkpoint interval", checkpointMillis, "at least 1 ms");
    require(
        refillBytesPerSecond >= 1, "refill bytes per second", refillBytesPerSecond, "at least 1");
    require(scrubBytesPerSecond >= 0, "scrub bytes per second", scrubBytesPerSecond, "at least 0");
    require(scrubIntervalMillis >= 1, "scrub interval", scrubIntervalMillis, "at least 1 ms");
  }

  public static RaftSettings defaults() {
    return new RaftSettings(
        DEFAULT_ELECTION_TIMEOUT_MILLIS,
        DEFAULT_CHECKPOINT_BYTES,
        DEFAULT_CHECKPOINT_MILLIS,
        DEFAULT_REFILL_BYTES_PER_SECOND,
        DEFAULT_SCRUB_BYTES_PER_SECOND,
        DEFAULT_SCRUB_INTERVAL_MILLIS);
  }

  private static void require(boolean holds, String what, long value, String limit) {
    if (!holds) {
      throw new IllegalArgumentException(what + " is " + value + "; it must be " + limit);
    }
  }
}
