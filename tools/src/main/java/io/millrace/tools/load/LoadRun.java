package io.millrace.tools.load;

import io.millrace.client.Producer;
import io.millrace.client.Reader;
import io.millrace.client.Receipt;
import io.millrace.client.ReceivedRecord;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import io.millrace.tools.records.Outcomes;
import io.millrace.tools.records.Pacer;
import java.time.Duration;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * The traffic of {@code millrace load}: one thread sends, one reads and has each record judged.
 * Failures of brokers are counted and outlasted.
 *
 * <p>Threads: {@link #send} and {@link #read} each on a thread of its own; the rest from any.
 * Answers come on the client's callback thread.
 */
final class LoadRun {
  private static final long POLL_MILLIS = 200;

  /** They end the reading and say nothing about what is stored. */
  private static final Set<ErrorCode> NOT_ABOUT_THE_LOG =
      EnumSet.of(ErrorCode.CLIENT_CLOSED, ErrorCode.INTERRUPTED);

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
  private final CountDownLatch interrupted = new CountDownLatch(1);
  private volatile long interruptedNanos;

  /** Where each key goes, learned from receipts. */
  private final AtomicIntegerArray partitionOfKey;

  /** Exclusive ends that the reader must reach; null until sending is over. */
  private volatile Map<Integer, Long> ends;

  LoadRun(LoadRecords records, LoadVerifier verifier, int keys, double rate) {
    this.records = records;
    this.verifier = verifier;
    this.keys = keys;
    this.rate = rate;
    this.partitionOfKey = new AtomicIntegerArray(keys);
    for (int i = 0; i < keys; i++) {
      partitionOfKey.set(i, AckTimes.NO_PARTITION);
    }
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
      ackTimes.sendingEnded();
      producer.flush();
      outcomes.awaitEnded(sent, CALLBACK_LIMIT);
    }
  }

  private void answer(int key, long number, long sentNanos, CompletableFuture<Receipt> receipt) {
    receipt.whenComplete(
        (stored, failure) -> {
          if (failure == null) {
            partitionOfKey.set(key, stored.partition());
            ackTimes.acked(stored.partition(), sentNanos);
            verifier.acked(key, number, stored.partition(), stored.offset());
            outcomes.succeeded();
          } else {
            ackTimes.missed(partitionOfKey.get(key));
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
        if (NOT_ABOUT_THE_LOG.contains(e.code())) {
          return;
        }
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

  /** Answers are still missing: the time without any counts up to now. */
  void stillWaited() {
    ackTimes.missed(AckTimes.NO_PARTITION);
  }

  boolean stopped() {
    return stopSending;
  }

  /** The user wants it to end now. */
  void interrupt() {
    if (interrupted.getCount() > 0) {
      interruptedNanos = System.nanoTime();
      interrupted.countDown();
    }
    stopSending();
  }

  boolean interrupted() {
    return interrupted.getCount() == 0;
  }

  /** Returns at once when interrupted. */
  boolean awaitInterrupt(long millis) throws InterruptedException {
    return interrupted.await(millis, TimeUnit.MILLISECONDS);
  }

  /** True when the interrupt is at least so long ago. */
  boolean interruptedFor(long millis) {
    return interrupted()
        && System.nanoTime() - interruptedNanos >= TimeUnit.MILLISECONDS.toNanos(millis);
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
