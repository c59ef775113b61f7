package io.millrace.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.client.ClientConfig;
import io.millrace.client.MillraceClient;
import io.millrace.client.OffsetSpec;
import io.millrace.client.Producer;
import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.Reader;
import io.millrace.client.ReaderConfig;
import io.millrace.client.Receipt;
import io.millrace.client.ReceivedRecord;
import io.millrace.client.TopicSpec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class EmbeddedClusterIT {

  private EmbeddedCluster cluster;
  private MillraceClient client;

  @BeforeEach
  void start() throws Exception {
    cluster = EmbeddedCluster.start(EmbeddedCluster.Options.of(3));
    client = MillraceClient.connect(new ClientConfig(cluster.bootstrap()));
  }

  @AfterEach
  void stop() throws Exception {
    client.close();
    cluster.close();
  }

  @Test
  void recordsComeBackInOrderWhileTheLeaderIsKilledAndRestarted() throws Exception {
    client.admin().createTopic(TopicSpec.of("orders", 2, 3)).get(30, TimeUnit.SECONDS);
    int records = 3000;
    List<CompletableFuture<Receipt>> receipts = new ArrayList<>();
    try (Producer producer = client.producer(new ProducerConfig().withBatchBytes(4096))) {
      for (int i = 0; i < records; i++) {
        receipts.add(
            producer.sendBlocking(
                new ProducerRecord(
                    "orders", i % 2, bytes("k" + i % 10), bytes("v" + i), List.of(), null),
                30_000));
        if (i == records / 2) {
          int leader = cluster.leaderOf("orders", 0);
          cluster.kill(leader);
          cluster.start(leader);
        }
      }
      for (CompletableFuture<Receipt> receipt : receipts) {
        receipt.get(60, TimeUnit.SECONDS);
      }
    }
    List<List<String>> values = List.of(new ArrayList<>(), new ArrayList<>());
    try (Reader reader = client.reader(new ReaderConfig().withStart(OffsetSpec.earliest()))) {
      reader.assignAll("orders");
      while (values.get(0).size() + values.get(1).size() < records) {
        for (ReceivedRecord record : reader.poll(5000)) {
          List<String> partition = values.get(record.partition());
          assertThat(record.offset()).isEqualTo(partition.size());
          partition.add(new String(record.value(), StandardCharsets.UTF_8));
        }
      }
      assertThat(reader.poll(200)).isEmpty();
    }
    for (int p = 0; p < 2; p++) {
      List<String> expected = new ArrayList<>();
      for (int i = p; i < records; i += 2) {
        expected.add("v" + i);
      }
      assertThat(values.get(p)).isEqualTo(expected);
    }
    for (int i = 0; i < records; i++) {
      assertThat(receipts.get(i).get().offset()).isEqualTo(i / 2);
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
