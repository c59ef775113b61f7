package io.millrace.tools.records;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.client.Reader;
import io.millrace.client.ReceivedRecord;
import io.millrace.client.TopicPartition;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.Progress;
import io.millrace.tools.Terminal;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class ConsumeRunTest {
  private static final String TOPIC = "t";
  private static final TopicPartition P0 = new TopicPartition(TOPIC, 0);
  private static final TopicPartition P1 = new TopicPartition(TOPIC, 1);
  private static final Duration NO_LIMIT = Duration.ZERO;

  /** Hands out prepared polls, then nothing. */
  private static final class FakeReader implements Reader {
    final Deque<List<ReceivedRecord>> polls = new ArrayDeque<>();
    final Map<TopicPartition, Long> positions = new HashMap<>(Map.of(P0, 0L, P1, 0L));

    void prepare(ReceivedRecord... records) {
      polls.add(List.of(records));
    }

    @Override
    public List<ReceivedRecord> poll(long timeoutMillis) {
      List<ReceivedRecord> records = polls.isEmpty() ? List.of() : polls.remove();
      for (ReceivedRecord record : records) {
        positions.put(new TopicPartition(record.topic(), record.partition()), record.offset() + 1);
      }
      return records;
    }

    @Override
    public long position(TopicPartition partition) {
      return positions.get(partition);
    }

    @Override
    public String health() {
      return "t-0: NOT_LEADER";
    }

    @Override
    public void assign(Collection<TopicPartition> partitions) {
      throw new AssertionError();
    }

    @Override
    public List<TopicPartition> assignAll(String topic) {
      throw new AssertionError();
    }

    @Override
    public List<TopicPartition> assignment() {
      throw new AssertionError();
    }

    @Override
    public void seek(TopicPartition partition, long offset) {
      throw new AssertionError();
    }

    @Override
    public void seekToEarliest(Collection<TopicPartition> partitions) {
      throw new AssertionError();
    }

    @Override
    public void seekToLatest(Collection<TopicPartition> partitions) {
      throw new AssertionError();
    }

    @Override
    public void seekToTime(Collection<TopicPartition> partitions, long timestampMillis) {
      throw new AssertionError();
    }

    @Override
    public void wakeup() {}

    @Override
    public Map<TopicPartition, Long> endOffsets() {
      throw new AssertionError();
    }

    @Override
    public long recordsLost() {
      return 0;
    }

    @Override
    public void close() {}
  }

  private final FakeReader reader = new FakeReader();
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  private static ReceivedRecord record(int partition, long offset) {
    return new ReceivedRecord(
        TOPIC, partition, offset, 0, null, (partition + ":" + offset).getBytes(), List.of());
  }

  private long run(ConsumeRun.Limits limits) throws IOException {
    return run(limits, out);
  }

  private long run(ConsumeRun.Limits limits, OutputStream target) throws IOException {
    var terminal =
        new Terminal(InputStream.nullInputStream(), System.out, System.err, false, Map.of());
    return new ConsumeRun(reader, RecordFormat.parse("value", ""), target, limits)
        .run(new Progress(terminal, true));
  }

  @Test
  void endsAtTheEndsAndWritesNothingBeyond() throws IOException {
    reader.prepare(record(0, 0), record(1, 0), record(1, 1));
    reader.prepare(record(0, 1), record(0, 2), record(0, 3));

    long records = run(new ConsumeRun.Limits(Map.of(P0, 3L, P1, 1L), 0, Duration.ofSeconds(5)));

    assertThat(records).isEqualTo(4);
    assertThat(out.toString()).isEqualTo("0:0\n1:0\n0:1\n0:2\n");
  }

  @Test
  void anEmptyTopicEndsAtOnce() throws IOException {
    assertThat(run(new ConsumeRun.Limits(Map.of(P0, 0L, P1, 0L), 0, NO_LIMIT))).isZero();
  }

  @Test
  void endsAfterMax() throws IOException {
    reader.prepare(record(0, 0), record(0, 1), record(0, 2));

    assertThat(run(new ConsumeRun.Limits(null, 2, NO_LIMIT))).isEqualTo(2);
    assertThat(out.toString()).isEqualTo("0:0\n0:1\n");
  }

  @Test
  void followingEndsQuietlyAfterTheTimeout() throws IOException {
    reader.prepare(record(0, 0));

    assertThat(run(new ConsumeRun.Limits(null, 0, Duration.ofMillis(50)))).isEqualTo(1);
  }

  @Test
  void anEndThatDoesNotComeIsAFailureThatSaysWhy() {
    reader.prepare(record(0, 0));

    assertThatThrownBy(
            () -> run(new ConsumeRun.Limits(Map.of(P0, 5L, P1, 0L), 0, Duration.ofMillis(50))))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("no record for 50 ms before the end of 1 partition")
        .hasMessageContaining("NOT_LEADER")
        .hasMessageContaining("1 record read");
  }

  @Test
  void aClosedPipeEndsTheReading() throws IOException {
    for (long offset = 0; offset < 100; offset++) {
      reader.prepare(record(0, offset));
    }
    List<Integer> written = new ArrayList<>();
    var closed =
        new OutputStream() {
          @Override
          public void write(int b) throws IOException {
            if (written.size() >= 8) {
              throw new IOException("Broken pipe");
            }
            written.add(b);
          }
        };

    long records =
        run(
            new ConsumeRun.Limits(Map.of(P0, 100L), 0, Duration.ofSeconds(5)),
            new PrintStream(closed));

    assertThat(records).isLessThan(5);
  }

  @Test
  void onlyPartitionsWithATroubleAreToldOf() {
    assertThat(
            ConsumeRun.troubles(
                "t-0: position 4; broker 1 is asked since 90 ms and has nothing yet"))
        .isEmpty();
    assertThat(
            ConsumeRun.troubles(
                "t-0: position 4; waits for its turn to be fetched\n"
                    + "t-1: position 7; asking again in 90 ms (no leader is known)\n"
                    + "t-2: asking again (no leader is known)"))
        .isEqualTo(
            "t-1: position 7; asking again in 90 ms (no leader is known) (and 1 further partition)");
  }
}
