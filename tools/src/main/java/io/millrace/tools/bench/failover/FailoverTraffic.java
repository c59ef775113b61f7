package io.millrace.tools.bench.failover;

import io.millrace.client.Producer;
import io.millrace.client.Receipt;
import io.millrace.protocol.error.Outcome;
import io.millrace.tools.load.LoadRecords;
import io.millrace.tools.load.LoadVerifier;
import io.millrace.tools.records.Outcomes;
import io.millrace.tools.records.Pacer;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

/**
 * Sends records at a fixed rate, whatever the brokers do, and notes when each receipt comes: the
 * measuring of an outage, apart from how the outage is made. The records can be read back and
 * judged.
 *
 * <p>Owns: the sending thread. The producer is the caller's.
 *
 * <p>Threads: {@link #start}, {@link #stop} and the waits on one; the rest from any. Receipts come
 * on the client's callback thread.
 *
 * <p>Errors: those of single records are counted in {@link #outcomes}.
 */
public final class FailoverTraffic implements AutoCloseable {
  /** Acknowledgements flow while the last is not older than this. */
  private static final long FLOWING_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  /** Right after a fault receipts still come that were on their way. */
  private static final long FAULT_SHOWS_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long POLL_MILLIS = 50;

  /** After a flush only callbacks are left to run. */
  private static final Duration CALLBACK_LIMIT = Duration.ofSeconds(10);

  private final Producer producer;
  private final LoadRecords records;
  private final LoadVerifier verifier;
  private final int key;
  private final double rate;
  private final AckLog acks = new AckLog();
  private final Outcomes outcomes = new Outcomes();
  private final ExecutorService thread =
      Executors.newSingleThreadExecutor(
          task -> {
            var daemon = new Thread(task, "millrace-failover-traffic");
            daemon.setDaemon(true);
            return daemon;
          });
  private Future<Void> sending;
  private volatile boolean stop;
  private volatile long sent;
  private volatile long endNanos;

  /**
   * @param key which of the verifier's keys the records are sent under
   * @param rate records per second
   */
  public FailoverTraffic(
      Producer producer, LoadRecords records, LoadVerifier verifier, int key, double rate) {
    this.producer = producer;
    this.records = records;
    this.verifier = verifier;
    this.key = key;
    this.rate = rate;
  }

  public void start() {
    sending =
        thread.submit(
            () -> {
              send();
              return null;
            });
  }

  private void send() throws InterruptedException {
    var pacer = new Pacer(rate);
    while (!stop) {
      pacer.awaitOpenLoop();
      long number = verifier.send(key);
      sent++;
      // Not sendBlocking: a full buffer must not slow the sending down; it fails the record.
      answer(number, System.nanoTime(), producer.send(records.record(key, number)));
    }
  }

  private void answer(long number, long sentNanos, CompletableFuture<Receipt> answer) {
    answer.whenComplete(
        (receipt, failure) -> {
          if (failure == null) {
            acks.add(System.nanoTime(), sentNanos, receipt);
            verifier.acked(key, number, receipt.partition(), receipt.offset());
            outcomes.succeeded();
            return;
          }
          if (Outcomes.outcomeOf(failure) == Outcome.NOT_DONE) {
            verifier.refused(key, number);
          } else {
            verifier.unknown(key, number);
          }
          outcomes.failed(number, failure);
        });
  }

  /** Whether the last receipt is fresh. */
  public boolean isFlowing() {
    OptionalLong last = acks.lastNanos();
    return last.isPresent() && System.nanoTime() - last.getAsLong() < FLOWING_NANOS;
  }

  /**
   * Waits until receipts have come without a break for so long.
   *
   * @param sinceNanos of the fault, or of the start
   * @param stopped ends the wait early
   * @return false when the limit, counted from now, or a stop came first
   */
  public boolean awaitFlow(
      long sinceNanos, Duration unbroken, Duration limit, BooleanSupplier stopped)
      throws InterruptedException {
    long beganNanos = System.nanoTime();
    long flowingSince = 0;
    boolean flowing = false;
    while (!stopped.getAsBoolean()) {
      long now = System.nanoTime();
      if (!isFlowing() || now - sinceNanos < FAULT_SHOWS_NANOS) {
        flowing = false;
      } else if (!flowing) {
        flowing = true;
        flowingSince = now;
      }
      if (flowing && now - flowingSince >= unbroken.toNanos()) {
        return true;
      }
      if (now - beganNanos >= limit.toNanos()) {
        return false;
      }
      Thread.sleep(POLL_MILLIS);
    }
    return false;
  }

  /**
   * Ends the sending and waits until every record has its answer.
   *
   * @return false: some have none in time
   */
  public boolean stop(Duration limit) throws InterruptedException {
    stop = true;
    try {
      sending.get(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      throw new IllegalStateException("the sending failed: " + e.getCause(), e.getCause());
    } catch (TimeoutException e) {
      return false;
    }
    endNanos = System.nanoTime();
    producer.flush();
    return outcomes.awaitEnded(sent, CALLBACK_LIMIT);
  }

  /** The gaps in the receipts around a fault; after {@link #stop}. */
  public AckGaps gaps(long faultNanos, Duration warmUp) {
    return AckGaps.around(
        acks.all().stream().mapToLong(AckLog.Ack::ackNanos).toArray(),
        faultNanos,
        warmUp.toNanos(),
        endNanos);
  }

  public AckLog acks() {
    return acks;
  }

  public Outcomes outcomes() {
    return outcomes;
  }

  public long sent() {
    return sent;
  }

  @Override
  public void close() {
    stop = true;
    thread.shutdownNow();
  }
}
