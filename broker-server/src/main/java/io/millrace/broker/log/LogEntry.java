package io.millrace.broker.log;

import java.nio.ByteBuffer;

/**
 * One entry to append: a whole batch between the buffer's position and limit. The buffer is never
 * changed and may be read by others at the same time; base offset and term are set in the copy that
 * is written.
 */
public record LogEntry(long index, long term, ByteBuffer batch) {}
