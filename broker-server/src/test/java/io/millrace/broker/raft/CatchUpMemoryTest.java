package io.millrace.broker.raft;

import static org.assertj.core.api.Assertions.assertThat;

import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

class CatchUpMemoryTest {

  private static final long MIB = 1 << 20;

  @Example
  void fewGroupsHaveAllThatIsUseful() {
    assertThat(CatchUpMemory.of(512 * MIB, 4, 2)).isEqualTo(new CatchUpMemory(16, 1 << 20));
    assertThat(CatchUpMemory.of(512 * MIB, 0, 1)).isEqualTo(new CatchUpMemory(16, 1 << 20));
  }

  @Example
  void manyGroupsShareAQuarterOfTheHeap() {
    assertThat(CatchUpMemory.of(512 * MIB, 16, 2)).isEqualTo(new CatchUpMemory(4, 1 << 20));
    assertThat(CatchUpMemory.of(512 * MIB, 100, 2)).isEqualTo(new CatchUpMemory(2, 335_544));
  }

  @Property
  void togetherTheyStayInIt(
      @ForAll @LongRange(min = 64 * MIB, max = 4096 * MIB) long heap,
      @ForAll @IntRange(max = 400) int led,
      @ForAll @IntRange(min = 1, max = 4) int followers) {
    CatchUpMemory share = CatchUpMemory.of(heap, led, followers);
    assertThat(share.messages()).isBetween(2, 16);
    assertThat(share.bodyBytes()).isBetween(64 << 10, 1 << 20);
    long all = (long) share.messages() * share.bodyBytes() * led * followers;
    long least = 2L * (64 << 10) * led * followers;
    assertThat(all).isLessThanOrEqualTo(Math.max(heap / 4, least));
  }
}
