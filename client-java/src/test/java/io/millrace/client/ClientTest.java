package io.millrace.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.client.fake.FakeCluster;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class ClientTest {

  @Test
  void producesAndReadsBack() throws Exception {
    try (FakeCluster cluster = new FakeCluster(3);
        MillraceClient client = MillraceClient.connect(new ClientConfig(cluster.bootstrap()))) {
      TopicDescription topic =
          client.admin().createTopic(TopicSpec.of("orders", 6, 3)).get(5, TimeUnit.SECONDS);
      assertThat(topic.partitions()).hasSize(6);
      List<CompletableFuture<Receipt>> receipts = new ArrayList<>();
      try (Producer producer = client.producer(new ProducerConfig())) {
        for (int i = 0; i < 10_000; i++) {
          byte[] key = ("k" + i % 100).getBytes(StandardCharsets.UTF_8);
          receipts.add(
              producer.send(
                  ProducerRecord.of("orders", key, ("v" + i).getBytes(StandardCharsets.UTF_8))));
        }
      }
      for (CompletableFuture<Receipt> receipt : receipts) {
        assertThat(receipt).isCompleted();
      }
      try (Reader reader = client.reader(new ReaderConfig())) {
        reader.assignAll("orders");
        List<ReceivedRecord> records = new ArrayList<>();
        while (records.size() < 10_000) {
          records.addAll(reader.poll(1_000));
        }
        assertThat(records).hasSize(10_000);
        assertThat(reader.poll(100)).isEmpty();
      }
    }
  }
}
