package io.millrace.protocol.batch;

import java.util.Arrays;
import java.util.Objects;

/** A header of a record: a key, and a value that may be null. The array is not copied. */
public record RecordHeader(String key, byte[] value) {

  public RecordHeader {
    Objects.requireNonNull(key, "key of a record header");
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof RecordHeader that
        && key.equals(that.key)
        && Arrays.equals(value, that.value);
  }

  @Override
  public int hashCode() {
    return 31 * key.hashCode() + Arrays.hashCode(value);
  }

  @Override
  public String toString() {
    return key + "=" + (value == null ? "null" : value.length + " bytes");
  }
}
