package io.millrace.broker.log;

import java.nio.file.Path;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Name of a segment: {@code <baseOffset>.<firstRaftIndex>.log}, 20 digits each, and {@code .idx}
 * beside it. The index makes it unique: control batches take no offset, so two segments can begin
 * with the same one. Kafka's tools read the part before the first dot.
 */
public record SegmentName(long baseOffset, long firstIndex) {

  private static final Pattern PATTERN = Pattern.compile("(\\d{20})\\.(\\d{20})\\.(log|idx)");

  /** Null for any other file. */
  public static SegmentName parse(Path file) {
    Matcher matcher = PATTERN.matcher(file.getFileName().toString());
    if (!matcher.matches()) {
      return null;
    }
    try {
      return new SegmentName(Long.parseLong(matcher.group(1)), Long.parseLong(matcher.group(2)));
    } catch (NumberFormatException e) {
      throw new LogFormatException(file + " does not name an offset and an index of a log");
    }
  }

  public static boolean isLog(Path file) {
    return file.getFileName().toString().endsWith(".log");
  }

  public Path log(Path directory) {
    return directory.resolve(this + ".log");
  }

  public Path index(Path directory) {
    return directory.resolve(this + ".idx");
  }

  @Override
  public String toString() {
    return String.format(Locale.ROOT, "%020d.%020d", baseOffset, firstIndex);
  }
}
