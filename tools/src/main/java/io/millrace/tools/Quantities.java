package io.millrace.tools;

import java.time.DateTimeException;
import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Durations and sizes as people type them. */
public final class Quantities {
  private static final Pattern DURATION = Pattern.compile("(\\d{1,12})(ms|s|m|h|d)");
  private static final Pattern SIZE = Pattern.compile("(\\d{1,15})\\s*([kmg]?)(i?b)?");

  private Quantities() {}

  public static Duration duration(String text) {
    String value = text.strip().toLowerCase(Locale.ROOT);
    if (value.equals("0")) {
      return Duration.ZERO;
    }
    Matcher matcher = DURATION.matcher(value);
    if (!matcher.matches()) {
      if (value.startsWith("p")) {
        try {
          return Duration.parse(value);
        } catch (DateTimeException e) {
          throw new TypeConversionException(notADuration(text));
        }
      }
      throw new TypeConversionException(notADuration(text));
    }
    long number = Long.parseLong(matcher.group(1));
    return switch (matcher.group(2)) {
      case "ms" -> Duration.ofMillis(number);
      case "s" -> Duration.ofSeconds(number);
      case "m" -> Duration.ofMinutes(number);
      case "h" -> Duration.ofHours(number);
      default -> Duration.ofDays(number);
    };
  }

  private static String notADuration(String text) {
    return "'"
        + text
        + "' is not a duration; write a whole number with ms, s, m, h or d, as in 30s";
  }

  /**
   * @throws UsageFailure if the option's value is below the least one
   */
  public static void requireAtLeast(String option, Duration value, Duration least) {
    if (value.compareTo(least) < 0) {
      throw new UsageFailure(
          option + " " + value.toMillis() + "ms is below " + least.toMillis() + "ms");
    }
  }

  public static long bytes(String text) {
    Matcher matcher = SIZE.matcher(text.strip().toLowerCase(Locale.ROOT));
    if (!matcher.matches()) {
      throw new TypeConversionException(
          "'"
              + text
              + "' is not a size; write a whole number of bytes, or with k, m or g, as in 64m");
    }
    int shift =
        switch (matcher.group(2)) {
          case "k" -> 10;
          case "m" -> 20;
          case "g" -> 30;
          default -> 0;
        };
    long number = Long.parseLong(matcher.group(1));
    if (number > Long.MAX_VALUE >> shift) {
      throw new TypeConversionException(
          "'" + text + "' is too large; at most 8 EiB can be counted");
    }
    return number << shift;
  }

  /** Escapes of separators and formats: \t \n \r \0 \\. */
  public static String unescaped(String text) {
    var plain = new StringBuilder(text.length());
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c != '\\' || i + 1 == text.length()) {
        plain.append(c);
        continue;
      }
      char next = text.charAt(++i);
      switch (next) {
        case 't' -> plain.append('\t');
        case 'n' -> plain.append('\n');
        case 'r' -> plain.append('\r');
        case '0' -> plain.append('\0');
        case '\\' -> plain.append('\\');
        default -> plain.append('\\').append(next);
      }
    }
    return plain.toString();
  }

  /** For picocli: {@code 30s}, {@code 5m}, {@code 200ms}. */
  public static final class DurationConverter implements ITypeConverter<Duration> {
    @Override
    public Duration convert(String value) {
      return duration(value);
    }
  }

  /** For picocli: {@code 131072}, {@code 128k}, {@code 1g}. */
  public static final class BytesConverter implements ITypeConverter<Long> {
    @Override
    public Long convert(String value) {
      return bytes(value);
    }
  }
}
