package io.millrace.protocol.batch;

import com.google.protobuf.ByteString;
import io.millrace.protocol.error.ErrorCode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Cursor over uncompressed record bodies in which no length is believed.
 *
 * <pre>
 *  varint   length            bytes after this field
 *  i8       attributes        unused
 *  varlong  timestampDelta    to baseTimestamp
 *  varint   offsetDelta       to baseOffset
 *  varint   keyLength         -1 = null
 *  bytes    key
 *  varint   valueLength       -1 = null
 *  bytes    value
 *  varint   headerCount
 *    varint  keyLength, bytes key (UTF-8), varint valueLength (-1 = null), bytes value
 * </pre>
 */
final class RecordParser {

  /** Smallest record body with its length: no key, no value, no header. */
  static final int MIN_RECORD_BYTES = 7;

  private static final int MIN_HEADER_BYTES = 2;

  private final ByteBuffer in;
  private final ErrorCode code;
  private final long nextOffset;
  private final String what;
  private final int batchEnd;
  private int recordEnd;

  /**
   * Reads from the position of {@code in}, which it moves, to its limit.
   *
   * @param code of the errors; {@code what} and {@code nextOffset} are for them too
   */
  RecordParser(ByteBuffer in, ErrorCode code, String what, long nextOffset) {
    this.in = in;
    this.code = code;
    this.nextOffset = nextOffset;
    this.what = what;
    this.batchEnd = in.limit();
    this.recordEnd = batchEnd;
  }

  void beginRecord() throws InvalidBatchException {
    recordEnd = batchEnd;
    int length = readVarint();
    if (length < 0 || length > batchEnd - in.position()) {
      throw error(
          "record length " + length + " is not in 0.." + (batchEnd - in.position()) + " (rest)");
    }
    recordEnd = in.position() + length;
  }

  void endRecord() throws InvalidBatchException {
    if (in.position() != recordEnd) {
      throw error((recordEnd - in.position()) + " bytes left over in a record");
    }
  }

  void endBatch() throws InvalidBatchException {
    if (in.position() != batchEnd) {
      throw error((batchEnd - in.position()) + " bytes left over behind the last record");
    }
  }

  byte readByte() throws InvalidBatchException {
    need(1);
    return in.get();
  }

  short readShort() throws InvalidBatchException {
    need(2);
    return in.getShort();
  }

  int readVarint() throws InvalidBatchException {
    long value = readVarlong();
    if (value != (int) value) {
      throw error("number " + value + " does not fit into 32 bits");
    }
    return (int) value;
  }

  long readVarlong() throws InvalidBatchException {
    long raw = 0;
    for (int shift = 0; shift < 7 * Varints.MAX_LONG_BYTES; shift += 7) {
      byte b = readByte();
      raw |= (long) (b & 0x7F) << shift;
      if (b >= 0) {
        return (raw >>> 1) ^ -(raw & 1);
      }
    }
    throw error("number of more than " + Varints.MAX_LONG_BYTES + " bytes");
  }

  /** Null for length -1. */
  byte[] readBytes(int length) throws InvalidBatchException {
    if (length == -1) {
      return null;
    }
    need(length);
    byte[] bytes = new byte[length];
    in.get(bytes);
    return bytes;
  }

  ByteString readByteString(int length) throws InvalidBatchException {
    need(length);
    return ByteString.copyFrom(in, length);
  }

  List<RecordHeader> readHeaders() throws InvalidBatchException {
    int count = readVarint();
    if (count == 0) {
      return List.of();
    }
    if (count < 0 || count > (recordEnd - in.position()) / MIN_HEADER_BYTES) {
      throw error("header count " + count + " does not fit into the record");
    }
    List<RecordHeader> headers = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      byte[] key = readBytes(readVarint());
      if (key == null) {
        throw error("header " + i + " has no key");
      }
      headers.add(
          new RecordHeader(new String(key, StandardCharsets.UTF_8), readBytes(readVarint())));
    }
    return List.copyOf(headers);
  }

  InvalidBatchException error(String text) {
    return new InvalidBatchException(code, what + ": " + text, nextOffset, null);
  }

  private void need(int bytes) throws InvalidBatchException {
    if (bytes < 0 || bytes > recordEnd - in.position()) {
      throw error("field of " + bytes + " bytes, " + (recordEnd - in.position()) + " are left");
    }
  }
}
