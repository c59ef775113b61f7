package io.millrace.tools.bench.partitions;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.client.FsyncPolicy;
import io.millrace.client.TopicDescription;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class LeaderWatchTest {
  private static TopicDescription topic(int... leaders) {
    return new TopicDescription(
        "t",
        new UUID(1, 2),
        3,
        FsyncPolicy.ALWAYS,
        0,
        1,
        1,
        0,
        0,
        0,
        "",
        IntStream.range(0, leaders.length)
            .mapToObj(i -> new TopicDescription.Partition(i, leaders[i], 1, List.of()))
            .toList());
  }

  @Test
  void theTimeIsThatOfTheFirstLookThatShowsALeader() {
    var watch = new LeaderWatch(0);
    assertThat(watch.expect(topic(0, 0, 3))).isEqualTo(2);

    watch.seen(topic(1, 0, 3), 100);
    watch.seen(topic(1, 0, 3), 200);
    assertThat(watch.allLed()).isFalse();
    watch.seen(topic(1, 2, 3), 300);

    assertThat(watch.allLed()).isTrue();
    assertThat(watch.timesNanos()).containsExactlyInAnyOrder(100L, 300L);
  }

  @Test
  void aKilledBrokerIsNoLeaderAndWhatItDidNotLeadIsNotWaitedFor() {
    var watch = new LeaderWatch(2);
    assertThat(watch.expect(topic(1, 2, 2))).isEqualTo(2);

    watch.seen(topic(1, 2, 2), 100);
    watch.seen(topic(1, 0, 3), 200);

    assertThat(watch.waiting()).isEqualTo(1);
    assertThat(watch.timesNanos()).containsExactly(200L);
  }
}
