package io.millrace.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.Broker;
import io.millrace.client.ClientConfig;
import io.millrace.client.MillraceClient;
import io.millrace.client.TopicSpec;
import io.millrace.protocol.message.Gauge;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Groups that are stopped while their requests are under way; many, so that some always are. The
 * connections serve all groups, so the end of one must not be theirs.
 */
@Timeout(180)
class TopicDeletionIT {

  private static final int PARTITIONS = 60;

  /** Two from each broker to each other. */
  private static final int LINKS = 12;

  private static final long WAIT_MILLIS = 30_000;

  @TempDir Path directory;

  private EmbeddedCluster cluster;

  @BeforeEach
  void start() throws Exception {
    cluster = EmbeddedCluster.start(EmbeddedCluster.Options.of(3).withDirectory(directory));
    cluster.awaitMetadataLeader(WAIT_MILLIS);
  }

  @AfterEach
  void stop() throws IOException {
    cluster.close();
  }

  @Test
  void noConnectionIsLostWhenManyGroupsStop() throws Exception {
    try (MillraceClient client = MillraceClient.connect(new ClientConfig(cluster.bootstrap()))) {
      cluster.await(
          "all brokers connected",
          WAIT_MILLIS,
          () -> accepted(client) >= LINKS + cluster.ids().size());
      long before = accepted(client);

      for (int round = 0; round < 2; round++) {
        String topic = "passing-" + round;
        client
            .admin()
            .createTopic(TopicSpec.of(topic, PARTITIONS, 3))
            .get(WAIT_MILLIS, TimeUnit.MILLISECONDS);
        client.admin().deleteTopic(topic).get(WAIT_MILLIS, TimeUnit.MILLISECONDS);
        cluster.await("the end of all replicas of " + topic, WAIT_MILLIS, this::onlyMetadataIsLeft);
      }

      assertThat(accepted(client)).as("connections that brokers accepted").isEqualTo(before);
    }
  }

  /** Connections that all brokers have accepted so far, those of this client included. */
  private long accepted(MillraceClient client) {
    return cluster.ids().stream()
        .map(id -> client.admin().brokerStatus(id).join())
        .flatMap(status -> status.getGaugesList().stream())
        .filter(gauge -> gauge.getName().equals("net.accepted"))
        .mapToLong(Gauge::getUsed)
        .sum();
  }

  private boolean onlyMetadataIsLeft() {
    return cluster.ids().stream()
        .map(cluster::broker)
        .map(Broker::replicaStatus)
        .allMatch(replicas -> replicas.size() == 1);
  }
}
