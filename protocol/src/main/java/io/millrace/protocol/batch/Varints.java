package io.millrace.protocol.batch;

/** Zig-zag varints of record fields: signed, 1 to 5 bytes (int) or 1 to 10 bytes (long). */
final class Varints {

  static final int MAX_LONG_BYTES = 10;

  private Varints() {}

  static int size(int value) {
    int zigzag = (value << 1) ^ (value >> 31);
    return (38 - Integer.numberOfLeadingZeros(zigzag | 1)) / 7;
  }

  static int size(long value) {
    long zigzag = (value << 1) ^ (value >> 63);
    return (70 - Long.numberOfLeadingZeros(zigzag | 1)) / 7;
  }

  /** Returns the position behind the written bytes. */
  static int write(byte[] target, int position, int value) {
    int rest = (value << 1) ^ (value >> 31);
    int at = position;
    while ((rest & ~0x7F) != 0) {
      target[at++] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    target[at++] = (byte) rest;
    return at;
  }

  static int write(byte[] target, int position, long value) {
    long rest = (value << 1) ^ (value >> 63);
    int at = position;
    while ((rest & ~0x7FL) != 0) {
      target[at++] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    target[at++] = (byte) rest;
    return at;
  }
}
