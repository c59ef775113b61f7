package io.millrace.protocol.batch;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;

/** Bytes that may be a text. */
final class BytesText {

  private BytesText() {}

  /**
   * The first bytes as UTF-8 with control characters, quotes and backslashes escaped; null if they
   * are none. A character that the end cuts in two is left out if there are more bytes.
   */
  static String decode(byte[] bytes, int length) {
    CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
    CharBuffer chars = CharBuffer.allocate(length);
    CoderResult result =
        decoder.decode(ByteBuffer.wrap(bytes, 0, length), chars, length == bytes.length);
    return result.isError() ? null : escaped(chars.flip());
  }

  private static String escaped(CharBuffer chars) {
    StringBuilder text = new StringBuilder(chars.remaining());
    while (chars.hasRemaining()) {
      char c = chars.get();
      switch (c) {
        case '\n' -> text.append("\\n");
        case '\r' -> text.append("\\r");
        case '\t' -> text.append("\\t");
        case '\\' -> text.append("\\\\");
        case '\'' -> text.append("\\'");
        default -> {
          if (Character.isISOControl(c) || Character.getType(c) == Character.FORMAT) {
            text.append(String.format("\\u%04x", (int) c));
          } else {
            text.append(c);
          }
        }
      }
    }
    return text.toString();
  }
}
