package io.millrace.broker.log;

/**
 * The files belong to another log or were written by a newer version. Nothing was changed; not
 * retryable.
 */
public final class LogFormatException extends RuntimeException {

  private static final long serialVersionUID = 1;

  LogFormatException(String message) {
    super(message);
  }
}
