package io.millrace.broker.cluster;

import io.millrace.protocol.message.RequestContext;

/** How long a request may take here. */
public final class Deadlines {

  static final long DEFAULT_MILLIS = 30_000;

  static final long MAX_MILLIS = 300_000;

  /** The answer must be back before the sender gives up, or an honest answer is never read. */
  private static final long MAX_WAY_BACK_MILLIS = 500;

  private Deadlines() {}

  public static long millisFor(RequestContext context) {
    long given = context.getDeadlineMillis();
    long wanted = given <= 0 ? DEFAULT_MILLIS : Math.min(given, MAX_MILLIS);
    return Math.max(1, wanted - Math.min(MAX_WAY_BACK_MILLIS, wanted / 10));
  }
}
