package io.millrace.client.error;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;

/** A setting or argument that cannot work; the text names the value, the limit and what to do. */
public final class InvalidArgumentException extends MillraceException {

  private static final long serialVersionUID = 1L;

  public InvalidArgumentException(String text) {
    super(ErrorCode.INVALID_ARGUMENT, text);
  }
}
