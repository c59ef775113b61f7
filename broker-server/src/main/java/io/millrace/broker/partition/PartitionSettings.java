package io.millrace.broker.partition;

import io.millrace.protocol.message.FsyncPolicy;
import java.util.Objects;

/**
 * What a partition is told by its topic and its broker.
 *
 * @param maxRecordBytes largest record of the topic, and so the largest batch: both are counted as
 *     the bytes of the whole batch
 * @param fsync what a receipt of this topic promises; copied into every receipt
 * @param maxPendingBytes batches proposed and not yet applied; more are THROTTLED. One batch is
 *     always let in
 * @param maxPendingEntries the same in entries; below the ring size of the Raft group, which would
 *     otherwise reject one batch and take the next
 * @param producerExpiryMillis a producer that stored nothing for this long, in log time, is
 *     forgotten; longer than any delivery timeout, or a late retry could be stored twice
 * @param maxProducers producers remembered; more new ones are THROTTLED
 */
public record PartitionSettings(
    int maxRecordBytes,
    FsyncPolicy fsync,
    long maxPendingBytes,
    int maxPendingEntries,
    long producerExpiryMillis,
    int maxProducers) {

  public static final int DEFAULT_MAX_RECORD_BYTES = 1024 * 1024;
  public static final long DEFAULT_MAX_PENDING_BYTES = 32L * 1024 * 1024;
  public static final int DEFAULT_MAX_PENDING_ENTRIES = 512;
  public static final long DEFAULT_PRODUCER_EXPIRY_MILLIS = 24 * 60 * 60 * 1000L;
  public static final int DEFAULT_MAX_PRODUCERS = 100_000;

  /** A batch may need a TIME and a PRODUCER_EXPIRE entry in front of it. */
  static final int MIN_PENDING_ENTRIES = 3;

  public PartitionSettings {
    Objects.requireNonNull(fsync, "fsync");
    requireAtLeast("max record bytes", maxRecordBytes, 1);
    requireAtLeast("max pending bytes", maxPendingBytes, 1);
    requireAtLeast("max pending entries", maxPendingEntries, MIN_PENDING_ENTRIES);
    requireAtLeast("producer expiry", producerExpiryMillis, 1);
    requireAtLeast("max producers", maxProducers, 1);
  }

  public static PartitionSettings defaults() {
    return of(DEFAULT_MAX_RECORD_BYTES, FsyncPolicy.FSYNC_ALWAYS);
  }

  public static PartitionSettings of(int maxRecordBytes, FsyncPolicy fsync) {
    return new PartitionSettings(
        maxRecordBytes,
        fsync,
        DEFAULT_MAX_PENDING_BYTES,
        DEFAULT_MAX_PENDING_ENTRIES,
        DEFAULT_PRODUCER_EXPIRY_MILLIS,
        DEFAULT_MAX_PRODUCERS);
  }

  private static void requireAtLeast(String what, long value, long least) {
    if (value < least) {
      throw new IllegalArgumentException(what + " is " + value + "; it must be at least " + least);
    }
  }
}
