package io.millrace.tools.records;

import io.millrace.tools.UsageFailure;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;

/** Where reading begins: the values of {@code --from}. */
public sealed interface StartPoint {
  /** The first record that is still there. */
  record Earliest() implements StartPoint {}

  /** Only what comes from now on. */
  record Latest() implements StartPoint {}

  /** This offset of one partition. */
  record AtOffset(long offset) implements StartPoint {}

  /** The first record whose timestamp is at or after this. */
  record AtTime(long millis) implements StartPoint {}

  /**
   * @param zone of a time without one
   */
  static StartPoint parse(String text, ZoneId zone) {
    if (text.equalsIgnoreCase("earliest")) {
      return new Earliest();
    }
    if (text.equalsIgnoreCase("latest")) {
      return new Latest();
    }
    if (text.matches("\\d{1,18}")) {
      return new AtOffset(Long.parseLong(text));
    }
    if (text.matches("@\\d{1,18}")) {
      return new AtTime(Long.parseLong(text.substring(1)));
    }
    try {
      return new AtTime(time(text, zone).toEpochMilli());
    } catch (DateTimeException e) {
      throw new UsageFailure(
          "--from '"
              + text
              + "' is not earliest, latest, an offset, @milliseconds, or a time such as"
              + " 2026-01-31T08:00:00Z or 2026-01-31");
    }
  }

  private static Instant time(String text, ZoneId zone) {
    if (!text.contains("T")) {
      return LocalDate.parse(text).atStartOfDay(zone).toInstant();
    }
    String clock = text.substring(text.indexOf('T'));
    if (clock.matches(".*(Z|[+-]\\d{2}:?\\d{2})")) {
      return OffsetDateTime.parse(text).toInstant();
    }
    return LocalDateTime.parse(text).atZone(zone).toInstant();
  }
}
