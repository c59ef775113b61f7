package io.millrace.tools.topic;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.message.ReplicaRole;
import io.millrace.protocol.message.ReplicaStatus;
import io.millrace.protocol.message.SegmentStatus;
import io.millrace.tools.topic.SizesCommand.Held;
import java.util.List;
import org.junit.jupiter.api.Test;

class SizesCommandTest {

  private static Held held(int broker, String topic, int partition, ReplicaRole role, long bytes) {
    return new Held(
        broker,
        ReplicaStatus.newBuilder()
            .setTopic(topic)
            .setPartition(partition)
            .setRole(role)
            .setBytes(bytes)
            .setSegments(2)
            .setLogStart(5)
            .setLogEnd(70)
            .addSegmentList(
                SegmentStatus.newBuilder()
                    .setBaseOffset(5)
                    .setNextOffset(60)
                    .setFirstIndex(9)
                    .setLastIndex(80)
                    .setBytes(bytes - 100)
                    .setClosed(true)
                    .setFirstLogTime(1000)
                    .setLastLogTime(2000)
                    .setMaxTimestamp(-1))
            .addSegmentList(
                SegmentStatus.newBuilder().setBaseOffset(60).setNextOffset(70).setBytes(100))
            .build());
  }

  private static final List<Held> HELD =
      List.of(
          held(1, "", 0, ReplicaRole.ROLE_FOLLOWER, 400),
          held(1, "orders", 0, ReplicaRole.ROLE_LEADER, 1000),
          held(2, "orders", 0, ReplicaRole.ROLE_FOLLOWER, 900),
          held(2, "orders", 1, ReplicaRole.ROLE_LEADER, 3000));

  @Test
  void topicsAreSummedUp() {
    assertThat(SizesCommand.topicRows(HELD).lines())
        .containsExactly(
            List.of("(metadata)", 1L, 1, 2, 400L, 0L), List.of("orders", 2L, 3, 6, 4900L, 4000L));
  }

  @Test
  void eachReplicaHasItsLine() {
    assertThat(SizesCommand.replicaRows(HELD, "orders").lines())
        .containsExactly(
            List.of(0, 1, true, 2, 1000L, 5L, 70L),
            List.of(0, 2, false, 2, 900L, 5L, 70L),
            List.of(1, 2, true, 2, 3000L, 5L, 70L));
  }

  @Test
  void eachSegmentHasItsLine() {
    var rows = SizesCommand.segmentRows(HELD, "orders").lines();
    assertThat(rows).hasSize(6);
    assertThat(rows.get(0))
        .containsExactly(
            0,
            1,
            5L,
            60L,
            9L,
            80L,
            900L,
            true,
            "1970-01-01T00:00:01Z",
            "1970-01-01T00:00:02Z",
            null);
  }
}
