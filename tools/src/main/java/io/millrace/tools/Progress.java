package io.millrace.tools;

import java.io.PrintStream;

/**
 * One line on standard error that says how far a command is: overwritten in place on a terminal,
 * otherwise printed now and then.
 *
 * <p>Threads: one thread at a time.
 */
public final class Progress {
  private static final long TERMINAL_INTERVAL_NANOS = 200_000_000L;
  private static final long LOG_INTERVAL_NANOS = 5_000_000_000L;

  private final PrintStream err;
  private final boolean overwrite;
  private final boolean quiet;
  private final long intervalNanos;
  private long lastNanos;
  private int width;

  public Progress(Terminal terminal, boolean quiet) {
    this.err = terminal.err();
    this.overwrite = terminal.errIsTerminal();
    this.quiet = quiet;
    this.intervalNanos = overwrite ? TERMINAL_INTERVAL_NANOS : LOG_INTERVAL_NANOS;
    this.lastNanos = System.nanoTime();
  }

  /** True when enough time has passed since the last line that a new one is worth making. */
  public boolean due() {
    return !quiet && System.nanoTime() - lastNanos >= intervalNanos;
  }

  public void show(String text) {
    if (quiet) {
      return;
    }
    lastNanos = System.nanoTime();
    if (overwrite) {
      err.print("\r" + text + " ".repeat(Math.max(0, width - text.length())));
      err.flush();
      width = text.length();
    } else {
      err.println(text);
    }
  }

  /** A line that stays. */
  public void step(String text) {
    if (quiet) {
      return;
    }
    clear();
    err.println(text);
    lastNanos = System.nanoTime();
  }

  /** Removes the line in progress, so that other output starts on an empty line. */
  public void clear() {
    if (overwrite && width > 0) {
      err.print("\r" + " ".repeat(width) + "\r");
      err.flush();
      width = 0;
    }
  }
}
