package io.millrace.broker.log;

import java.io.IOException;

/** An index that is missing, damaged or not of its segment: it is made again from the segment. */
final class IndexDamagedException extends IOException {

  private static final long serialVersionUID = 1;

  private final transient Segment segment;

  IndexDamagedException(Segment segment, String reason) {
    super(reason);
    this.segment = segment;
  }

  Segment segment() {
    return segment;
  }
}
