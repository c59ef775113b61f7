package io.millrace.broker.log;

/**
 * How far a log is certainly on the device: everything up to the entry {@code index} and, in the
 * segment that begins with {@code segmentFirstIndex}, up to the byte {@code position} (exclusive; 0
 * = not known).
 */
public record SyncMark(long index, long segmentFirstIndex, long position) {}
