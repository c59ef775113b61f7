package io.millrace.tools.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.message.MetadataResponse;
import io.millrace.protocol.message.PartitionInfo;
import io.millrace.protocol.message.ReplicaInfo;
import io.millrace.protocol.message.ResponseContext;
import io.millrace.protocol.message.TopicInfo;
import io.millrace.tools.local.ClusterView.Group;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MetadataAnswersTest {
  private static final Group ORDERS_0 = new Group("orders", 0);

  private static MetadataResponse withTopic(long index, int... replicas) {
    var partition = PartitionInfo.newBuilder();
    for (int replica : replicas) {
      partition.addReplicas(ReplicaInfo.newBuilder().setBroker(replica));
    }
    return MetadataResponse.newBuilder()
        .setContext(ResponseContext.newBuilder().setMetadataIndex(index))
        .addTopics(TopicInfo.newBuilder().setName("orders").addPartitions(partition))
        .build();
  }

  private static MetadataResponse without(long index) {
    return MetadataResponse.newBuilder()
        .setContext(ResponseContext.newBuilder().setMetadataIndex(index))
        .build();
  }

  @Test
  void theNewestAnswerSaysWhoHoldsWhatWhicheverBrokerGivesIt() {
    // A broker that was cut off before the topic was made does not know it.
    assertThat(
            new MetadataAnswers(List.of(withTopic(8, 1, 2, 3), withTopic(7, 1, 2), without(5)))
                .assigned())
        .isEqualTo(Map.of(ORDERS_0, Set.of(1, 2, 3)));
    assertThat(
            new MetadataAnswers(List.of(without(5), withTopic(7, 1, 2), withTopic(8, 3)))
                .assigned())
        .isEqualTo(Map.of(ORDERS_0, Set.of(3)));
    // Nor does one that missed a deletion know of that.
    assertThat(new MetadataAnswers(List.of(withTopic(5, 1), without(6))).assigned()).isEmpty();
    assertThat(new MetadataAnswers(List.of()).assigned()).isEmpty();
  }
}
