package io.millrace.broker.partition;

import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.OffsetRange;

/** What a partition says to a reader at a position, before any file is touched. */
sealed interface ReadCheck {

  /** Records from the position up to {@code endOffset} (exclusive) may be read. */
  record Ready(long endOffset) implements ReadCheck {}

  /**
   * Nothing yet.
   *
   * @param writeBehind the next records are committed and the local write is about to follow
   */
  record Wait(boolean writeBehind) implements ReadCheck {}

  /**
   * Nothing, now or later, from this position at this replica.
   *
   * @param recordsLost how many are gone below the log start, else 0
   * @param truncated the range that the reader has seen and the log has no more, or null
   */
  record Failed(ErrorInfo error, long recordsLost, OffsetRange truncated) implements ReadCheck {}

  static Failed failed(ErrorInfo error) {
    return new Failed(error, 0, null);
  }
}
