package io.millrace.protocol.batch;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.xerial.snappy.Snappy;

/**
 * The framing of snappy-java, which Kafka's batches use. Read here and not by its SnappyInputStream
 * because that takes the memory that a block claims.
 *
 * <pre>
 *  0   8  magic    0x82 "SNAPPY" 0x00
 *  8   4  version  1
 * 12   4  oldest version that can read it  1
 * then blocks: i32 length, one raw snappy block
 * </pre>
 *
 * A stream without the magic is one raw block: some producers of Kafka's protocol send that. The
 * header may be repeated between blocks (streams written one after the other).
 */
final class SnappyFraming {

  private static final byte[] MAGIC = {(byte) 0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
  private static final int VERSION = 1;
  private static final int HEADER_BYTES = 16;
  private static final int BLOCK_BYTES = 32 << 10;

  private SnappyFraming() {}

  static void compress(byte[] source, int from, int length, BoundedOutput out) throws IOException {
    out.write(MAGIC, 0, MAGIC.length);
    out.writeInt(VERSION);
    out.writeInt(VERSION);
    byte[] block = new byte[Snappy.maxCompressedLength(Math.min(BLOCK_BYTES, length))];
    for (int done = 0; done < length && !out.overflowed(); done += BLOCK_BYTES) {
      int bytes = Math.min(BLOCK_BYTES, length - done);
      int compressed = Snappy.compress(source, from + done, bytes, block, 0);
      out.writeInt(compressed);
      out.write(block, 0, compressed);
    }
  }

  /** Null when the result is over {@code maxBytes}. */
  static ByteBuffer decompress(byte[] source, int from, int length, int maxBytes)
      throws IOException {
    int end = from + length;
    BoundedBytes out = BoundedBytes.forOutputOf(length, maxBytes);
    if (!isHeader(source, from, end)) {
      return append(source, from, length, out) ? out.toBuffer() : null;
    }
    ByteBuffer in = ByteBuffer.wrap(source);
    int at = from;
    while (at < end) {
      if (isHeader(source, at, end)) {
        at += HEADER_BYTES;
        continue;
      }
      int bytes = end - at < Integer.BYTES ? -1 : in.getInt(at);
      at += Integer.BYTES;
      if (bytes < 0 || bytes > end - at) {
        throw new IOException("snappy block of " + bytes + " bytes is not whole");
      }
      if (!append(source, at, bytes, out)) {
        return null;
      }
      at += bytes;
    }
    return out.toBuffer();
  }

  private static boolean isHeader(byte[] source, int at, int end) {
    return end - at >= HEADER_BYTES
        && Arrays.equals(source, at, at + MAGIC.length, MAGIC, 0, MAGIC.length);
  }

  /** Decompresses one block; false when it is over the limit. */
  private static boolean append(byte[] source, int at, int bytes, BoundedBytes out)
      throws IOException {
    int blockBytes = bytes == 0 ? -1 : Snappy.uncompressedLength(source, at, bytes);
    if (blockBytes < 0) {
      throw new IOException("snappy block of " + bytes + " bytes states no valid length");
    }
    if (!out.ensureRoom(blockBytes)) {
      return false;
    }
    out.advance(Snappy.uncompress(source, at, bytes, out.array(), out.size()));
    return true;
  }
}
