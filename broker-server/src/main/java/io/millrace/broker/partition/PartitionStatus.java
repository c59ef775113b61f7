package io.millrace.broker.partition;

/**
 * A replica at one moment; values are read one after the other.
 *
 * @param leadingTerm 0 = it does not lead, or has not started
 * @param inFlightEntries proposed and not yet applied
 * @param producers remembered
 * @param waitingFetches that wait for this partition, among others
 */
public record PartitionStatus(
    PartitionId id,
    long leadingTerm,
    long logStart,
    long logEnd,
    long committedEnd,
    long readableEnd,
    int inFlightEntries,
    long inFlightBytes,
    int producers,
    int waitingFetches) {}
