package io.millrace.broker.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One scenario with everything in it, killed at every single operation. */
@Timeout(120)
class PartitionLogCrashTest {

  private static final int SEGMENT_BYTES = 1500;

  private interface Step {
    void run(LogScript script) throws IOException;
  }

  private static final Step[] SCENARIO = {
    script -> script.append(3),
    script -> script.append(12),
    script -> script.storeMark(),
    script -> script.append(6),
    script -> script.truncate(script.model.lastIndex() - 2),
    script -> script.append(9),
    script -> script.checkpoint(),
    script -> script.append(20),
    script -> script.truncate(script.model.lastIndex() - 15),
    script -> script.append(4),
    script -> script.close(),
    script -> script.open(),
    script -> script.append(5),
    script -> script.reset(script.model.lastIndex() + 10, script.model.logEnd() + 5),
    script -> script.append(7),
    script -> script.reset(script.model.firstIndex, script.model.firstOffset),
    script -> script.append(3),
    script -> script.truncate(script.model.firstIndex - 1),
    script -> script.append(2),
    script -> script.close(),
  };

  private static final Step[] DROPS = {
    script -> script.append(20),
    script -> script.checkpoint(),
    script -> script.drop(new Random(1)),
    script -> script.append(15),
    script -> script.checkpoint(),
    script -> script.drop(new Random(2)),
    script -> script.append(3),
    script -> script.truncate(script.model.lastIndex() - 2),
    script -> script.reopen(),
    script -> script.append(9),
    script -> script.checkpoint(),
    script -> script.drop(new Random(3)),
    script -> script.append(12),
    script -> script.checkpoint(),
    script -> script.drop(new Random(5)),
    script -> script.reset(script.model.lastIndex() + 3, script.model.logEnd() + 2),
    script -> script.append(14),
    script -> script.checkpoint(),
    script -> script.drop(new Random(6)),
    script -> script.reopen(),
  };

  private static LogScript run(long seed, long killAt) {
    return run(SCENARIO, seed, killAt);
  }

  private static LogScript run(Step[] scenario, long seed, long killAt) {
    LogScript script = new LogScript(seed, FsyncPolicy.ALWAYS, SEGMENT_BYTES);
    if (killAt > 0) {
      script.disk.killAfter(killAt);
    }
    try {
      script.open();
      for (Step step : scenario) {
        step.run(script);
      }
    } catch (IOException e) {
      assertThat(script.disk.isDead()).as("failed alive: %s", e).isTrue();
    }
    return script;
  }

  @Test
  void killedAtEveryOperationEveryRestartSucceeds() throws IOException {
    for (long seed = 1; seed <= 3; seed++) {
      LogScript whole = run(seed, 0);
      long operations = whole.disk.operations();
      assertThat(operations).isGreaterThan(150);
      for (long killAt = 1; killAt <= operations; killAt++) {
        crash(seed, killAt, false);
        crash(seed, killAt, true);
      }
    }
  }

  /** The log begins somewhere in what was dropped, without a hole behind it. */
  @Test
  void killedAtEveryOperationWhileSegmentsLeave() throws IOException {
    for (long seed = 1; seed <= 4; seed++) {
      long operations = run(DROPS, seed, 0).disk.operations();
      assertThat(operations).isGreaterThan(150);
      for (long killAt = 1; killAt <= operations; killAt++) {
        crash(DROPS, seed, killAt, false);
        crash(DROPS, seed, killAt, true);
      }
    }
  }

  private static void crash(long seed, long killAt, boolean power) {
    crash(SCENARIO, seed, killAt, power);
  }

  private static void crash(Step[] scenario, long seed, long killAt, boolean power) {
    LogScript script = run(scenario, seed, killAt);
    try {
      assertThat(script.disk.isDead()).isTrue();
      script.crashAndRecover(power);
      script.append(3);
      script.model.check(script.log, script.random);
      script.close();
    } catch (IOException | RuntimeException | AssertionError e) {
      throw new AssertionError(
          "seed " + seed + ", killed at " + killAt + ", power loss " + power + ": " + e, e);
    }
  }

  @Test
  void everyKillOfARecoveryIsRecovered() {
    for (int killAt = 1; killAt <= 40; killAt++) {
      LogScript script = new LogScript(4, FsyncPolicy.OS, SEGMENT_BYTES);
      try {
        script.open();
        script.append(8);
        script.sync();
        script.append(30);
        script.disk.kill();
        script.disk.powerLoss();
        script.disk.killAfter(killAt);
        try {
          script.open();
        } catch (IOException e) {
          assertThat(script.disk.isDead()).as("failed alive: %s", e).isTrue();
        }
        script.disk.restart();
        script.open();
        script.adopt(true);
      } catch (IOException | RuntimeException | AssertionError e) {
        throw new AssertionError("recovery killed at " + killAt + ": " + e, e);
      }
    }
  }
}
