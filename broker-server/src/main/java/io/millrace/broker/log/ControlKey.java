package io.millrace.broker.log;

import io.millrace.protocol.batch.BatchHeader;
import java.nio.ByteBuffer;

/** Reads the type of a control batch without decoding the rest. */
final class ControlKey {

  static final int NO_TYPE = -1;

  /** Length, attributes, two deltas, key length and key, at their longest. */
  static final int MAX_BYTES = BatchHeader.SIZE + 5 + 1 + 10 + 5 + 5 + 4;

  private ControlKey() {}

  /** The type of the control batch at {@code at}; {@link #NO_TYPE} if there is no key. */
  static int typeOf(ByteBuffer batch, int at, int limit) {
    int position = at + BatchHeader.SIZE;
    position = skipVarint(batch, position, limit) + 1;
    position = skipVarint(batch, position, limit);
    position = skipVarint(batch, position, limit);
    if (position >= limit || batch.get(position) != 4 << 1 || position + 5 > limit) {
      return NO_TYPE;
    }
    return batch.getShort(position + 3);
  }

  private static int skipVarint(ByteBuffer batch, int from, int limit) {
    int position = from;
    while (position < limit && batch.get(position) < 0) {
      position++;
    }
    return position + 1;
  }
}
