package io.millrace.broker.log;

import java.io.IOException;

/**
 * A write or an fsync failed, now or before, and the log takes no more. Never retried: what the
 * failed call covered is unknown until the log has been opened again.
 */
public final class LogFailedException extends IOException {

  private static final long serialVersionUID = 1;

  LogFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
