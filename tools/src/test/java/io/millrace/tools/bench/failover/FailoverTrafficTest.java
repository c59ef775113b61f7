package io.millrace.tools.bench.failover;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.client.FsyncPolicy;
import io.millrace.client.Producer;
import io.millrace.client.ProducerRecord;
import io.millrace.client.Receipt;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.tools.load.LoadRecords;
import io.millrace.tools.load.LoadVerifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class FailoverTrafficTest {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  /** Acknowledges at once; while held, keeps records without an answer until flush. */
  private static final class FakeProducer implements Producer {
    private final List<CompletableFuture<Receipt>> waiting = new ArrayList<>();
    private boolean held;
    private ErrorCode failure;
    private long next;

    synchronized void hold() {
      held = true;
    }

    synchronized void failFromNowOn(ErrorCode code) {
      failure = code;
    }

    synchronized void release() {
      held = false;
      waiting.forEach(this::answer);
      waiting.clear();
    }

    @Override
    public synchronized CompletableFuture<Receipt> send(ProducerRecord record) {
      var receipt = new CompletableFuture<Receipt>();
      if (held) {
        waiting.add(receipt);
      } else {
        answer(receipt);
      }
      return receipt;
    }

    private void answer(CompletableFuture<Receipt> receipt) {
      if (failure != null) {
        receipt.completeExceptionally(new MillraceException(failure, "as told"));
      } else {
        receipt.complete(new Receipt("t", 0, next++, 7, FsyncPolicy.ALWAYS, false));
      }
    }

    @Override
    public CompletableFuture<Receipt> sendBlocking(ProducerRecord record, long maxBlockMillis) {
      throw new AssertionError("a full buffer must not slow the sending down");
    }

    @Override
    public void flush() {
      release();
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
  private final LoadVerifier verifier = new LoadVerifier(1);

  private FailoverTraffic traffic() {
    verifier.startsAt(0, 0);
    return new FailoverTraffic(producer, new LoadRecords("r", "t", 100), verifier, 0, 500);
  }

  @Test
  void sendsOnWhileNothingIsAnsweredAndMeasuresTheGap() throws InterruptedException {
    try (FailoverTraffic traffic = traffic()) {
      long start = System.nanoTime();
      traffic.start();
      assertThat(traffic.awaitFlow(start, Duration.ofMillis(200), LIMIT, () -> false)).isTrue();

      long fault = System.nanoTime();
      producer.hold();
      assertThat(traffic.awaitFlow(fault, Duration.ofMillis(1), Duration.ofSeconds(2), () -> false))
          .isFalse();
      long sentMeanwhile = traffic.sent() - traffic.acks().count();
      producer.release();
      assertThat(traffic.awaitFlow(fault, Duration.ofMillis(200), LIMIT, () -> false)).isTrue();
      assertThat(traffic.stop(LIMIT)).isTrue();

      // 2 s without answers at 500 records/s, on a machine that may be busy.
      assertThat(sentMeanwhile).isGreaterThan(200);
      AckGaps gaps = traffic.gaps(fault, Duration.ZERO);
      assertThat(gaps.open()).isFalse();
      assertThat(gaps.longestNanos()).isBetween(1_900_000_000L, 15_000_000_000L);
      assertThat(traffic.acks().newestTerm()).isEqualTo(7);
      assertThat(traffic.outcomes().done()).isEqualTo(traffic.sent());
      assertThat(verifier.counts().acked()).isEqualTo(traffic.sent());
    }
  }

  @Test
  void eachRecordHasItsOutcome() throws InterruptedException {
    try (FailoverTraffic traffic = traffic()) {
      producer.failFromNowOn(ErrorCode.BUFFER_FULL);
      traffic.start();
      traffic.awaitFlow(0, Duration.ofMillis(1), Duration.ofMillis(100), () -> false);
      producer.failFromNowOn(ErrorCode.DISCONNECTED);
      traffic.awaitFlow(0, Duration.ofMillis(1), Duration.ofMillis(100), () -> false);
      traffic.stop(LIMIT);

      assertThat(traffic.outcomes().done()).isZero();
      assertThat(traffic.outcomes().notDone()).isPositive();
      assertThat(traffic.outcomes().unknown()).isPositive();
      assertThat(verifier.counts().refused()).isEqualTo(traffic.outcomes().notDone());
      assertThat(verifier.counts().unknown()).isEqualTo(traffic.outcomes().unknown());
      assertThat(traffic.acks().lastNanos()).isEmpty();
      assertThat(traffic.isFlowing()).isFalse();
    }
  }

  @Test
  void aStopEndsTheWait() throws InterruptedException {
    try (FailoverTraffic traffic = traffic()) {
      producer.hold();
      traffic.start();

      assertThat(traffic.awaitFlow(0, Duration.ofMillis(1), LIMIT, () -> true)).isFalse();
      assertThat(traffic.stop(LIMIT)).isTrue();
    }
  }
}
