package io.millrace.broker.log;

import java.nio.file.Path;

/**
 * Stored entries that were on the device cannot be read any more. Nothing was changed. The replica
 * has to get the range from another one.
 */
public final class LogDamagedException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final long firstIndex;
  private final long lastIndex;
  private final boolean validFollows;

  public LogDamagedException(
      Path file, long firstIndex, long lastIndex, boolean validFollows, String reason) {
    super(
        "log damaged: entries "
            + firstIndex
            + " to "
            + lastIndex
            + " in "
            + file
            + ": "
            + reason
            + (validFollows ? "; valid entries follow" : "; nothing valid follows"));
    this.firstIndex = firstIndex;
    this.lastIndex = lastIndex;
    this.validFollows = validFollows;
  }

  /** First entry that is damaged or missing. */
  public long firstIndex() {
    return firstIndex;
  }

  /** Last entry of the range that may be damaged or missing. */
  public long lastIndex() {
    return lastIndex;
  }

  /** Whether readable entries lie behind the range; if not, the end of the log is unknown. */
  public boolean validFollows() {
    return validFollows;
  }
}
