package io.millrace.broker.log;

import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.batch.InvalidBatchException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.ToLongFunction;
import java.util.zip.CRC32C;

/**
 * Reads a segment batch by batch and says where and why it ends. Believes nothing: every header is
 * checked against what came before, every checksum on demand.
 *
 * <p>Threads: one. Memory: one buffer, whatever lengths the file claims.
 */
final class SegmentScanner {

  enum Verdict {
    /** The index to stop at is next. */
    STOPPED,
    /** The file ends behind a batch. */
    END,
    /** The segment ends with its footer. */
    FOOT,
    /** The file ends inside a batch. */
    SHORT,
    /** What stands there is no batch of this log. */
    CORRUPT
  }

  /** Sees every good batch. */
  interface Sink {
    /**
     * @param due the index entry that has to stand in front of the batch, or null
     * @return what is wrong although the batch is good, or null
     */
    String passed(IndexEntry due) throws IOException;
  }

  private static final int BUFFER_BYTES = 128 * 1024;

  private final DiskFile file;
  private final long end;
  private final Cursor cursor;
  private final boolean verify;
  private final ToLongFunction<ByteBuffer> logTime;
  private final Sink sink;
  private final CRC32C crc = new CRC32C();
  private final ByteBuffer buffer;
  private long bufferStart;
  private String reason;
  private SegmentFoot foot;
  private long footEnd;
  private int controlType = ControlKey.NO_TYPE;

  SegmentScanner(
      DiskFile file,
      long end,
      Cursor cursor,
      boolean verify,
      ToLongFunction<ByteBuffer> logTime,
      Sink sink) {
    this.file = file;
    this.end = end;
    this.cursor = cursor;
    this.verify = verify;
    this.logTime = logTime;
    this.sink = sink;
    long rest = Math.max(end - cursor.position, 0);
    this.buffer = ByteBuffer.allocate((int) Math.min(BUFFER_BYTES, rest)).limit(0);
  }

  /** Advances the cursor behind the last good batch below an index. */
  Verdict scan(long stopIndex) throws IOException {
    while (cursor.index < stopIndex) {
      long left = end - cursor.position;
      if (left == 0) {
        return Verdict.END;
      }
      if (left < BatchHeader.SIZE) {
        return verdict(Verdict.SHORT, left + " bytes are left, a header has 61");
      }
      cursor.load(buffer, at(cursor.position, BatchHeader.SIZE));
      String mismatch = cursor.mismatch();
      if (mismatch != null) {
        return verdict(Verdict.CORRUPT, mismatch);
      }
      int size = cursor.headerSize();
      if (size > left) {
        return verdict(Verdict.SHORT, left + " bytes are left of a batch of " + size);
      }
      int type = cursor.headerIsControl() ? controlType(size) : ControlKey.NO_TYPE;
      if (type == ControlType.SEGMENT_FOOT.code()) {
        return foot(size);
      }
      Verdict bad = pass(size, type);
      if (bad != null) {
        return bad;
      }
    }
    return Verdict.STOPPED;
  }

  private Verdict pass(int size, int type) throws IOException {
    if (cursor.headerTerm() < cursor.term) {
      return verdict(
          Verdict.CORRUPT, "term " + cursor.headerTerm() + " behind term " + cursor.term);
    }
    if (type == ControlType.SEGMENT_HEAD.code()) {
      return verdict(Verdict.CORRUPT, "a segment head inside a segment");
    }
    controlType = type;
    long position = cursor.position;
    if (verify && !checksumMatches(position, size)) {
      return verdict(Verdict.CORRUPT, "the checksum does not match");
    }
    IndexEntry due = cursor.advance();
    if (type == ControlType.TIME.code() && size <= buffer.capacity()) {
      cursor.passTime(logTime.applyAsLong(buffer.slice(at(position, size), size)));
    }
    String wrong = sink.passed(due);
    return wrong == null ? null : verdict(Verdict.CORRUPT, wrong);
  }

  private int controlType(int size) throws IOException {
    int wanted = Math.min(size, ControlKey.MAX_BYTES);
    int at = at(cursor.position, wanted);
    return ControlKey.typeOf(buffer, at, at + wanted);
  }

  private Verdict foot(int size) throws IOException {
    ByteBuffer batch = ByteBuffer.allocate(size);
    if (!file.readFully(batch, cursor.position)) {
      return verdict(Verdict.SHORT, "the footer ends early");
    }
    SegmentFoot found;
    try {
      found = SegmentFoot.decode(batch.flip());
    } catch (InvalidBatchException e) {
      return verdict(Verdict.CORRUPT, "the footer is damaged: " + e.getMessage());
    }
    if (found == null
        || found.lastIndex() != cursor.index - 1
        || found.nextOffset() != cursor.offset) {
      return verdict(Verdict.CORRUPT, "the footer is not that of what stands before it");
    }
    foot = found;
    footEnd = (long) cursor.position + size;
    return found.chain() == cursor.chain
        ? Verdict.FOOT
        : verdict(Verdict.CORRUPT, "headers do not match the CRC chain of the footer");
  }

  private boolean checksumMatches(long position, int size) throws IOException {
    crc.reset();
    long from = position + BatchHeader.ATTRIBUTES_OFFSET;
    long to = position + size;
    while (from < to) {
      int length = (int) Math.min(to - from, buffer.capacity());
      // Takes what is there already before it reads on.
      long buffered = bufferStart + buffer.limit() - from;
      if (buffered > 0) {
        length = (int) Math.min(length, buffered);
      }
      int at = at(from, length);
      crc.update(buffer.array(), at, length);
      from += length;
    }
    return (int) crc.getValue() == BatchHeader.crc(cursor.header(), 0);
  }

  /** Where bytes of the file stand in the buffer. */
  private int at(long position, int length) throws IOException {
    if (position < bufferStart || position + length > bufferStart + buffer.limit()) {
      buffer.clear().limit((int) Math.min(buffer.capacity(), end - position));
      bufferStart = position;
      if (!file.readFully(buffer, position)) {
        buffer.limit(0);
        throw new IOException("the file became shorter than " + end + " bytes while it was read");
      }
      buffer.flip();
    }
    return (int) (position - bufferStart);
  }

  private Verdict verdict(Verdict verdict, String why) {
    reason = why;
    return verdict;
  }

  /** Why it is short or corrupt. */
  String reason() {
    return reason;
  }

  /** Type of the last good batch, {@link ControlKey#NO_TYPE} if it has records. */
  int controlType() {
    return controlType;
  }

  /**
   * With {@link Verdict#FOOT}, and when the footer ends the right batches and only the chain of
   * their headers is another; else null.
   */
  SegmentFoot foot() {
    return foot;
  }

  /** Where {@link #foot} is not null: the position behind the footer. */
  long footEnd() {
    return footEnd;
  }
}
