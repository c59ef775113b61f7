package io.millrace.broker.log;

import io.millrace.protocol.batch.BatchHeader;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Goes from header to header through a part of a segment that is known to be whole.
 *
 * <p>Threads: one, which keeps the segment from being cut meanwhile. Errors: a header that cannot
 * stand there is {@link LogDamagedException}.
 */
final class HeaderWalk {

  /** One read covers the batches up to the next index entry. */
  private static final int READ_BYTES = Cursor.INDEX_INTERVAL_BYTES + BatchHeader.SIZE;

  private final Segment segment;
  private final DiskFile file;
  private final int end;
  private ByteBuffer buffer = ByteBuffer.allocate(0);
  private int bufferStart;
  private int at;

  private boolean trusted;
  private int position;
  private long index;
  private long offset;
  private int size;

  /**
   * In front of the batch at {@code position}, which is the entry {@code index}.
   *
   * @param trusted false if these come from an index entry: a first batch that does not match means
   *     that the index is wrong, {@link IndexDamagedException}
   */
  HeaderWalk(
      Segment segment,
      DiskFile file,
      int position,
      int end,
      long index,
      long offset,
      boolean trusted) {
    this.segment = segment;
    this.file = file;
    this.end = end;
    this.trusted = trusted;
    this.position = position;
    this.index = index;
    this.offset = offset;
  }

  /** At the next batch; false at the end. */
  boolean next() throws IOException {
    if (size > 0) {
      offset = nextOffset();
      position += size;
      index++;
      size = 0;
    }
    if (position >= end) {
      return false;
    }
    load();
    long claimed = BatchHeader.sizeInBytes(buffer, at);
    if (BatchHeader.magic(buffer, at) != BatchHeader.MAGIC
        || claimed < BatchHeader.SIZE
        || claimed > end - position
        || BatchHeader.baseOffset(buffer, at) != offset) {
      if (!trusted) {
        throw new IndexDamagedException(
            segment, "the index entry at " + position + " is no batch of " + segment);
      }
      throw damaged("no valid batch header for offset " + offset);
    }
    size = (int) claimed;
    trusted = true;
    return true;
  }

  private void load() throws IOException {
    at = position - bufferStart;
    if (at >= 0 && at + BatchHeader.SIZE <= buffer.limit()) {
      return;
    }
    int wanted = Math.min(READ_BYTES, end - position);
    if (buffer.capacity() < wanted) {
      buffer = ByteBuffer.allocate(wanted);
    }
    buffer.clear().limit(wanted);
    if (wanted < BatchHeader.SIZE || !file.readFully(buffer, position)) {
      throw damaged("the file ends inside a batch");
    }
    bufferStart = position;
    at = 0;
  }

  LogDamagedException damaged(String reason) {
    return new LogDamagedException(
        segment.log().path(), index, index, false, reason + " at position " + position);
  }

  int position() {
    return position;
  }

  int size() {
    return size;
  }

  long index() {
    return index;
  }

  /** Offset of the first record at or behind the batch. */
  long offset() {
    return offset;
  }

  long nextOffset() {
    return isControl() ? offset : offset + BatchHeader.lastOffsetDelta(buffer, at) + 1L;
  }

  boolean isControl() {
    return BatchHeader.isControl(buffer, at);
  }

  int term() {
    return BatchHeader.partitionLeaderEpoch(buffer, at);
  }

  long maxTimestamp() {
    return BatchHeader.maxTimestamp(buffer, at);
  }

  /** The whole batch, with its checksum verified. */
  ByteBuffer readBatch() throws IOException {
    ByteBuffer batch = ByteBuffer.allocate(size);
    int inBuffer = Math.min(size, buffer.limit() - at);
    batch.put(0, buffer, at, inBuffer);
    if (inBuffer < size && !file.readFully(batch.position(inBuffer), position + (long) inBuffer)) {
      throw damaged("the file ends inside a batch");
    }
    batch.clear();
    if (!BatchHeader.isIntact(batch, 0)) {
      throw damaged("the checksum of the batch does not match");
    }
    return batch;
  }
}
