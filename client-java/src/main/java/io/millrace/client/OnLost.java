package io.millrace.client;

/** What a reader does when records that it has not read were deleted by retention. */
public enum OnLost {
  /** {@code poll} throws {@link io.millrace.client.error.RecordsLostException}. */
  FAIL,
  /** Goes on at the log start; the number is logged, counted and shown by {@code health}. */
  SKIP
}
