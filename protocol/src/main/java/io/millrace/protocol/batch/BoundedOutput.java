package io.millrace.protocol.batch;

import java.io.OutputStream;

/** Writes into a part of an array; what does not fit is dropped and remembered as overflow. */
final class BoundedOutput extends OutputStream {

  private final byte[] target;
  private final int end;
  private int position;
  private boolean overflowed;

  BoundedOutput(byte[] target, int start, int end) {
    this.target = target;
    this.position = start;
    this.end = Math.max(start, end);
  }

  @Override
  public void write(int b) {
    if (overflowed || position == end) {
      overflowed = true;
      return;
    }
    target[position++] = (byte) b;
  }

  @Override
  public void write(byte[] bytes, int from, int length) {
    if (overflowed || length > end - position) {
      overflowed = true;
      return;
    }
    System.arraycopy(bytes, from, target, position, length);
    position += length;
  }

  void writeInt(int value) {
    write(value >>> 24);
    write(value >>> 16);
    write(value >>> 8);
    write(value);
  }

  int position() {
    return position;
  }

  boolean overflowed() {
    return overflowed;
  }
}
