package io.millrace.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.broker.DataDirectoryException;
import io.millrace.client.ClientConfig;
import io.millrace.client.MillraceClient;
import io.millrace.client.Producer;
import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.TopicSpec;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A broker that finds a file of a newer format does not start and leaves every file as it was:
 * which promises that version keeps in its files nobody here knows.
 */
@Timeout(120)
class NewerFormatIT {

  @TempDir Path directory;

  private record State(ByteBuffer content, FileTime modified) {}

  private Map<Path, State> files(Path data) throws IOException {
    Map<Path, State> files = new TreeMap<>();
    try (Stream<Path> all = Files.walk(data)) {
      for (Path file : all.filter(Files::isRegularFile).toList()) {
        files.put(
            file,
            new State(ByteBuffer.wrap(Files.readAllBytes(file)), Files.getLastModifiedTime(file)));
      }
    }
    return files;
  }

  private static Path find(Path data, String pattern) throws IOException {
    try (Stream<Path> all = Files.walk(data)) {
      return all.filter(file -> data.relativize(file).toString().matches(pattern))
          .findFirst()
          .orElseThrow();
    }
  }

  private static byte[] versionAt4(byte[] content) {
    ByteBuffer.wrap(content).putShort(4, (short) 2);
    return content;
  }

  private static byte[] formatLine(byte[] content) {
    return new String(content, StandardCharsets.UTF_8)
        .replace("format=1", "format=2")
        .getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] head(byte[] content) {
    try {
      int bytes = (int) BatchHeader.sizeInBytes(ByteBuffer.wrap(content), 0);
      byte[] value =
          ControlBatch.decode(ByteBuffer.wrap(content, 0, bytes).slice()).value().toByteArray();
      value[1] = 2;
      ByteBuffer head = ControlBatch.encode(ControlType.SEGMENT_HEAD.code(), value);
      ByteBuffer.wrap(content).put(0, head, 0, bytes);
      return content;
    } catch (io.millrace.protocol.batch.InvalidBatchException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void refusesAndChangesNothing() throws Exception {
    try (EmbeddedCluster cluster =
        EmbeddedCluster.start(EmbeddedCluster.Options.of(1).withDirectory(directory))) {
      try (MillraceClient client = MillraceClient.connect(new ClientConfig(cluster.bootstrap()));
          Producer producer = client.producer(new ProducerConfig())) {
        client.admin().createTopic(TopicSpec.of("t", 1, 1)).get(30, TimeUnit.SECONDS);
        producer
            .send(ProducerRecord.of("t", null, "value".getBytes(StandardCharsets.UTF_8)))
            .get(30, TimeUnit.SECONDS);
      }
      cluster.stop(1);
      Path data = cluster.dataDirectory(1);
      String topic = "topics/[0-9a-f-]+/";
      refuses(cluster, find(data, "broker\\.id"), NewerFormatIT::formatLine);
      refuses(cluster, find(data, "last-run"), NewerFormatIT::formatLine);
      refuses(cluster, find(data, "raft/peers"), NewerFormatIT::formatLine);
      refuses(cluster, find(data, topic + "replica\\.id"), NewerFormatIT::formatLine);
      refuses(cluster, find(data, "raft/votes\\.a"), NewerFormatIT::versionAt4);
      refuses(cluster, find(data, "raft/votes\\.b"), NewerFormatIT::versionAt4);
      refuses(cluster, find(data, topic + "checkpoint\\.[01]"), NewerFormatIT::versionAt4);
      refuses(cluster, find(data, "raft/meta/checkpoint\\.[01]"), NewerFormatIT::versionAt4);
      refuses(cluster, find(data, topic + "[0-9.]+\\.log"), NewerFormatIT::head);
      refuses(cluster, find(data, "raft/meta/[0-9.]+\\.log"), NewerFormatIT::head);

      cluster.start(1);
      cluster.await("a leader", 30_000, () -> cluster.leaderOf("t", 0) == 1);
    }
  }

  private void refuses(EmbeddedCluster cluster, Path file, UnaryOperator<byte[]> change)
      throws IOException {
    byte[] before = Files.readAllBytes(file);
    byte[] newer = change.apply(before.clone());
    assertThat(newer).isNotEqualTo(before);
    Files.write(file, newer);
    Map<Path, State> all = files(cluster.dataDirectory(1));
    assertThatThrownBy(() -> cluster.start(1))
        .as(file.toString())
        .isInstanceOf(DataDirectoryException.class)
        .hasMessageContaining(file.toString())
        .hasMessageMatching("(?s).*(format|version) 2.*Nothing was changed.*");
    assertThat(files(cluster.dataDirectory(1))).as(file.toString()).isEqualTo(all);
    Files.write(file, before);
  }
}
