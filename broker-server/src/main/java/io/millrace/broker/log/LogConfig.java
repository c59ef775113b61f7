package io.millrace.broker.log;

import java.util.Objects;

/**
 * Settings of one log.
 *
 * @param fsync when an append is on the device
 * @param fsyncIntervalMillis with {@link FsyncPolicy#INTERVAL}: the longest time that an append
 *     stays only in the page cache; the owner of the log keeps the timer
 * @param segmentBytes a segment that holds this much is closed and the next one begun; a batch
 *     larger than that has a segment of its own
 * @param segmentMillis a segment that holds records is closed when log time has moved so far since
 *     its begin; 0 = never
 */
public record LogConfig(
    FsyncPolicy fsync, int fsyncIntervalMillis, long segmentBytes, long segmentMillis) {

  public static final long DEFAULT_SEGMENT_BYTES = 256L << 20;
  public static final long MIN_SEGMENT_BYTES = 1 << 10;

  /** Positions in a segment are 31 bits wide; this leaves room for one large batch. */
  public static final long MAX_SEGMENT_BYTES = 1L << 30;

  public LogConfig {
    Objects.requireNonNull(fsync, "fsync");
    if (segmentBytes < MIN_SEGMENT_BYTES || segmentBytes > MAX_SEGMENT_BYTES) {
      throw new IllegalArgumentException(
          "segmentBytes is "
              + segmentBytes
              + ", must be from "
              + MIN_SEGMENT_BYTES
              + " to "
              + MAX_SEGMENT_BYTES);
    }
    if (segmentMillis < 0) {
      throw new IllegalArgumentException(
          "segmentMillis is " + segmentMillis + ", must not be negative");
    }
    if (fsync == FsyncPolicy.INTERVAL && fsyncIntervalMillis <= 0) {
      throw new IllegalArgumentException(
          "fsyncIntervalMillis is " + fsyncIntervalMillis + ", must be positive");
    }
  }

  /** Without an age at which segments are closed. */
  public LogConfig(FsyncPolicy fsync, int fsyncIntervalMillis, long segmentBytes) {
    this(fsync, fsyncIntervalMillis, segmentBytes, 0);
  }
}
