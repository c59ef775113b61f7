package io.millrace.tools.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.millrace.tools.local.ProcessIdentity.State;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class ProcessIdentityTest {
  @TempDir private Path directory;
  private Process process;

  @BeforeEach
  void start() throws IOException {
    process = new ProcessBuilder("sleep", "60").start();
  }

  @AfterEach
  void end() {
    process.destroyForcibly();
  }

  @Test
  void isRunningPausedAndGone() throws IOException, InterruptedException {
    ProcessIdentity identity = ProcessIdentity.of(process.pid()).orElseThrow();
    assertThat(identity.state()).isEqualTo(State.RUNNING);

    Signals.STOP.send(process.pid());
    await().until(() -> identity.state() == State.PAUSED);

    Signals.CONT.send(process.pid());
    await().until(() -> identity.state() == State.RUNNING);

    Signals.KILL.send(process.pid());
    process.waitFor();
    await().until(() -> identity.state() == State.GONE);
    assertThat(ProcessIdentity.of(process.pid())).isEmpty();
  }

  @Test
  void anotherProcessWithThePidIsAStranger() throws IOException {
    var before = new ProcessIdentity(process.pid(), "an earlier boot:12345");

    assertThat(before.state()).isEqualTo(State.GONE);
  }

  @Test
  void survivesTheFile() throws IOException {
    ProcessIdentity identity = ProcessIdentity.of(process.pid()).orElseThrow();
    var file = new PidFile(directory.resolve("broker-1/pid"));
    assertThat(file.read()).isEmpty();

    file.write(identity);

    assertThat(file.read()).contains(identity);
    assertThat(file.read().orElseThrow().state()).isEqualTo(State.RUNNING);
  }

  @Test
  void aDamagedFileIsNobody() throws IOException {
    Path path = directory.resolve("pid");
    for (String text : new String[] {"", "12", "x\ny\n", "-1\nstart\n"}) {
      Files.writeString(path, text);

      assertThat(new PidFile(path).read()).as(text).isEmpty();
    }
  }
}
