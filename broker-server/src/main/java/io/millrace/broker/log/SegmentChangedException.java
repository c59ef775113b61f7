package io.millrace.broker.log;

import java.io.IOException;

/**
 * A segment, which the caller names, became shorter while it was read: its log was cut meanwhile.
 * Look at it again.
 */
public final class SegmentChangedException extends IOException {

  private static final long serialVersionUID = 1;

  SegmentChangedException(String message, Throwable cause) {
    super(message, cause);
  }
}
