package io.millrace.broker.partition;

/** A fetch that may be waiting. Threads: any. */
@FunctionalInterface
public interface FetchHandle {

  /**
   * Ends the fetch without an answer, for a connection that closed. An answer that is on its way
   * already is still handed over, and must be released.
   */
  void cancel();
}
