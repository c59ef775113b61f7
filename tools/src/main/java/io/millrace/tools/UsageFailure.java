package io.millrace.tools;

/**
 * The options do not make sense; the message is the one line that the user sees. Exit code 2,
 * nothing was done.
 */
public final class UsageFailure extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public UsageFailure(String line) {
    super(line);
  }
}
