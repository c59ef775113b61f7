package io.millrace.tools.load;

import io.millrace.client.Producer;
import io.millrace.client.Reader;
import io.millrace.client.Receipt;
import io.millrace.client.ReceivedRecord;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import io.millrace.tools.records.Outcomes;
import io.millrace.tools.records.Pacer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * The traffic of {@code millrace load}: one thread sends, one reads and has each record judged.
 * Failures of brokers are counted and outlasted.
 *
 * <p>Threads: {@link #send} and {@link #read} each on a thread of its own; the rest from any.
 * Answers come on the client's callback thread.
 */
final class LoadRun {
  private static final long POLL_MILLIS = 200;

  /** After a flush only callbacks are left to run. */
  private static final Duration CALLBACK_LIMIT = Duration.ofSeconds(10);

  private final LoadRecords records;
  private final LoadVerifier verifier;
  private final AckTimes ackTimes = new AckTimes(System::nanoTime);
  private final Outcomes outcomes = new Outcomes();
  private final int keys;
  private final double rate;
  private volatile boolean stopSending;
  private volatile boolean stopReading;
  private volatile String readerTrouble = "";

  /** Exclusive ends that the reader must reach; null until sending is over. */
  private volatile Map<Integer, Long> ends;

  LoadRun(LoadRecords records, LoadVerifier verifier, int keys, double rate) {
    this.records = records;
    this.verifier = verifier;
    this.keys = keys;
    this.rate = rate;
  }

  /** Sends until {@link #stopSending}; returns when every record has its answer. */
  void send(Producer producer, long maxBlockMillis) throws InterruptedException {
    var pacer = new Pacer(rate);
    int key = 0;
    long sent = 0;
    try {
      while (!stopSending) {
        pacer.await();
        long number = verifier.send(key);
        answer(
            key,
            number,
            System.nanoTime(),
            producer.sendBlocking(records.record(key, number), maxBlockMillis));
        key = (key + 1) % keys;
        sent++;
      }
    } finally {
      ackTimes.stop();
      producer.flush();
      outcomes.awaitEnded(sent, CALLBACK_LIMIT);
    }
  }

  private void answer(int key, long number, long sentNanos, CompletableFuture<Receipt> receipt) {
    receipt.whenComplete(
        (stored, failure) -> {
          if (failure == null) {
            ackTimes.acked(stored.partition(), sentNanos);
            verifier.acked(key, number, stored.partition(), stored.offset());
            outcomes.succeeded();
          } else {
            if (Outcomes.outcomeOf(failure) == Outcome.NOT_DONE) {
              verifier.refused(key, number);
            } else {
              verifier.unknown(key, number);
            }
            outcomes.failed(number, failure);
          }
        });
  }

  /** Reads until the ends are reached, or {@link #stopReading}. */
  void read(Reader reader, Map<Integer, Long> starts) {
    var next = new HashMap<>(starts);
    while (!stopReading && !finished(next)) {
      List<ReceivedRecord> polled;
      try {
        polled = reader.poll(POLL_MILLIS);
        readerTrouble = "";
      } catch (MillraceException e) {
        readerTrouble = e.getMessage();
        if (!e.retriable()) {
          // Retention is off and offsets are never cut: whatever needs a decision here is a loss.
          verifier.unreadable(e.getMessage());
          return;
        }
        continue;
      }
      for (ReceivedRecord record : polled) {
        records.judge(record, verifier);
        next.merge(record.partition(), record.offset() + 1, Math::max);
      }
    }
  }

  private boolean finished(Map<Integer, Long> next) {
    Map<Integer, Long> wanted = ends;
    if (wanted == null) {
      return false;
    }
    boolean all = true;
    for (Map.Entry<Integer, Long> end : wanted.entrySet()) {
      if (next.getOrDefault(end.getKey(), 0L) >= end.getValue()) {
        verifier.readToEnd(end.getKey());
      } else {
        all = false;
      }
    }
    return all;
  }

  void stopSending() {
    stopSending = true;
  }

  boolean stopped() {
    return stopSending;
  }

  void stopReading() {
    stopReading = true;
  }

  /** The committed ends after the last answer. */
  void readUpTo(Map<Integer, Long> ends) {
    this.ends = Map.copyOf(ends);
  }

  AckTimes ackTimes() {
    return ackTimes;
  }

  Outcomes outcomes() {
    return outcomes;
  }

  /** Why the reader gets nothing at the moment; empty: it does. */
  String readerTrouble() {
    return readerTrouble;
  }
}
