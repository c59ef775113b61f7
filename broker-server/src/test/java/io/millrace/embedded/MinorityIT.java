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
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One broker of three down changes nothing; with two down nothing is acknowledged. */
@Timeout(180)
class MinorityIT {

  private static final String TOPIC = "ledger";
  private static final int DELIVERY_MILLIS = 6000;

  private EmbeddedCluster cluster;

  @BeforeEach
  void start() throws Exception {
    cluster = EmbeddedCluster.start(EmbeddedCluster.Options.of(3).withElectionTimeoutMillis(1000));
  }

  @AfterEach
  void stop() throws Exception {
    cluster.close();
  }

  @Test
  void twoDownRefuseAndWhatWasUnknownIsThereOnceOrNever() throws Exception {
    Map<String, Outcome> outcomes = new HashMap<>();
    ClientConfig config = new ClientConfig(cluster.bootstrap()).withRequestTimeoutMillis(2000);
    try (MillraceClient client = MillraceClient.connect(config);
        Producer producer =
            client.producer(
                new ProducerConfig()
                    .withLingerMillis(1)
                    .withRequestTimeoutMillis(2000)
                    .withDeliveryTimeoutMillis(DELIVERY_MILLIS))) {
      client.admin().createTopic(TopicSpec.of(TOPIC, 1, 3)).get(30, TimeUnit.SECONDS);
      send(producer, "with three", 50, outcomes);
      int leader = cluster.leaderOf(TOPIC, 0);
      List<Integer> others = cluster.ids().stream().filter(id -> id != leader).toList();

      cluster.kill(others.get(0));
      send(producer, "with two", 50, outcomes);
      assertThat(outcomes.values()).containsOnly(Outcome.DONE);

      cluster.kill(others.get(1));
      // The leader believes in its leadership for a moment: these are proposed and cannot commit.
      List<CompletableFuture<Receipt>> first = sendAsync(producer, "proposed", 3);
      collect(first, "proposed", outcomes);
      // By now it has stepped down, so these never leave the client's hands.
      List<CompletableFuture<Receipt>> later = sendAsync(producer, "never proposed", 3);
      collect(later, "never proposed", outcomes);
      assertThat(outcome(outcomes, "proposed")).containsOnly(Outcome.UNKNOWN);
      assertThat(outcome(outcomes, "never proposed")).containsOnly(Outcome.NOT_DONE);

      cluster.start(others.get(0));
      cluster.start(others.get(1));
      cluster.await("leader again", 30_000, () -> cluster.leaderOf(TOPIC, 0) != 0);
    }
    try (MillraceClient client = MillraceClient.connect(new ClientConfig(cluster.bootstrap()));
        Producer producer = client.producer(new ProducerConfig())) {
      send(producer, "again with three", 20, outcomes);
      verify(client, outcomes);
    }
  }

  private static List<Outcome> outcome(Map<String, Outcome> outcomes, String text) {
    return outcomes.entrySet().stream()
        .filter(e -> e.getKey().startsWith(text + " #"))
        .map(Map.Entry::getValue)
        .toList();
  }

  private static void send(Producer producer, String text, int count, Map<String, Outcome> outcomes)
      throws InterruptedException {
    collect(sendAsync(producer, text, count), text, outcomes);
  }

  private static List<CompletableFuture<Receipt>> sendAsync(
      Producer producer, String text, int count) {
    List<CompletableFuture<Receipt>> receipts = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      byte[] value = (text + " #" + i).getBytes(StandardCharsets.UTF_8);
      receipts.add(producer.send(ProducerRecord.of(TOPIC, null, value)));
    }
    return receipts;
  }

  private static void collect(
      List<CompletableFuture<Receipt>> receipts, String text, Map<String, Outcome> outcomes)
      throws InterruptedException {
    for (int i = 0; i < receipts.size(); i++) {
      Outcome outcome;
      try {
        receipts.get(i).get();
        outcome = Outcome.DONE;
      } catch (ExecutionException e) {
        assertThat(e.getCause()).isInstanceOf(MillraceException.class);
        outcome = ((MillraceException) e.getCause()).outcome();
      }
      outcomes.put(text + " #" + i, outcome);
    }
  }

  private static void verify(MillraceClient client, Map<String, Outcome> outcomes) {
    Map<String, Integer> seen = new HashMap<>();
    try (Reader reader = client.reader(new ReaderConfig().withStart(OffsetSpec.earliest()))) {
      reader.assignAll(TOPIC);
      long end = reader.endOffsets().values().iterator().next();
      for (long next = 0; next < end; ) {
        for (ReceivedRecord record : reader.poll(1000)) {
          assertThat(record.offset()).isEqualTo(next++);
          seen.merge(new String(record.value(), StandardCharsets.UTF_8), 1, Integer::sum);
        }
      }
    }
    outcomes.forEach(
        (value, outcome) -> {
          int copies = seen.getOrDefault(value, 0);
          switch (outcome) {
            case DONE -> assertThat(copies).as("acknowledged: " + value).isEqualTo(1);
            case NOT_DONE -> assertThat(copies).as("not done: " + value).isZero();
            case UNKNOWN -> assertThat(copies).as("unknown: " + value).isLessThanOrEqualTo(1);
          }
        });
    assertThat(outcomes)
        .containsOnlyKeys(outcomes.keySet())
        .containsKeys(seen.keySet().toArray(String[]::new));
  }
}
