package io.millrace.broker.raft.refill;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.log.EpochTable;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;

class RefillPlanTest {

  private static final List<Integer> OTHERS = List.of(2, 3);

  private static RefillPlan.Own own(boolean whole, long lastIndex, long lastTerm) {
    EpochTable terms = EpochTable.of(new long[] {lastTerm}, new long[] {1});
    return new RefillPlan.Own(1, whole, lastTerm, false, 1, lastIndex, lastTerm, terms);
  }

  private static PeerLog peer(
      int broker, boolean votes, boolean whole, long leadsInTerm, long lastIndex, long lastTerm) {
    EpochTable terms = EpochTable.of(new long[] {lastTerm}, new long[] {1});
    return new PeerLog(
        broker,
        true,
        votes,
        whole,
        Math.max(leadsInTerm, lastTerm),
        leadsInTerm > 0,
        1,
        0,
        lastIndex,
        lastTerm,
        terms,
        0);
  }

  private static PeerLog absent(int broker) {
    return new PeerLog(
        broker,
        false,
        false,
        false,
        0,
        false,
        0,
        0,
        0,
        0,
        EpochTable.of(new long[0], new long[0]),
        0);
  }

  @Example
  void aLeaderIsTheSourceWhateverTheOthersHave() {
    RefillPlan.Choice choice =
        RefillPlan.choose(own(false, 9, 2), OTHERS, List.of(peer(3, true, true, 4, 5, 4)));
    assertThat(choice.source().broker()).isEqualTo(3);
    assertThat(choice.complete()).isFalse();
  }

  @Example
  void ofTwoThatThinkTheyLeadTheNewerOneCounts() {
    RefillPlan.Choice choice =
        RefillPlan.choose(
            own(true, 9, 2),
            OTHERS,
            List.of(peer(2, true, true, 4, 90, 4), peer(3, true, true, 5, 50, 5)));
    assertThat(choice.source().broker()).isEqualTo(3);
  }

  /** Resumed after a pause it still thinks that it leads; its successor's entries were here. */
  @Example
  void aLeaderThatWasReplacedIsNoSource() {
    RefillPlan.Own own =
        new RefillPlan.Own(1, false, 7, false, 1, 0, 0, EpochTable.of(new long[0], new long[0]));
    RefillPlan.Choice choice =
        RefillPlan.choose(own, OTHERS, List.of(peer(2, true, true, 6, 90, 6)));
    assertThat(choice.source()).isNull();
    assertThat(choice.complete()).isFalse();
    assertThat(choice.reason()).contains("leads in term 6").contains("has seen term 7");
  }

  /** This replica voted for itself in a term that nobody else heard of. */
  @Example
  void aMajorityThatFollowedSinceTheStopMakesUpForAnOlderTerm() {
    RefillPlan.Own own =
        new RefillPlan.Own(1, false, 7, true, 1, 0, 0, EpochTable.of(new long[0], new long[0]));
    RefillPlan.Choice choice =
        RefillPlan.choose(own, OTHERS, List.of(peer(2, true, true, 6, 90, 6)));
    assertThat(choice.source().broker()).isEqualTo(2);
  }

  @Example
  void whileOthersCanElectItWaitsForThem() {
    RefillPlan.Choice choice =
        RefillPlan.choose(
            own(true, 9, 2),
            OTHERS,
            List.of(peer(2, true, true, 0, 9, 2), peer(3, true, true, 0, 9, 2)));
    assertThat(choice.source()).isNull();
    assertThat(choice.complete()).isFalse();
    assertThat(choice.reason()).contains("no leader yet; 2 of 3");
  }

  @Example
  void withoutALeaderNobodyMayBeSilent() {
    RefillPlan.Choice choice =
        RefillPlan.choose(own(true, 9, 2), OTHERS, List.of(peer(2, true, true, 0, 9, 2)));
    assertThat(choice.source()).isNull();
    assertThat(choice.complete()).isFalse();
    assertThat(choice.reason()).contains("no answer from broker 3");
  }

  @Example
  void withoutALeaderTheNewestLogCounts() {
    List<PeerLog> answers = List.of(peer(2, false, true, 0, 20, 3), peer(3, true, true, 0, 9, 4));
    assertThat(RefillPlan.choose(own(true, 30, 3), OTHERS, answers).source().broker())
        .as("a later term wins over a longer log")
        .isEqualTo(3);
    assertThat(RefillPlan.choose(own(true, 9, 4), OTHERS, answers).complete())
        .as("as new as the newest")
        .isTrue();
    assertThat(RefillPlan.choose(own(true, 8, 4), OTHERS, answers).source().broker()).isEqualTo(3);
  }

  @Example
  void withoutALeaderNoLogMayHaveLostMoreThanItsTail() {
    PeerLog whole = peer(3, true, true, 0, 9, 2);
    RefillPlan.Choice other =
        RefillPlan.choose(own(true, 9, 2), OTHERS, List.of(peer(2, false, false, 0, 3, 2), whole));
    assertThat(other.complete()).isFalse();
    assertThat(other.source()).isNull();
    assertThat(other.reason()).contains("on broker 2 has lost entries");

    RefillPlan.Choice self =
        RefillPlan.choose(own(false, 9, 2), OTHERS, List.of(peer(2, false, true, 0, 9, 2), whole));
    assertThat(self.complete()).isFalse();
    assertThat(self.reason()).contains("on broker 1 has lost entries");

    RefillPlan.Choice gone = RefillPlan.choose(own(true, 9, 2), OTHERS, List.of(absent(2), whole));
    assertThat(gone.complete()).isFalse();
    assertThat(gone.reason()).contains("on broker 2 has lost entries");
  }

  @Example
  void aloneItsOwnLogIsTheNewest() {
    assertThat(RefillPlan.choose(own(true, 9, 2), List.of(), List.of()).complete()).isTrue();
    assertThat(RefillPlan.choose(own(false, 9, 2), List.of(), List.of()).complete()).isFalse();
  }

  /** Two logs that are equal up to an entry and differ in every term behind it. */
  @Property
  void whatIsKeptIsWhatBothHave(
      @ForAll("terms") List<Integer> common,
      @ForAll @IntRange(min = 0, max = 6) int ownMore,
      @ForAll @IntRange(min = 0, max = 6) int sourceMore,
      @ForAll @IntRange(min = 0, max = 12) int ownDropped,
      @ForAll @IntRange(min = 0, max = 12) int sourceDropped) {
    List<Integer> mine = new ArrayList<>(common);
    List<Integer> its = new ArrayList<>(common);
    int top = common.isEmpty() ? 0 : common.get(common.size() - 1);
    for (int i = 0; i < ownMore; i++) {
      mine.add(top + 1 + 2 * (i / 2));
    }
    for (int i = 0; i < sourceMore; i++) {
      its.add(top + 2 + 2 * (i / 2));
    }
    long ownFirst = Math.min(ownDropped, mine.size()) + 1;
    long sourceFirst = Math.min(sourceDropped, its.size()) + 1;
    RefillPlan.Own own =
        new RefillPlan.Own(
            1,
            true,
            1,
            false,
            ownFirst,
            mine.size(),
            lastOf(mine, ownFirst),
            table(mine, ownFirst));
    PeerLog source =
        new PeerLog(
            2,
            true,
            true,
            true,
            99,
            true,
            sourceFirst,
            0,
            its.size(),
            lastOf(its, sourceFirst),
            table(its, sourceFirst),
            0);

    long keep = RefillPlan.keep(own, source);
    long first = Math.max(ownFirst, sourceFirst);
    boolean overlap = common.size() >= first;
    assertThat(keep).isEqualTo(overlap ? common.size() : first - 1);
    assertThat(RefillPlan.beginsAnew(own, source, keep))
        .isEqualTo(!overlap && !(ownFirst == 1 && sourceFirst == 1));
  }

  private static long lastOf(List<Integer> terms, long first) {
    return terms.size() < first ? 0 : terms.get(terms.size() - 1);
  }

  private static EpochTable table(List<Integer> terms, long first) {
    List<long[]> starts = new ArrayList<>();
    for (int index = (int) first; index <= terms.size(); index++) {
      long term = terms.get(index - 1);
      if (starts.isEmpty() || starts.get(starts.size() - 1)[0] != term) {
        starts.add(new long[] {term, index});
      }
    }
    return EpochTable.of(
        starts.stream().mapToLong(s -> s[0]).toArray(),
        starts.stream().mapToLong(s -> s[1]).toArray());
  }

  @Provide
  Arbitrary<List<Integer>> terms() {
    return Arbitraries.integers()
        .between(1, 5)
        .list()
        .ofMaxSize(12)
        .map(list -> list.stream().sorted().toList());
  }
}
