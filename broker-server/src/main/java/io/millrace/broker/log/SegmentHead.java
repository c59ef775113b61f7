package io.millrace.broker.log;

import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlRecord;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.batch.InvalidBatchException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

/**
 * First batch of every segment file, in the file only: which log it belongs to. It is a control
 * batch of type SEGMENT_HEAD with term -1 and the segment's base offset; its value is:
 *
 * <pre>
 * offset size
 * 0      2    format version, 1
 * 2      2    zero
 * 4      4    partition
 * 8      16   topic UUID
 * 24     8    first Raft index of the segment
 * 32     8    base offset of the segment
 * 40     8    log time in force where the segment begins, -1 = none yet
 * 48     2    n = bytes of the cluster id
 * 50     n    cluster id, UTF-8
 * </pre>
 *
 * A newer version may append fields and has a higher number; older brokers refuse it.
 */
public record SegmentHead(LogIdentity identity, SegmentName name, long logTime) {

  static final short FORMAT_VERSION = 1;
  static final int NO_TERM = -1;

  /** Bound of what is read to find the head: a longer cluster id is refused when it is written. */
  static final int MAX_BYTES = 1024;

  private static final int VERSION_OFFSET = 0;
  private static final int PARTITION_OFFSET = 4;
  private static final int TOPIC_OFFSET = 8;
  private static final int FIRST_INDEX_OFFSET = 24;
  private static final int BASE_OFFSET_OFFSET = 32;
  private static final int LOG_TIME_OFFSET = 40;
  private static final int CLUSTER_LENGTH_OFFSET = 48;
  private static final int CLUSTER_OFFSET = 50;

  ByteBuffer encode() {
    byte[] cluster = identity.clusterId().getBytes(StandardCharsets.UTF_8);
    ByteBuffer value = ByteBuffer.allocate(CLUSTER_OFFSET + cluster.length);
    value.putShort(VERSION_OFFSET, FORMAT_VERSION);
    value.putInt(PARTITION_OFFSET, identity.partition());
    value.putLong(TOPIC_OFFSET, identity.topicId().getMostSignificantBits());
    value.putLong(TOPIC_OFFSET + 8, identity.topicId().getLeastSignificantBits());
    value.putLong(FIRST_INDEX_OFFSET, name.firstIndex());
    value.putLong(BASE_OFFSET_OFFSET, name.baseOffset());
    value.putLong(LOG_TIME_OFFSET, logTime);
    value.putShort(CLUSTER_LENGTH_OFFSET, (short) cluster.length);
    value.put(CLUSTER_OFFSET, cluster);
    ByteBuffer batch = ControlBatch.encode(ControlType.SEGMENT_HEAD.code(), value.array());
    if (batch.remaining() > MAX_BYTES) {
      throw new IllegalArgumentException(
          "the cluster id has " + cluster.length + " bytes and does not fit into a segment head");
    }
    BatchHeader.patch(batch, name.baseOffset(), NO_TERM);
    return batch;
  }

  /**
   * What stands at the begin of a file.
   *
   * @param head null if there is none
   * @param bytes of the head, 0 if there is none
   * @param problem why there is none, null if there is one
   * @param cutShort the file ends inside the head
   */
  record At(SegmentHead head, int bytes, String problem, boolean cutShort) {}

  /**
   * @throws LogFormatException if a newer version wrote it
   */
  static At find(DiskFile file, long size) throws IOException {
    ByteBuffer batch = ByteBuffer.allocate((int) Math.min(size, MAX_BYTES));
    file.readFully(batch, 0); // What is missing of a file that became shorter is no head.
    batch.flip();
    if (batch.remaining() < BatchHeader.SIZE) {
      return new At(null, 0, "it ends inside its head", true);
    }
    long bytes = BatchHeader.sizeInBytes(batch, 0);
    if (bytes < BatchHeader.SIZE || bytes > MAX_BYTES) {
      return new At(null, 0, "it does not begin with a head", false);
    }
    if (bytes > batch.remaining()) {
      return new At(null, 0, "it ends inside its head", true);
    }
    try {
      SegmentHead head = decode(batch.limit((int) bytes));
      return head == null
          ? new At(null, 0, "it does not begin with a head", false)
          : new At(head, (int) bytes, null, false);
    } catch (InvalidBatchException e) {
      return new At(null, 0, "its head is damaged: " + e.getMessage(), false);
    }
  }

  /**
   * Null if the batch is intact and no head.
   *
   * @throws InvalidBatchException if the batch is damaged, or has records
   * @throws LogFormatException if a newer version wrote it
   */
  public static SegmentHead decode(ByteBuffer batch) throws InvalidBatchException {
    ControlRecord control = ControlBatch.decode(batch);
    ByteBuffer value = control.value().asReadOnlyByteBuffer();
    if (control.type() != ControlType.SEGMENT_HEAD || value.remaining() < CLUSTER_OFFSET) {
      return null;
    }
    short version = value.getShort(VERSION_OFFSET);
    if (version > FORMAT_VERSION) {
      throw new LogFormatException(
          "segment format version "
              + version
              + ", this broker knows up to "
              + FORMAT_VERSION
              + ": start the version that wrote it");
    }
    int clusterBytes = value.getShort(CLUSTER_LENGTH_OFFSET);
    if (clusterBytes < 0 || clusterBytes > value.remaining() - CLUSTER_OFFSET) {
      return null;
    }
    byte[] cluster = new byte[clusterBytes];
    value.get(CLUSTER_OFFSET, cluster);
    return new SegmentHead(
        new LogIdentity(
            new String(cluster, StandardCharsets.UTF_8),
            new UUID(value.getLong(TOPIC_OFFSET), value.getLong(TOPIC_OFFSET + 8)),
            value.getInt(PARTITION_OFFSET)),
        new SegmentName(value.getLong(BASE_OFFSET_OFFSET), value.getLong(FIRST_INDEX_OFFSET)),
        value.getLong(LOG_TIME_OFFSET));
  }
}
