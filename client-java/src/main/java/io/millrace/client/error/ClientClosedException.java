package io.millrace.client.error;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.Outcome;

/** The client, producer or reader was closed. UNKNOWN when the record or request had been sent. */
public final class ClientClosedException extends RequestFailedException {

  private static final long serialVersionUID = 1L;

  public ClientClosedException(String text, Outcome outcome) {
    super(ErrorCode.CLIENT_CLOSED, text, outcome, null);
  }
}
