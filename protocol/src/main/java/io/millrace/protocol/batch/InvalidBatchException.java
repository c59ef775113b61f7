package io.millrace.protocol.batch;

import io.millrace.protocol.error.ErrorCode;

/**
 * A batch that is refused or cannot be read.
 *
 * <p>Errors: CORRUPT_BATCH (checksum), UNSUPPORTED_MAGIC, INVALID_BATCH (a rule of the header),
 * RECORD_TOO_LARGE (limit of the receiver), UNREADABLE_BATCH (checksum good, but the records inside
 * do not decode, or not within the limit). None gets better by trying again.
 */
public final class InvalidBatchException extends Exception {

  private static final long serialVersionUID = 1L;

  /** {@link #nextOffset()} when the header cannot be believed. */
  public static final long UNKNOWN_OFFSET = -1;

  private final ErrorCode code;
  private final long nextOffset;

  InvalidBatchException(ErrorCode code, String text) {
    this(code, text, UNKNOWN_OFFSET, null);
  }

  InvalidBatchException(ErrorCode code, String text, long nextOffset, Throwable cause) {
    super(text, cause);
    this.code = code;
    this.nextOffset = nextOffset;
  }

  public ErrorCode code() {
    return code;
  }

  /** Where a reader goes on that skips this batch; known when the checksum was good. */
  public long nextOffset() {
    return nextOffset;
  }
}
