package io.millrace.tools.load;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.client.Reader;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import java.lang.reflect.Proxy;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class LoadRunTest {
  private final LoadVerifier verifier = new LoadVerifier(1);
  private final LoadRun run = new LoadRun(new LoadRecords("run", "t", 20), verifier, 1, 0);

  private static Reader refusedWith(ErrorCode code) {
    return (Reader)
        Proxy.newProxyInstance(
            Reader.class.getClassLoader(),
            new Class<?>[] {Reader.class},
            (proxy, method, args) -> {
              throw new MillraceException(code, "as the test says");
            });
  }

  @Test
  void aClosedReaderSaysNothingAboutTheLog() {
    verifier.startsAt(0, 0);

    run.read(refusedWith(ErrorCode.CLIENT_CLOSED), Map.of(0, 0L));

    assertThat(verifier.counts().violations()).isEmpty();
    assertThat(verifier.counts().readToEnd()).isFalse();
  }

  @Test
  void aTruncatedLogIsAViolation() {
    verifier.startsAt(0, 0);

    run.read(refusedWith(ErrorCode.LOG_TRUNCATED), Map.of(0, 0L));

    assertThat(verifier.counts().violations(Violation.UNREADABLE)).isEqualTo(1);
  }

  @Test
  void anInterruptEndsTheSendingAndIsTimedFromItsFirst() {
    assertThat(run.interruptedFor(0)).isFalse();

    run.interrupt();

    assertThat(run.stopped()).isTrue();
    assertThat(run.interruptedFor(0)).isTrue();
    assertThat(run.interruptedFor(60_000)).isFalse();
  }
}
