package io.millrace.broker.api;

import io.millrace.protocol.error.ErrorCode;

/** A request that breaks a rule, with the error to answer. Cheap: it has no stack trace. */
public final class RequestRefusedException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final ErrorCode code;

  public RequestRefusedException(ErrorCode code, String text) {
    super(text, null, false, false);
    this.code = code;
  }

  public ErrorCode code() {
    return code;
  }
}
