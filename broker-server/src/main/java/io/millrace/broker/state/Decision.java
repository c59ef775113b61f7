package io.millrace.broker.state;

import io.millrace.protocol.error.ErrorCode;

/**
 * What to do with a batch of an idempotent producer.
 *
 * @param <H> handle of a batch that is proposed and not yet applied
 */
public sealed interface Decision<H> {

  /** Append it. */
  record Accept<H>() implements Decision<H> {}

  /** It is stored: answer with where it went. */
  record Duplicate<H>(long baseOffset, long term) implements Decision<H> {}

  /** It is on its way: answer with whatever becomes of that attempt. */
  record DuplicatePending<H>(H original) implements Decision<H> {}

  /** Do not append it. */
  record Refuse<H>(ErrorCode code, String text) implements Decision<H> {}
}
