package io.millrace.tools;

import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * The outside of a command: its streams and its environment, so that tests run commands as plain
 * calls.
 *
 * @param out what a script reads; bytes, buffered, flushed by the commands
 * @param err progress and error lines
 * @param errIsTerminal whether a progress line may be overwritten in place
 */
public record Terminal(
    InputStream in,
    PrintStream out,
    PrintStream err,
    boolean errIsTerminal,
    Map<String, String> environment) {

  private static final int OUT_BUFFER_BYTES = 64 * 1024;

  /** Set by bin/millrace, since Java can not ask whether standard error is a terminal. */
  private static final String STDERR_IS_TERMINAL = "MILLRACE_STDERR_TERMINAL";

  static Terminal system() {
    var out =
        new PrintStream(
            new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), OUT_BUFFER_BYTES),
            false,
            StandardCharsets.UTF_8);
    var err =
        new PrintStream(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8);
    Map<String, String> environment = System.getenv();
    return new Terminal(
        System.in, out, err, "1".equals(environment.get(STDERR_IS_TERMINAL)), environment);
  }
}
