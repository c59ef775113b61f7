package io.millrace.client;

/** Which offset of a partition is asked for. */
public sealed interface OffsetSpec {

  /** The first offset that is still there. */
  record Earliest() implements OffsetSpec {}

  /** The committed end: the offset that the next record will get, as far as it is decided. */
  record Latest() implements OffsetSpec {}

  /** The first record whose timestamp is at or after this; the end when there is none. */
  record AtTime(long timestampMillis) implements OffsetSpec {}

  static OffsetSpec earliest() {
    return new Earliest();
  }

  static OffsetSpec latest() {
    return new Latest();
  }

  static OffsetSpec atTime(long timestampMillis) {
    return new AtTime(timestampMillis);
  }
}
