package io.millrace.protocol.error;

/** What a caller may conclude about a request. Every {@link ErrorCode} belongs to exactly one. */
public enum Outcome {
  /** It happened, with the promised durability. */
  DONE,
  /** It certainly did not happen and will not happen later; sending it again cannot double it. */
  NOT_DONE,
  /** It may have happened, or may still happen. Only an idempotent retry or a read tells. */
  UNKNOWN
}
