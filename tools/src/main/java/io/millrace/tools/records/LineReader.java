package io.millrace.tools.records;

import io.millrace.tools.CommandFailure;
import io.millrace.tools.Words;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * Lines of a stream as bytes, whatever their character set: only the line feed is taken off, so
 * that what comes back is what went in. Not safe for use by several threads.
 */
public final class LineReader {
  private static final int BUFFER_BYTES = 64 * 1024;

  private final InputStream in;
  private final int maxLineBytes;
  private final byte[] buffer = new byte[BUFFER_BYTES];
  private final ByteArrayOutputStream begun = new ByteArrayOutputStream();
  private int position;
  private int limit;
  private long lineNumber;

  public LineReader(InputStream in, int maxLineBytes) {
    this.in = in;
    this.maxLineBytes = maxLineBytes;
  }

  /** Number of the line that {@link #next} returned last, from 1. */
  public long lineNumber() {
    return lineNumber;
  }

  /**
   * The next line, null at the end. A last line without a line feed counts when it is not empty.
   */
  public byte[] next() throws IOException {
    begun.reset();
    while (true) {
      if (position == limit) {
        limit = in.read(buffer);
        position = 0;
        if (limit <= 0) {
          limit = 0;
          return begun.size() == 0 ? null : line();
        }
      }
      int end = position;
      while (end < limit && buffer[end] != '\n') {
        end++;
      }
      if (begun.size() + (end - position) > maxLineBytes) {
        throw new CommandFailure(
            "line "
                + (lineNumber + 1)
                + " is longer than "
                + Words.count(maxLineBytes)
                + " bytes, the most that a record can hold; split it");
      }
      begun.write(buffer, position, end - position);
      position = end;
      if (end < limit) {
        position++;
        return line();
      }
    }
  }

  private byte[] line() {
    lineNumber++;
    return begun.toByteArray();
  }
}
