package io.millrace.protocol.batch;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/** CRC-32C (Castagnoli), the checksum of batches. The JVM computes it with CPU instructions. */
public final class Crc32c {

  private Crc32c() {}

  /** Of {@code length} bytes from absolute position {@code position}; the buffer is not changed. */
  public static int of(ByteBuffer buf, int position, int length) {
    if (buf.hasArray()) {
      return of(buf.array(), buf.arrayOffset() + position, length);
    }
    CRC32C crc = new CRC32C();
    crc.update(buf.duplicate().limit(position + length).position(position));
    return (int) crc.getValue();
  }

  public static int of(byte[] bytes, int offset, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, offset, length);
    return (int) crc.getValue();
  }
}
