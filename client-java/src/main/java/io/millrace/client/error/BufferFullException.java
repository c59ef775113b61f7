package io.millrace.client.error;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;

/**
 * The producer's memory is used up; the record was not taken. Send it again later, or use {@code
 * sendBlocking}.
 */
public final class BufferFullException extends MillraceException {

  private static final long serialVersionUID = 1L;

  public BufferFullException(String text) {
    super(ErrorCode.BUFFER_FULL, text);
  }
}
