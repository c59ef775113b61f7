package io.millrace.broker.log;

import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.ControlType;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;

/**
 * Appends to the newest segment and begins new ones.
 *
 * <p>Owns: the cursor behind the last written entry. Threads: the writer. Durability: none; what it
 * wrote is published to readers and made durable by {@link LogSyncer}.
 */
final class SegmentWriter {

  private final LogCore core;
  private Segment segment;
  private Cursor cursor;
  private EpochTable epochs;

  /** Position of the first byte that waits in the buffer. */
  private int written;

  SegmentWriter(LogCore core) {
    this.core = core;
  }

  /** Goes on at a cursor in a segment that is open for writing. */
  void resume(Segment newSegment, Cursor newCursor, EpochTable newEpochs) {
    segment = newSegment;
    cursor = newCursor;
    epochs = newEpochs;
    written = newCursor.position;
  }

  /** The log begins later now; its writer and the one who keeps out all readers. */
  void forgetTermsBefore(EpochTable newEpochs) {
    epochs = newEpochs;
  }

  /** Refuses entries that must not be appended; nothing was written. */
  void check(List<LogEntry> entries) {
    long index = cursor.index;
    // A log that was emptied has no terms, but its last entry had one.
    long term = Math.max(epochs.lastTerm(), cursor.term);
    for (LogEntry entry : entries) {
      if (entry.index() != index) {
        throw new IllegalStateException(
            core.directory() + ": entry " + entry.index() + " where entry " + index + " is next");
      }
      if (entry.term() < term || entry.term() <= 0 || entry.term() > Integer.MAX_VALUE) {
        throw new IllegalStateException(
            core.directory()
                + ": entry "
                + index
                + " has term "
                + entry.term()
                + ", must be from "
                + Math.max(term, 1)
                + " to "
                + Integer.MAX_VALUE);
      }
      String wrong = wrongWith(entry.batch());
      if (wrong != null) {
        throw new IllegalArgumentException(
            core.directory() + ": entry " + index + " is no batch: " + wrong);
      }
      term = entry.term();
      index++;
    }
  }

  private static String wrongWith(ByteBuffer batch) {
    int at = batch.position();
    int size = batch.remaining();
    if (size < BatchHeader.SIZE || size > LogConfig.MAX_SEGMENT_BYTES) {
      return size + " bytes";
    }
    if (BatchHeader.sizeInBytes(batch, at) != size) {
      return "its length field says " + BatchHeader.sizeInBytes(batch, at) + " of " + size;
    }
    if (BatchHeader.magic(batch, at) != BatchHeader.MAGIC) {
      return "magic " + BatchHeader.magic(batch, at);
    }
    int count = BatchHeader.recordCount(batch, at);
    int delta = BatchHeader.lastOffsetDelta(batch, at);
    if (!BatchHeader.isControl(batch, at)) {
      return count > 0 && delta >= 0 ? null : count + " records, last offset delta " + delta;
    }
    int type = ControlKey.typeOf(batch, at, batch.limit());
    if (count != 0 || delta != -1 || type == ControlKey.NO_TYPE) {
      return "a control batch with " + count + " records, last offset delta " + delta;
    }
    return type == ControlType.SEGMENT_HEAD.code() || type == ControlType.SEGMENT_FOOT.code()
        ? "control type " + type + " stands in files only"
        : null;
  }

  /** Writes checked entries and publishes them. */
  void append(List<LogEntry> entries) throws IOException {
    ByteBuffer buffer = core.disk().writeBuffers().acquire();
    try {
      for (LogEntry entry : entries) {
        if (isFullFor(entry.batch()) || isOldAt(entry.batch())) {
          flush(buffer);
          roll();
        }
        put(entry, buffer);
      }
      flush(buffer);
    } finally {
      core.disk().writeBuffers().release(buffer);
    }
    publish(core.view().segments());
  }

  private boolean isFullFor(ByteBuffer batch) {
    return cursor.position > segment.headBytes()
        && (long) cursor.position + batch.remaining() > core.config().segmentBytes();
  }

  /**
   * Whether a batch makes log time reach the age at which a segment that holds records is closed.
   * Decided in front of that batch: behind it, the segment's last log time would be the new one,
   * and its records would stay for as long again. Log time is in the log, so all replicas decide
   * alike.
   */
  private boolean isOldAt(ByteBuffer batch) {
    return core.config().segmentMillis() > 0
        && cursor.recordBytes > 0
        && cursor.firstLogTime >= 0
        && isTime(batch)
        && core.listener().logTimeOf(batch.asReadOnlyBuffer()) - cursor.firstLogTime
            >= core.config().segmentMillis();
  }

  private static boolean isTime(ByteBuffer batch) {
    return BatchHeader.isControl(batch, batch.position())
        && ControlKey.typeOf(batch, batch.position(), batch.limit()) == ControlType.TIME.code();
  }

  private void put(LogEntry entry, ByteBuffer buffer) throws IOException {
    ByteBuffer batch = entry.batch();
    cursor.load(batch, batch.position());
    cursor.patch((int) entry.term());
    long index = cursor.index;
    long offset = cursor.offset;
    if (buffer.remaining() < BatchHeader.SIZE) {
      flush(buffer);
    }
    cursor.copyHeaderTo(buffer);
    IndexEntry due = cursor.advance();
    if (due != null) {
      segment.index().add(due);
    }
    epochs = epochs.with(entry.term(), index, offset);
    if (isTime(batch)) {
      cursor.passTime(core.listener().logTimeOf(batch.asReadOnlyBuffer()));
    }
    int from = batch.position() + BatchHeader.SIZE;
    while (from < batch.limit()) {
      if (!buffer.hasRemaining()) {
        flush(buffer);
      }
      int length = Math.min(buffer.remaining(), batch.limit() - from);
      buffer.put(buffer.position(), batch, from, length);
      buffer.position(buffer.position() + length);
      from += length;
    }
  }

  private void flush(ByteBuffer buffer) throws IOException {
    buffer.flip();
    int length = buffer.remaining();
    if (length > 0) {
      DiskFile file = segment.log().acquire();
      try {
        file.write(buffer, written);
      } finally {
        segment.log().release();
      }
      written += length;
    }
    buffer.clear();
  }

  private void publish(Segment[] segments) {
    core.publish(
        new LogView(
            segments, cursor.index - 1, cursor.offset, cursor.position, cursor.chain, epochs));
  }

  /** Closes the segment with its footer and begins the next one. */
  void roll() throws IOException {
    SegmentFoot foot = cursor.foot(epochs, segment.name());
    ByteBuffer footer = foot.encode();
    int footerBytes = footer.remaining();
    DiskFile file = segment.log().acquire();
    try {
      file.write(footer, cursor.position);
    } finally {
      segment.log().release();
    }
    segment.index().add(cursor.endEntry());
    segment.index().flush();
    // Readers of the old view go on with it: the batches stay where they are.
    segment.close(foot, cursor.position, (long) cursor.position + footerBytes);

    SegmentName name = new SegmentName(cursor.offset, cursor.index);
    Segment next = core.createSegment(name, cursor.logTime);
    Segment[] old = core.view().segments();
    Segment[] segments = Arrays.copyOf(old, old.length + 1);
    segments[old.length] = next;
    resume(next, Cursor.behindHead(name, next.headBytes(), cursor.logTime, cursor.term), epochs);
    publish(segments);
    core.listener().rolled();
  }
}
