package io.millrace.broker.raft.refill;

/**
 * How far a refill is.
 *
 * @param step what it does or waits for, in words
 * @param fromBroker 0 = no source yet
 * @param nextIndex what is copied next
 * @param targetIndex the last entry that is needed, 0 = not known yet
 * @param copiedBytes since the refill began
 */
public record RefillProgress(
    String step, int fromBroker, long nextIndex, long targetIndex, long copiedBytes) {}
