package io.millrace.broker.state;

/** An entry that a replica must not skip and does not understand. */
public final class UnknownControlEntryException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  UnknownControlEntryException(String message, Throwable cause) {
    super(message, cause);
  }
}
