package io.millrace.tools;

/** A command can not do its work; the message is the one line that the user sees. Exit code 1. */
public final class CommandFailure extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public CommandFailure(String line) {
    super(line);
  }

  public CommandFailure(String line, Throwable cause) {
    super(line, cause);
  }
}
