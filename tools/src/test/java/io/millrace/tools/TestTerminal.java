package io.millrace.tools;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Runs command lines as a shell would, in this JVM, and keeps what they print. */
public final class TestTerminal {
  private final Map<String, String> environment = new HashMap<>();

  /** What a command left behind. */
  public record Finished(int exitCode, String out, String err) {
    public List<String> errorLines() {
      return err.lines().toList();
    }
  }

  public TestTerminal(Path home) {
    environment.put("MILLRACE_HOME", home.toString());
  }

  public TestTerminal with(String variable, String value) {
    environment.put(variable, value);
    return this;
  }

  public Finished run(String... args) {
    return run(InputStream.nullInputStream(), args);
  }

  public Finished runWith(String input, String... args) {
    return run(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)), args);
  }

  private Finished run(InputStream in, String... args) {
    var out = new ByteArrayOutputStream();
    var err = new ByteArrayOutputStream();
    int code =
        MillraceCommand.execute(
            new Terminal(in, printer(out), printer(err), false, environment), args);
    return new Finished(
        code, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
  }

  private static PrintStream printer(ByteArrayOutputStream bytes) {
    return new PrintStream(bytes, true, StandardCharsets.UTF_8);
  }
}
