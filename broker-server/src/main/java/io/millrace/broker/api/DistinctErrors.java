package io.millrace.broker.api;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;

/**
 * Logs each distinct error once, with its stack trace, and counts the rest: a fault that every
 * request meets cannot fill the log. After {@link #MAX_DISTINCT} kinds of errors further kinds are
 * counted only. Threads: any.
 */
public final class DistinctErrors {

  static final int MAX_DISTINCT = 256;

  private final Logger log;
  private final Map<String, LongAdder> counts = new ConcurrentHashMap<>();
  private final LongAdder total = new LongAdder();

  public DistinctErrors(Logger log) {
    this.log = log;
  }

  /** Notes a fault in what the text names. */
  public void record(String what, Throwable error) {
    total.increment();
    StackTraceElement[] trace = error.getStackTrace();
    String place = trace.length == 0 ? "" : trace[0].toString();
    if (isFirst(what + '|' + error.getClass().getName() + '|' + place)) {
      log.error("{} failed; further errors like this are counted only", what, error);
    }
  }

  /** Notes an event without a stack trace; the key decides whether it was logged before. */
  public void recordEvent(String key, String text) {
    total.increment();
    if (isFirst(key)) {
      log.warn("{}; further events like this are counted only", text);
    }
  }

  public long total() {
    return total.sum();
  }

  private boolean isFirst(String key) {
    LongAdder known = counts.get(key);
    if (known == null && counts.size() < MAX_DISTINCT) {
      LongAdder mine = new LongAdder();
      known = counts.putIfAbsent(key, mine);
      if (known == null) {
        mine.increment();
        return true;
      }
    }
    if (known != null) {
      known.increment();
    }
    return false;
  }
}
