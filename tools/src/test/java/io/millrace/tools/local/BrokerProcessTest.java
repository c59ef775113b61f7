package io.millrace.tools.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.millrace.tools.CommandFailure;
import io.millrace.tools.local.ProcessIdentity.State;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Processes of a shell script that speaks as a broker does. */
@Timeout(30)
class BrokerProcessTest {
  @TempDir private Path directory;
  private ClusterHome home;
  private BrokerProcess broker;

  @BeforeEach
  void prepare() {
    home = new ClusterHome(directory.resolve("a home with blanks"));
    broker = new BrokerProcess(home, new ClusterFile.Member(2, "127.0.0.1", 19_999, false));
  }

  @AfterEach
  void end() throws IOException, InterruptedException {
    if (!broker.isGone()) {
      broker.kill();
    }
  }

  private BrokerProcess.Starting start(String script) throws IOException, InterruptedException {
    return broker.start(List.of("/bin/sh", "-c", script));
  }

  @Test
  void isReadyOnceItSaysSo() throws IOException, InterruptedException {
    BrokerProcess.Starting starting =
        start("echo starting; echo READY broker=2 listen=127.0.0.1:19999; sleep 60");

    await().until(() -> broker.isReady(starting));

    assertThat(broker.state()).isEqualTo(State.RUNNING);
    assertThat(broker.pid()).contains(starting.process().pid());
    assertThat(broker.uptime()).isPresent();
    assertThat(home.logFile(2)).content().startsWith("starting\nREADY broker=2");
  }

  @Test
  void theReadyLineOfAnEarlierStartDoesNotCount() throws IOException, InterruptedException {
    Files.createDirectories(home.logFile(2).getParent());
    Files.writeString(home.logFile(2), "READY broker=2 listen=127.0.0.1:19999\n");

    BrokerProcess.Starting starting = start("sleep 60");

    assertThat(broker.isReady(starting)).isFalse();
  }

  @Test
  void aBrokerThatEndsIsReportedWithItsLastWords() throws IOException, InterruptedException {
    // It can end before the start returns or after it.
    assertThatThrownBy(
            () -> {
              BrokerProcess.Starting starting =
                  start("echo log line; echo data.dir x belongs to another cluster >&2; exit 1");
              await().until(() -> broker.isGone());
              broker.isReady(starting);
            })
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("broker 2 (process ")
        .hasMessageContaining("ended while starting: data.dir x belongs to another cluster")
        .hasMessageContaining(home.logFile(2).toString());
  }

  @Test
  void isPausedResumedAndKilled() throws IOException, InterruptedException {
    start("sleep 60");

    broker.pause();
    await().until(() -> broker.state() == State.PAUSED);
    broker.resume();
    await().until(() -> broker.state() == State.RUNNING);
    broker.pause();
    broker.kill();

    assertThat(broker.state()).isEqualTo(State.GONE);
    assertThat(broker.pid()).isEmpty();
    assertThatThrownBy(broker::kill)
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("broker 2 is not running");
  }

  @Test
  void aPausedBrokerCanBeStopped() throws IOException, InterruptedException {
    start("trap 'exit 0' TERM; while :; do sleep 0.1; done");
    broker.pause();
    await().until(() -> broker.state() == State.PAUSED);

    broker.terminate();

    await().until(broker::isGone);
  }

  @Test
  void aStrangerWithThePidIsNeverHit() throws IOException, InterruptedException {
    Process stranger = new ProcessBuilder("sleep", "60").start();
    try {
      new PidFile(home.pidFile(2)).write(new ProcessIdentity(stranger.pid(), "earlier boot:1"));

      assertThat(broker.isGone()).isTrue();
      assertThatThrownBy(broker::kill).hasMessageContaining("broker 2 is not running");
      assertThatThrownBy(broker::terminate).hasMessageContaining("broker 2 is not running");
      assertThat(stranger.isAlive()).isTrue();
    } finally {
      stranger.destroyForcibly();
    }
  }

  @Test
  void doesNotTakeCtrlC() throws IOException, InterruptedException {
    BrokerProcess.Starting starting = start("echo READY broker=2 x; sleep 60");
    await().until(() -> broker.isReady(starting));

    new ProcessBuilder("kill", "-INT", Long.toString(starting.process().pid())).start().waitFor();
    new ProcessBuilder("kill", "-HUP", Long.toString(starting.process().pid())).start().waitFor();

    await().during(java.time.Duration.ofMillis(200)).until(() -> broker.state() == State.RUNNING);
  }
}
