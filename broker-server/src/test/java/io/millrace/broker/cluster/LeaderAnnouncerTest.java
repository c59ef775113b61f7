package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.message.LeaderAnnouncement;
import io.millrace.protocol.message.LedPartition;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LeaderAnnouncerTest {

  private static final UUID TOPIC = new UUID(7, 1);

  private record Sent(int to, LeaderAnnouncement announcement) {}

  private final ManualScheduler scheduler = new ManualScheduler();
  private final LeaderDirectory directory = new LeaderDirectory(1);
  private final List<Sent> sent = new ArrayList<>();
  private final LeaderAnnouncer announcer =
      new LeaderAnnouncer(
          1, directory, () -> List.of(1, 2, 3), (to, a) -> sent.add(new Sent(to, a)), scheduler);

  @BeforeEach
  void start() {
    announcer.start();
    sent.clear();
  }

  private static List<Integer> partitions(Sent sent) {
    return sent.announcement().getLedList().stream().map(LedPartition::getPartition).toList();
  }

  @Test
  void newLeadersGoOutTogetherWithinTenMillis() {
    directory.localStarted(TOPIC, 0, 5);
    scheduler.advance(2);
    directory.localStarted(TOPIC, 1, 6);
    assertThat(sent).isEmpty();
    scheduler.advance(8);
    assertThat(sent).extracting(Sent::to).containsExactly(2, 3);
    assertThat(sent)
        .allSatisfy(
            s -> {
              assertThat(partitions(s)).containsExactly(0, 1);
              assertThat(s.announcement().getComplete()).isFalse();
              assertThat(s.announcement().getLed(1).getTerm()).isEqualTo(6);
            });
  }

  @Test
  void onlyWhatChangedGoesOutUntilSomethingIsLost() {
    directory.localStarted(TOPIC, 0, 5);
    scheduler.advance(10);
    directory.localStarted(TOPIC, 1, 5);
    scheduler.advance(10);
    directory.localStopped(TOPIC, 0);
    scheduler.advance(10);
    assertThat(sent).filteredOn(s -> s.to() == 2).hasSize(3);
    List<Sent> toTwo = sent.stream().filter(s -> s.to() == 2).toList();
    assertThat(partitions(toTwo.get(1))).containsExactly(1);
    assertThat(toTwo.get(1).announcement().getComplete()).isFalse();
    assertThat(partitions(toTwo.get(2))).containsExactly(1);
    assertThat(toTwo.get(2).announcement().getComplete()).isTrue();
  }

  @Test
  void aLeaderThatComesAndGoesWithinABatchIsNotAnnounced() {
    directory.localStarted(TOPIC, 0, 5);
    directory.localStopped(TOPIC, 0);
    scheduler.advance(10);
    assertThat(sent).hasSize(2);
    assertThat(sent.get(0).announcement())
        .isEqualTo(LeaderAnnouncement.newBuilder().setBrokerId(1).setComplete(true).build());
  }

  @Test
  void everythingIsRepeatedSlowly() {
    directory.localStarted(TOPIC, 0, 5);
    scheduler.advance(10);
    sent.clear();
    scheduler.advance(2 * LeaderAnnouncer.REPEAT_MILLIS);
    assertThat(sent).hasSize(4).allMatch(s -> s.announcement().getComplete());
    assertThat(partitions(sent.get(3))).containsExactly(0);
  }

  @Test
  void aNewPeerGetsEverything() {
    directory.localStarted(TOPIC, 0, 5);
    announcer.peerConnected(3);
    assertThat(sent).containsExactly(new Sent(3, directory.localLeaders()));
  }

  @Test
  void whatOthersLeadIsNotAnnounced() {
    directory.announced(
        LeaderAnnouncement.newBuilder()
            .setBrokerId(2)
            .addLed(LeaderDirectory.toMessage(new LeaderDirectory.Key(TOPIC, 4), 5))
            .build());
    scheduler.advance(10);
    assertThat(sent).isEmpty();
  }

  @Test
  void nothingGoesOutAfterClose() {
    directory.localStarted(TOPIC, 0, 5);
    announcer.close();
    directory.localStarted(TOPIC, 1, 5);
    scheduler.advance(20_000);
    assertThat(sent).isEmpty();
    assertThat(scheduler.size()).isZero();
  }
}
