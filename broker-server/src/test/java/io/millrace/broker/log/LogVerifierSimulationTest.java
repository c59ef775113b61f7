package io.millrace.broker.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Logs in any state that operations and crashes bring about are whole for whoever looks at them
 * from outside, open and closed: no check is stricter than what the log really keeps. After a crash
 * an index may lack entries until it is used, which is no more than a warning.
 */
class LogVerifierSimulationTest {

  private static final int SEEDS = Integer.getInteger("millrace.verifierSeeds", 40);
  private static final int STEPS = 120;

  @ParameterizedTest
  @EnumSource(FsyncPolicy.class)
  @Timeout(300)
  void noStateOfALogLooksDamaged(FsyncPolicy fsync) throws IOException {
    for (int seed = 1; seed <= SEEDS; seed++) {
      LogScript script = new LogScript(seed, fsync, 4096);
      script.open();
      boolean crashed = false;
      for (int step = 0; step < STEPS; step++) {
        script.step(script.random.nextInt(96));
        if (step % 25 == 24) {
          script.crashAndRecover(script.random.nextBoolean());
          crashed = true;
        }
        if (step % 3 == 0) {
          check(script, crashed, "seed " + seed + ", step " + step);
        }
      }
      script.close();
      check(script, true, "seed " + seed + ", closed");
    }
  }

  private static void check(LogScript script, boolean crashed, String where) throws IOException {
    LogReport report =
        new LogVerifier(
                script.disk,
                new SegmentVerifier(script.disk, Pacer.NONE, script::logTimeOf),
                SegmentVerifier.Patience.NONE)
            .verify(LogScript.DIRECTORY, script.log == null ? null : script.log.syncMark());
    assertThat(report.problems()).as(where).noneMatch(LogProblem::isDamage);
    if (!crashed) {
      assertThat(report.problems()).as(where).isEmpty();
    }
    if (script.log != null) {
      assertThat(report.firstIndex()).as(where).isEqualTo(script.log.firstIndex());
      assertThat(report.nextIndex()).as(where).isEqualTo(script.log.lastIndex() + 1);
      for (long index = report.firstIndex(); index < report.nextIndex(); index++) {
        assertThat(report.termAt(index)).as(where).isEqualTo(script.log.termAt(index));
      }
    }
  }
}
