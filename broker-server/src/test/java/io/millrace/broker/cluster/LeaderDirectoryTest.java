package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.millrace.broker.cluster.LeaderDirectory.Key;
import io.millrace.broker.cluster.LeaderDirectory.Leader;
import io.millrace.protocol.message.LeaderAnnouncement;
import io.millrace.protocol.message.LedPartition;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LeaderDirectoryTest {

  private static final UUID TOPIC = new UUID(7, 1);

  private final LeaderDirectory directory = new LeaderDirectory(1);
  private final AtomicInteger changes = new AtomicInteger();

  @BeforeEach
  void count() {
    directory.addListener(changes::incrementAndGet);
  }

  private static LeaderAnnouncement announcement(
      int broker, boolean complete, Map<Integer, Long> terms) {
    LeaderAnnouncement.Builder announcement =
        LeaderAnnouncement.newBuilder().setBrokerId(broker).setComplete(complete);
    terms.forEach(
        (partition, term) ->
            announcement.addLed(LeaderDirectory.toMessage(new Key(TOPIC, partition), term)));
    return announcement.build();
  }

  private Leader leader(int partition) {
    return directory.leader(TOPIC, partition);
  }

  @Test
  void nothingIsKnownAtFirst() {
    assertThat(leader(0)).isEqualTo(new Leader(0, 0));
  }

  @Test
  void theHighestTermWinsInAnyOrder() {
    directory.announced(announcement(2, false, Map.of(0, 5L)));
    directory.announced(announcement(3, false, Map.of(0, 7L)));
    directory.announced(announcement(2, false, Map.of(0, 6L)));
    assertThat(leader(0)).isEqualTo(new Leader(3, 7));
    assertThat(changes).hasValue(2);
  }

  @Test
  void theFirstOfTwoLeadersOfOneTermIsKept() {
    directory.announced(announcement(2, false, Map.of(0, 5L)));
    directory.announced(announcement(3, false, Map.of(0, 5L)));
    assertThat(leader(0)).isEqualTo(new Leader(2, 5));
  }

  @Test
  void aCompleteAnnouncementRemovesWhatIsNotInIt() {
    directory.announced(announcement(2, false, Map.of(0, 5L, 1, 5L)));
    directory.announced(announcement(3, false, Map.of(2, 5L)));
    directory.announced(announcement(2, true, Map.of(1, 5L)));
    assertThat(leader(0)).isEqualTo(new Leader(0, 5));
    assertThat(leader(1)).isEqualTo(new Leader(2, 5));
    assertThat(leader(2)).isEqualTo(new Leader(3, 5));
  }

  @Test
  void aCompleteAnnouncementLeavesOtherBrokersLeadersAlone() {
    directory.announced(announcement(3, false, Map.of(0, 9L)));
    directory.announced(announcement(2, true, Map.of()));
    directory.announced(announcement(2, true, Map.of(0, 8L)));
    assertThat(leader(0)).isEqualTo(new Leader(3, 9));
  }

  @Test
  void aLateAnnouncementOfAnOlderLeaderIsNotBelievedAfterARemoval() {
    directory.announced(announcement(2, false, Map.of(0, 5L)));
    directory.announced(announcement(2, true, Map.of()));
    directory.announced(announcement(3, false, Map.of(0, 4L)));
    assertThat(leader(0)).isEqualTo(new Leader(0, 5));
    directory.announced(announcement(3, false, Map.of(0, 6L)));
    assertThat(leader(0)).isEqualTo(new Leader(3, 6));
  }

  @Test
  void aLeaderMayResumeInItsTerm() {
    directory.announced(announcement(2, true, Map.of(0, 5L)));
    directory.announced(announcement(2, true, Map.of()));
    directory.announced(announcement(2, true, Map.of(0, 5L)));
    assertThat(leader(0)).isEqualTo(new Leader(2, 5));
  }

  @Test
  void aRepeatedAnnouncementChangesNothing() {
    directory.announced(announcement(2, true, Map.of(0, 5L)));
    directory.announced(announcement(2, true, Map.of(0, 5L)));
    assertThat(changes).hasValue(1);
  }

  @Test
  void localLeadersAreKnownAtOnceAndAnnounced() {
    directory.localStarted(TOPIC, 0, 3);
    directory.localStarted(TOPIC, 1, 4);
    directory.localStopped(TOPIC, 0);
    assertThat(leader(0)).isEqualTo(new Leader(0, 3));
    assertThat(leader(1)).isEqualTo(new Leader(1, 4));
    assertThat(directory.localLeaders()).isEqualTo(announcement(1, true, Map.of(1, 4L)));
  }

  @Test
  void aDeposedLocalLeaderDoesNotHideTheNewOne() {
    directory.localStarted(TOPIC, 0, 3);
    directory.announced(announcement(2, false, Map.of(0, 4L)));
    directory.localStopped(TOPIC, 0);
    assertThat(leader(0)).isEqualTo(new Leader(2, 4));
    directory.localStopped(TOPIC, 0);
    directory.localStopped(TOPIC, 9);
    assertThat(leader(0)).isEqualTo(new Leader(2, 4));
  }

  @Test
  void announcementsInTheNameOfThisBrokerOrMalformedOnesAreIgnored() {
    directory.localStarted(TOPIC, 0, 3);
    directory.announced(announcement(1, true, Map.of()));
    directory.announced(announcement(0, false, Map.of(1, 5L)));
    directory.announced(announcement(2, false, Map.of(1, 0L, -1, 4L)));
    directory.announced(
        LeaderAnnouncement.newBuilder()
            .setBrokerId(2)
            .addLed(
                LedPartition.newBuilder().setTopicId(ByteString.copyFromUtf8("short")).setTerm(3))
            .build());
    assertThat(leader(0)).isEqualTo(new Leader(1, 3));
    assertThat(leader(1)).isEqualTo(Leader.UNKNOWN);
    assertThat(directory.size()).isEqualTo(1);
  }

  @Test
  void topicsThatAreGoneAreForgottenAtTheSecondSweep() {
    directory.announced(announcement(2, false, Map.of(0, 5L)));
    directory.forgetTopics(id -> false);
    assertThat(leader(0).broker()).isEqualTo(2);
    directory.forgetTopics(id -> true);
    directory.forgetTopics(id -> false);
    assertThat(directory.size()).isEqualTo(1);
    directory.forgetTopics(id -> false);
    assertThat(directory.size()).isZero();
  }

  @Test
  void leadersOfABrokerAreListed() {
    directory.announced(announcement(2, false, Map.of(0, 5L, 2, 5L)));
    directory.announced(announcement(3, false, Map.of(2, 6L)));
    assertThat(directory.ledBy(2)).containsExactly(new Key(TOPIC, 0));
    assertThat(directory.ledBy(3)).containsExactly(new Key(TOPIC, 2));
  }
}
