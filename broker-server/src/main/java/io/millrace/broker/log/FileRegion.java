package io.millrace.broker.log;

/** Bytes of a file to be sent as they are. */
public record FileRegion(DiskFile file, long position, int length) {}
