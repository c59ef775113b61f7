package io.millrace.broker.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.Size;

/** The log against a plain list, for any order of operations and crashes. */
class PartitionLogProperties {

  private static final int KILL = 100;
  private static final int POWER_LOSS = 103;
  private static final int DROP = 106;
  private static final int LAST_KIND = 114;

  @Property(tries = 150)
  void behavesLikeAList(
      @ForAll @LongRange(min = 1, max = 1_000_000) long seed,
      @ForAll FsyncPolicy fsync,
      @ForAll @IntRange(min = 0, max = 3) int segmentSize,
      @ForAll @Size(max = 40) List<@IntRange(min = 0, max = LAST_KIND) Integer> kinds)
      throws IOException {
    LogScript script = new LogScript(seed, fsync, 1024L << segmentSize);
    script.open();
    for (int kind : kinds) {
      if (kind >= DROP) {
        if (kind > DROP + 2) {
          script.checkpoint();
        }
        script.drop(script.random);
      } else if (kind >= POWER_LOSS) {
        script.crashAndRecover(true);
      } else if (kind >= KILL) {
        script.crashAndRecover(false);
      } else {
        script.step(kind);
      }
      assertThat(script.log.lastIndex()).isEqualTo(script.model.lastIndex());
      assertThat(script.log.logEnd()).isEqualTo(script.model.logEnd());
    }
    script.model.check(script.log, script.random);
    script.reopen();
    script.model.check(script.log, script.random);
    script.close();
  }

  @Property(tries = 200)
  void epochTableFindsEveryTerm(
      @ForAll @Size(max = 30) List<@IntRange(min = 0, max = 3) Integer> steps) {
    EpochTable table = EpochTable.EMPTY;
    java.util.List<Long> termOf = new java.util.ArrayList<>();
    long term = 1;
    for (int i = 0; i < steps.size(); i++) {
      term += steps.get(i);
      table = table.with(term, i + 1, i * 10L);
      termOf.add(term);
    }
    for (int i = 0; i < termOf.size(); i++) {
      assertThat(table.termAt(i + 1)).isEqualTo(termOf.get(i));
      assertThat(table.upTo(i + 1).termAt(i + 1)).isEqualTo(termOf.get(i));
      assertThat(table.from(i + 1, i * 10L).termAt(i + 1)).isEqualTo(termOf.get(i));
      assertThat(table.termOfOffset(i * 10L + 9)).isEqualTo(termOf.get(i));
    }
    assertThat(table.termAt(0)).isZero();
  }
}
