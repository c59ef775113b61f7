package io.millrace.tools;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ErrorReporterTest {
  @TempDir private Path directory;
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  private int report(Throwable failure) {
    var terminal =
        new Terminal(
            InputStream.nullInputStream(),
            new PrintStream(new ByteArrayOutputStream()),
            new PrintStream(err, true),
            false,
            Map.of());
    return new ErrorReporter(terminal, directory).report(failure, "millrace test");
  }

  @Test
  void anUnexpectedFailureIsOneLineThatNamesTheFileWithTheRest() throws IOException {
    int code = report(new IllegalStateException("the wheel\nis broken"));

    Path details = directory.resolve("millrace-errors.log");
    assertThat(code).isEqualTo(ExitCodes.FAILED);
    assertThat(err.toString())
        .isEqualToIgnoringNewLines(
            "millrace: unexpected IllegalStateException: the wheel; details: " + details);
    assertThat(Files.readString(details))
        .contains("millrace test", "is broken", "at io.millrace.tools.ErrorReporterTest");
  }

  @Test
  void aTypedErrorSaysWhenItsOutcomeIsUnknown() {
    report(
        new ExecutionException(
            new MillraceException(ErrorCode.REQUEST_TIMEOUT, "no answer in 30000 ms")));

    assertThat(err.toString())
        .isEqualToIgnoringNewLines(
            "millrace: REQUEST_TIMEOUT: no answer in 30000 ms (outcome unknown)");
  }

  @Test
  void aTypedErrorThatCertainlyDidNothingIsPlain() {
    assertThat(report(new MillraceException(ErrorCode.UNKNOWN_TOPIC, "topic x")))
        .isEqualTo(ExitCodes.FAILED);

    assertThat(err.toString()).isEqualToIgnoringNewLines("millrace: UNKNOWN_TOPIC: topic x");
  }

  @Test
  void anInterruptStaysSet() {
    report(new InterruptedException());

    assertThat(Thread.interrupted()).isTrue();
    assertThat(err.toString()).isEqualToIgnoringNewLines("millrace: interrupted");
  }
}
