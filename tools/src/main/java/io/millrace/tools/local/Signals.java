package io.millrace.tools.local;

import io.millrace.tools.CommandFailure;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/** Signals to processes, by the operating system's {@code kill}. */
enum Signals {
  TERM,
  KILL,
  STOP,
  CONT;

  private static final long COMMAND_SECONDS = 10;

  void send(long pid) throws IOException, InterruptedException {
    if (run("kill", "-" + name(), Long.toString(pid)).waitFor() != 0) {
      throw new CommandFailure("signal " + name() + " could not be sent to process " + pid);
    }
  }

  static String outputOf(String... command) throws IOException {
    try {
      Process process = run(command);
      return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while running " + command[0], e);
    }
  }

  private static Process run(String... command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    process.getOutputStream().close();
    if (!process.waitFor(COMMAND_SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw new IOException(
          String.join(" ", command) + " did not end in " + COMMAND_SECONDS + " s");
    }
    return process;
  }
}
