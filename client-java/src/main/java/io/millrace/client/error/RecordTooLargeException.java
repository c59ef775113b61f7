package io.millrace.client.error;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;

/** A record is over the topic's limit, or over what a batch can hold. Nothing was sent. */
public final class RecordTooLargeException extends MillraceException {

  private static final long serialVersionUID = 1L;

  public RecordTooLargeException(String text) {
    super(ErrorCode.RECORD_TOO_LARGE, text);
  }
}
