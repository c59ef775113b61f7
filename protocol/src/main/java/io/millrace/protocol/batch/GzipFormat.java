package io.millrace.protocol.batch;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * Reads the gzip format (RFC 1952), members one after the other included. Not with GZIPInputStream,
 * which calls itself for every member: a batch of many empty members would overflow the stack.
 *
 * <pre>
 *  0  2  magic       1f 8b
 *  2  1  method      8 = deflate
 *  3  1  flags       2 header checksum, 4 extra field, 8 name, 16 comment
 *  4  6  time, extra flags, operating system
 *  then, by flag: extra field (u16 length), name and comment (0 at the end), u16 checksum
 *  then the deflate stream, u32 CRC-32 and u32 size of the content, little endian
 * </pre>
 */
final class GzipFormat {

  private static final int HEADER_BYTES = 10;
  private static final int TRAILER_BYTES = 8;
  private static final int MAGIC = 0x8B1F;
  private static final int DEFLATE = 8;
  private static final int FLAG_HEADER_CHECKSUM = 2;
  private static final int FLAG_EXTRA = 4;
  private static final int FLAG_NAME = 8;
  private static final int FLAG_COMMENT = 16;

  private GzipFormat() {}

  /** Null when the result is over the limit. */
  static ByteBuffer decompress(byte[] bytes, int from, int length, int maxBytes)
      throws IOException {
    ByteBuffer in = ByteBuffer.wrap(bytes, from, length).order(ByteOrder.LITTLE_ENDIAN);
    BoundedBytes out = BoundedBytes.forOutputOf(length, maxBytes);
    Inflater inflater = new Inflater(true);
    try {
      do {
        skipHeader(in);
        if (!inflateMember(inflater, in, out)) {
          return null;
        }
        inflater.reset();
      } while (in.hasRemaining());
      return out.toBuffer();
    } catch (DataFormatException e) {
      throw new IOException("no valid deflate stream: " + e.getMessage(), e);
    } finally {
      inflater.end();
    }
  }

  private static void skipHeader(ByteBuffer in) throws IOException {
    need(in, HEADER_BYTES);
    int start = in.position();
    if ((in.getShort(start) & 0xFFFF) != MAGIC || in.get(start + 2) != DEFLATE) {
      throw new IOException("no gzip header at byte " + start);
    }
    int flags = in.get(start + 3);
    in.position(start + HEADER_BYTES);
    if ((flags & FLAG_EXTRA) != 0) {
      need(in, Short.BYTES);
      skip(in, in.getShort() & 0xFFFF);
    }
    if ((flags & FLAG_NAME) != 0) {
      skipText(in);
    }
    if ((flags & FLAG_COMMENT) != 0) {
      skipText(in);
    }
    if ((flags & FLAG_HEADER_CHECKSUM) != 0) {
      skip(in, Short.BYTES);
    }
  }

  private static boolean inflateMember(Inflater inflater, ByteBuffer in, BoundedBytes out)
      throws DataFormatException, IOException {
    int start = out.size();
    inflater.setInput(in);
    while (!inflater.finished()) {
      boolean full = out.room() == 0 && !out.ensureRoom(1);
      // With the limit reached, only the end of the stream may still come.
      byte[] target = full ? new byte[1] : out.array();
      int written =
          full ? inflater.inflate(target) : inflater.inflate(target, out.size(), out.room());
      if (full && written > 0) {
        return false;
      }
      if (written == 0 && !inflater.finished()) {
        throw new IOException("deflate stream ends too early");
      }
      out.advance(written);
    }
    need(in, TRAILER_BYTES);
    CRC32 crc = new CRC32();
    crc.update(out.array(), start, out.size() - start);
    if (in.getInt() != (int) crc.getValue() || in.getInt() != out.size() - start) {
      throw new IOException("gzip trailer does not match the content");
    }
    return true;
  }

  private static void skipText(ByteBuffer in) throws IOException {
    do {
      need(in, 1);
    } while (in.get() != 0);
  }

  private static void skip(ByteBuffer in, int bytes) throws IOException {
    need(in, bytes);
    in.position(in.position() + bytes);
  }

  private static void need(ByteBuffer in, int bytes) throws IOException {
    if (in.remaining() < bytes) {
      throw new IOException("gzip stream ends too early");
    }
  }
}
