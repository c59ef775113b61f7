package io.millrace.protocol.batch;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** An array that grows with what is written into it, up to a limit. */
final class BoundedBytes {

  private static final int FIRST_BYTES = 64 << 10;
  private static final int USUAL_RATIO = 4;

  private final int maxBytes;
  private byte[] bytes;
  private int size;

  BoundedBytes(int firstCapacity, int maxBytes) {
    this.maxBytes = maxBytes;
    this.bytes = new byte[Math.min(maxBytes, firstCapacity)];
  }

  /** For the output of a decompression whose size is not known. */
  static BoundedBytes forOutputOf(int compressedBytes, int maxBytes) {
    long guess = Math.max(FIRST_BYTES, (long) compressedBytes * USUAL_RATIO);
    return new BoundedBytes((int) Math.min(maxBytes, guess), maxBytes);
  }

  /** Returns whether there is room for {@code more} bytes, which takes memory if it must. */
  boolean ensureRoom(int more) {
    if (more > maxBytes - size) {
      return false;
    }
    if (more > bytes.length - size) {
      long grown = Math.max((long) size + more, bytes.length * 2L);
      bytes = Arrays.copyOf(bytes, (int) Math.min(maxBytes, grown));
    }
    return true;
  }

  byte[] array() {
    return bytes;
  }

  int size() {
    return size;
  }

  int room() {
    return bytes.length - size;
  }

  /** Counts bytes that were written at {@link #size}. */
  void advance(int written) {
    size += written;
  }

  ByteBuffer toBuffer() {
    return ByteBuffer.wrap(bytes, 0, size);
  }
}
