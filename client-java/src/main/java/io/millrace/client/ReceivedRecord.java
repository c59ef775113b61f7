package io.millrace.client;

import io.millrace.protocol.batch.RecordHeader;
import java.util.List;

/** A record as read; key and value may be null. The arrays belong to the caller. */
public record ReceivedRecord(
    String topic,
    int partition,
    long offset,
    long timestampMillis,
    byte[] key,
    byte[] value,
    List<RecordHeader> headers) {}
