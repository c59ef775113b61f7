package io.millrace.tools.log;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.millrace.client.ClientConfig;
import io.millrace.client.MillraceClient;
import io.millrace.client.Producer;
import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.TopicSpec;
import io.millrace.embedded.EmbeddedCluster;
import io.millrace.protocol.message.ReplicaStatus;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.TestTerminal;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The log commands on the files of brokers that write them. */
@Timeout(180)
class LiveLogIT {
  private static final String TOPIC = "busy";
  private static final int PARTITIONS = 3;
  private static final int LOOKS = 12;

  @TempDir private Path directory;

  private record State(ByteBuffer content, FileTime modified) {}

  private static Map<Path, State> files(Path directory) throws IOException {
    var files = new TreeMap<Path, State>();
    try (Stream<Path> all = Files.walk(directory)) {
      for (Path file : all.filter(Files::isRegularFile).toList()) {
        files.put(
            file,
            new State(ByteBuffer.wrap(Files.readAllBytes(file)), Files.getLastModifiedTime(file)));
      }
    }
    return files;
  }

  @Test
  void whatIsBeingWrittenIsNoDamage() throws Exception {
    var terminal = new TestTerminal(directory.resolve("home"));
    var options = EmbeddedCluster.Options.of(3).withDirectory(directory.resolve("brokers"));
    try (EmbeddedCluster cluster = EmbeddedCluster.start(options)) {
      var stopping = new AtomicBoolean();
      var acked = new AtomicLong();
      try (MillraceClient client = MillraceClient.connect(new ClientConfig(cluster.bootstrap()));
          Producer producer =
              client.producer(new ProducerConfig().withLingerMillis(1).withBatchBytes(16 * 1024))) {
        client
            .admin()
            .createTopic(TopicSpec.of(TOPIC, PARTITIONS, 3).withSegmentBytes(256 * 1024))
            .get(30, TimeUnit.SECONDS);
        Thread sender = new Thread(() -> send(producer, stopping, acked), "sender");
        sender.start();
        try {
          cluster.await("some load", 30_000, () -> acked.get() > 2000);
          for (int look = 0; look < LOOKS; look++) {
            long before = acked.get();
            int id = 1 + look % 3;
            if (look % 4 == 3) {
              // Its leaders move, and it cuts what the new ones do not have when it is back.
              cluster.kill(id);
              isOk(terminal, cluster.dataDirectory(id));
              cluster.start(id);
            }
            isOk(terminal, cluster.dataDirectory(id));
            long looked = before;
            cluster.await("more load", 30_000, () -> acked.get() > looked);
          }
          dumpsToTheEnd(terminal, cluster.dataDirectory(1));
        } finally {
          stopping.set(true);
          sender.join();
        }
      }
      cluster.await(
          "everything on all brokers",
          30_000,
          () -> cluster.ids().stream().allMatch(id -> recordsOf(cluster, id) >= acked.get()));
      for (int id : cluster.ids()) {
        cluster.stop(id);
        Map<Path, State> before = files(cluster.dataDirectory(id));
        JsonObject result = isOk(terminal, cluster.dataDirectory(id));
        assertThat(result.getAsJsonArray("problems")).isEmpty();
        assertThat(result.get("records").getAsLong()).isGreaterThanOrEqualTo(acked.get());
        assertThat(files(cluster.dataDirectory(id))).as("nothing is touched").isEqualTo(before);
      }
    }
  }

  private static void send(Producer producer, AtomicBoolean stopping, AtomicLong acked) {
    long number = 0;
    while (!stopping.get()) {
      byte[] value = ("value " + number + " ".repeat((int) (number * 37 % 500))).getBytes();
      try {
        producer
            .sendBlocking(ProducerRecord.of(TOPIC, Long.toString(number).getBytes(), value), 10_000)
            .whenComplete((receipt, failure) -> acked.addAndGet(failure == null ? 1 : 0));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
      number++;
    }
  }

  private static long recordsOf(EmbeddedCluster cluster, int id) {
    return cluster.broker(id).replicaStatus().stream()
        .filter(replica -> replica.getTopic().equals(TOPIC))
        .mapToLong(ReplicaStatus::getLogEnd)
        .sum();
  }

  private static JsonObject isOk(TestTerminal terminal, Path data) {
    TestTerminal.Finished verify =
        terminal.run("log", "verify", data.toString(), "--output", "json", "--quiet");
    assertThat(verify.exitCode()).as(verify.out() + verify.err()).isEqualTo(ExitCodes.OK);
    JsonObject result = JsonParser.parseString(verify.out()).getAsJsonObject();
    assertThat(result.get("damages").getAsInt()).isZero();
    assertThat(result.get("logs").getAsInt()).isEqualTo(PARTITIONS + 1);
    return result;
  }

  private static void dumpsToTheEnd(TestTerminal terminal, Path data) {
    TestTerminal.Finished dump = terminal.run("log", "dump", data.toString(), "--output", "plain");
    assertThat(dump.exitCode()).as(dump.err()).isEqualTo(ExitCodes.OK);
    assertThat(dump.out()).doesNotContain("BAD").contains("METADATA createTopic", "SEGMENT_FOOT");
  }
}
