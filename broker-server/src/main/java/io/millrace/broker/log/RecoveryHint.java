package io.millrace.broker.log;

/**
 * What the owner of a log knows when it opens it.
 *
 * @param checkpointIndex the newest checkpoint holds everything up to here; 0 = none
 * @param durableMarkOrNull the sync mark that the owner stored durably, perhaps an older one
 * @param bootChanged the machine has started since this log was last opened with success, or it
 *     never was, so unsynced bytes may be gone. Keep saying so until an open has returned: one that
 *     was killed half-way has not cut the torn tail yet
 */
public record RecoveryHint(long checkpointIndex, SyncMark durableMarkOrNull, boolean bootChanged) {

  public static final RecoveryHint NONE = new RecoveryHint(0, null, false);

  /** Everything up to here was on the device, as far as the owner knows. */
  long protectedIndex() {
    return Math.max(checkpointIndex, durableMarkOrNull == null ? 0 : durableMarkOrNull.index());
  }
}
