package io.millrace.broker.partition;

/**
 * Somebody who waits for a partition.
 *
 * <p>Threads: called on any thread, the FSM thread included: must return at once.
 */
interface FetchWaiter {

  /** More records can be read than before. */
  void dataArrived();

  /** Leadership or the partition's life ended or began. */
  void stateChanged();
}
