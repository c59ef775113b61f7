package io.millrace.client.error;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;

/**
 * A request that ended for good. Its outcome covers all attempts: a refusal that follows an attempt
 * without an answer is UNKNOWN, though the refusal alone is not.
 */
public class RequestFailedException extends MillraceException {

  private static final long serialVersionUID = 1L;

  private final Outcome outcome;

  public RequestFailedException(ErrorCode code, String text, Outcome outcome, Throwable cause) {
    super(code, text, cause);
    this.outcome = outcome;
  }

  @Override
  public Outcome outcome() {
    return outcome;
  }
}
