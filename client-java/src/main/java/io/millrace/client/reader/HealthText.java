package io.millrace.client.reader;

import java.util.concurrent.TimeUnit;

/** Says in one line what a partition of a reader is doing, or what it waits for. */
final class HealthText {

  private HealthText() {}

  static String of(Cursor cursor, long nowNanos) {
    StringBuilder text = new StringBuilder(cursor.partition.toString()).append(": ");
    if (cursor.hasPosition()) {
      text.append("position ").append(cursor.handed).append("; ");
    }
    text.append(state(cursor, nowNanos));
    if (cursor.lost > 0) {
      text.append("; ").append(cursor.lost).append(" records were lost by retention and skipped");
    }
    return text.toString();
  }

  private static String state(Cursor cursor, long nowNanos) {
    if (cursor.failure != null) {
      return "stopped: " + cursor.failure.getMessage();
    }
    if (!cursor.hasPosition()) {
      return "looking up the position" + because(cursor);
    }
    if (cursor.starvesByCredit()) {
      return (cursor.fetched - cursor.handed)
          + " records kept back until those handed over are processed"
          + because(cursor);
    }
    long waiting = Math.min(cursor.deliverUpTo, cursor.fetched) - cursor.handed;
    if (waiting > 0) {
      return waiting + " records wait here for poll";
    }
    if (cursor.call != null) {
      return "broker "
          + cursor.call.broker()
          + " is asked since "
          + TimeUnit.NANOSECONDS.toMillis(nowNanos - cursor.call.sentNanos())
          + " ms and has nothing yet"
          + because(cursor);
    }
    if (!cursor.trouble.isEmpty()) {
      long wait = cursor.notBeforeNanos - nowNanos;
      return "asking again"
          + (wait > 0 ? " in " + TimeUnit.NANOSECONDS.toMillis(wait) + " ms" : "")
          + because(cursor);
    }
    return "waits for its turn to be fetched";
  }

  private static String because(Cursor cursor) {
    return cursor.trouble.isEmpty() ? "" : " (" + cursor.trouble + ")";
  }
}
