package io.millrace.tools.records;

import io.millrace.tools.CommandFailure;
import io.millrace.tools.UsageFailure;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A line taken apart at the first separator.
 *
 * @param key null when lines have no keys
 */
public record KeyedLine(byte[] key, byte[] value) {
  /** Takes lines apart; without a separator the whole line is the value. */
  public static final class Parser {
    private final byte[] separator;
    private final String shown;

    /**
     * @param separator null: lines have no keys
     */
    public Parser(String separator) {
      if (separator != null && separator.isEmpty()) {
        throw new UsageFailure("--key-separator is empty; give it, as in --key-separator '\\t'");
      }
      this.separator = separator == null ? null : separator.getBytes(StandardCharsets.UTF_8);
      this.shown = separator == null ? null : visible(separator);
    }

    public KeyedLine parse(byte[] line, long lineNumber) {
      if (separator == null) {
        return new KeyedLine(null, line);
      }
      int at = indexOf(line, separator);
      if (at < 0) {
        throw new CommandFailure(
            "line "
                + lineNumber
                + " has no key separator "
                + shown
                + "; correct the line, name the right one with --key-separator,"
                + " or leave the option out for lines without keys");
      }
      return new KeyedLine(
          Arrays.copyOf(line, at), Arrays.copyOfRange(line, at + separator.length, line.length));
    }

    private static String visible(String separator) {
      return "'" + separator.replace("\t", "\\t").replace("\n", "\\n").replace("\0", "\\0") + "'";
    }

    private static int indexOf(byte[] line, byte[] wanted) {
      int last = line.length - wanted.length;
      for (int i = 0; i <= last; i++) {
        if (Arrays.equals(line, i, i + wanted.length, wanted, 0, wanted.length)) {
          return i;
        }
      }
      return -1;
    }
  }
}
