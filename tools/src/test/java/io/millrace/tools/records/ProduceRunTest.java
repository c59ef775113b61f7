package io.millrace.tools.records;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.client.FsyncPolicy;
import io.millrace.client.Producer;
import io.millrace.client.ProducerRecord;
import io.millrace.client.Receipt;
import io.millrace.protocol.batch.RecordHeader;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.Progress;
import io.millrace.tools.Terminal;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class ProduceRunTest {
  /** Keeps what it is given; answers on flush, as lingering batches do. */
  private static final class FakeProducer implements Producer {
    final List<ProducerRecord> records = new ArrayList<>();
    final List<CompletableFuture<Receipt>> receipts = new ArrayList<>();
    int failFrom = Integer.MAX_VALUE;
    boolean failAtOnce;
    boolean lateCallbacks;
    CountDownLatch flushWaits = new CountDownLatch(0);

    @Override
    public CompletableFuture<Receipt> send(ProducerRecord record) {
      throw new AssertionError("a full buffer must make the reading wait, not fail");
    }

    @Override
    public CompletableFuture<Receipt> sendBlocking(ProducerRecord record, long maxBlockMillis) {
      records.add(record);
      var receipt = new CompletableFuture<Receipt>();
      receipts.add(receipt);
      if (failAtOnce && records.size() > failFrom) {
        answer(receipts.size() - 1);
      }
      return receipt;
    }

    @Override
    public void flush() {
      try {
        assertThat(flushWaits.await(10, TimeUnit.SECONDS)).isTrue();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      if (lateCallbacks) {
        CompletableFuture.delayedExecutor(50, TimeUnit.MILLISECONDS).execute(this::answerAll);
      } else {
        answerAll();
      }
    }

    private void answerAll() {
      for (int i = 0; i < receipts.size(); i++) {
        answer(i);
      }
    }

    private void answer(int i) {
      if (i >= failFrom) {
        receipts
            .get(i)
            .completeExceptionally(new MillraceException(ErrorCode.RECORD_TOO_LARGE, "too large"));
      } else {
        receipts.get(i).complete(new Receipt("t", 0, i, 1, FsyncPolicy.ALWAYS, false));
      }
    }

    @Override
    public void close() {
      flush();
    }

    @Override
    public void close(long timeoutMillis) {
      flush();
    }
  }

  private final FakeProducer producer = new FakeProducer();
  private final ProduceRun run =
      new ProduceRun(
          producer,
          new ProduceRun.Target("t", 4, List.of(new RecordHeader("h", new byte[] {1}))),
          new KeyedLine.Parser(":"),
          0,
          1_000);

  private void send(String text) throws IOException, InterruptedException {
    var terminal =
        new Terminal(InputStream.nullInputStream(), System.out, System.err, false, Map.of());
    var in = new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
    run.run(new LineReader(in, 1_000), new Progress(terminal, true));
  }

  @Test
  void everyLineIsSentInOrder() throws IOException, InterruptedException {
    send("a:1\nb:2\na:3\n");

    assertThat(producer.records)
        .extracting(record -> new String(record.key()) + "=" + new String(record.value()))
        .containsExactly("a=1", "b=2", "a=3");
    assertThat(producer.records).allMatch(record -> record.partition() == 4);
    assertThat(producer.records).allMatch(record -> record.headers().size() == 1);
    assertThat(run.outcomes().done()).isEqualTo(3);
    assertThat(run.sent()).isEqualTo(3);
    assertThat(run.bytes()).isEqualTo(6);
  }

  @Test
  void theFirstFailureEndsTheReading() throws IOException, InterruptedException {
    producer.failFrom = 1;
    producer.failAtOnce = true;

    send("a:1\na:2\na:3\na:4\n");

    assertThat(producer.records).hasSize(2);
    assertThat(run.outcomes().done()).isEqualTo(1);
    assertThat(run.outcomes().notDone()).isEqualTo(1);
    assertThat(run.outcomes().failures().get(0).firstRecord()).isEqualTo(2);
  }

  @Test
  void failuresAfterTheLastLineCountToo() throws IOException, InterruptedException {
    producer.failFrom = 1;

    send("a:1\na:2\na:3\n");

    assertThat(run.outcomes().done()).isEqualTo(1);
    assertThat(run.outcomes().notDone()).isEqualTo(2);
  }

  @Test
  void callbacksThatRunAfterTheFlushAreAwaited() throws IOException, InterruptedException {
    producer.lateCallbacks = true;

    send("a:1\na:2\n");

    assertThat(run.outcomes().done()).isEqualTo(2);
  }

  @Test
  void whileNothingIsAcknowledgedThatIsSaid() throws IOException, InterruptedException {
    var said = new CountDownLatch(1);
    producer.flushWaits = said;
    var bytes = new ByteArrayOutputStream();
    var err =
        new PrintStream(bytes, true, StandardCharsets.UTF_8) {
          @Override
          public void print(String text) {
            super.print(text);
            if (text.contains("waiting")) {
              said.countDown();
            }
          }
        };
    var terminal = new Terminal(InputStream.nullInputStream(), System.out, err, true, Map.of());
    var waiting =
        new ProduceRun(
            producer,
            new ProduceRun.Target("t", null, List.of()),
            new KeyedLine.Parser(":"),
            0,
            1_000,
            Duration.ofMillis(50));
    var lines = new LineReader(new ByteArrayInputStream("a:1\na:2\n".getBytes()), 1_000);

    waiting.run(lines, new Progress(terminal, false));

    assertThat(bytes.toString(StandardCharsets.UTF_8))
        .containsPattern(
            "waiting: nothing acknowledged for [0-9.]+ m?s, 2 records under way; see: millrace"
                + " cluster status");
    assertThat(waiting.outcomes().done()).isEqualTo(2);
  }

  @Test
  void linesBeforeABadOneAreDecidedWhenItIsReported() {
    assertThatThrownBy(() -> send("a:1\nbad\na:3\n"))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("line 2 has no key separator");

    assertThat(producer.records).hasSize(1);
    assertThat(run.outcomes().done()).isEqualTo(1);
  }
}
