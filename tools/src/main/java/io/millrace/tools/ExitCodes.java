package io.millrace.tools;

/** Exit codes of every command. */
public final class ExitCodes {
  public static final int OK = 0;

  /** The command was understood and could not do all of its work. */
  public static final int FAILED = 1;

  /** The command line is wrong; nothing was done. */
  public static final int USAGE = 2;

  private ExitCodes() {}
}
