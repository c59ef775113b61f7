package io.millrace.broker.log;

import io.millrace.protocol.batch.BatchHeader;

/**
 * A batch as it stands in a segment file.
 *
 * @param index of the Raft entry; {@link #NO_INDEX} for head and foot, which are none
 * @param position of its first byte in the file
 * @param size in bytes
 * @param controlType {@link #RECORDS} if it carries records
 */
public record StoredBatch(
    Kind kind, long index, long position, int size, BatchHeader header, int controlType) {

  /** What a batch is to its segment. */
  public enum Kind {
    HEAD,
    ENTRY,
    FOOT
  }

  public static final long NO_INDEX = -1;
  public static final int RECORDS = ControlKey.NO_TYPE;

  public int term() {
    return header.partitionLeaderEpoch();
  }

  /** Where the next batch begins. */
  public long end() {
    return position + size;
  }
}
