package io.millrace.protocol.batch;

import java.util.Arrays;
import java.util.List;

/**
 * One record read from a batch. Key and value may be null; the arrays belong to the receiver.
 *
 * @param timestamp milliseconds since the epoch, -1 = none
 */
public record RecordView(
    long offset, long timestamp, byte[] key, byte[] value, List<RecordHeader> headers) {

  @Override
  public boolean equals(Object other) {
    return other instanceof RecordView that
        && offset == that.offset
        && timestamp == that.timestamp
        && Arrays.equals(key, that.key)
        && Arrays.equals(value, that.value)
        && headers.equals(that.headers);
  }

  @Override
  public int hashCode() {
    return Long.hashCode(offset) * 31 + Arrays.hashCode(value);
  }

  @Override
  public String toString() {
    return "offset="
        + offset
        + " timestamp="
        + timestamp
        + " key="
        + (key == null ? "null" : key.length + " bytes")
        + " value="
        + (value == null ? "null" : value.length + " bytes")
        + " headers="
        + headers;
  }
}
