package io.millrace.broker.log;

/** A record found by its time. */
public record OffsetAndTimestamp(long offset, long timestampMillis) {}
