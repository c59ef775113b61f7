package io.millrace.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.client.MillraceClient;
import io.millrace.client.OffsetSpec;
import io.millrace.client.Producer;
import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.Reader;
import io.millrace.client.ReaderConfig;
import io.millrace.client.ReceivedRecord;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Sends numbered records to one partition with the default producer, some hundred per second, while
 * a test hurts the cluster; knows what was acknowledged and when.
 *
 * <p>Threads: one of its own sends; the rest from any.
 */
final class SteadyLoad implements AutoCloseable {

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(4);
  private static final long END_MILLIS = 130_000;

  private final String topic;
  private final Producer producer;
  private final Thread sender;
  private final AtomicInteger sent = new AtomicInteger();
  private final AtomicInteger decided = new AtomicInteger();
  private final Map<Integer, Long> offsets = new ConcurrentHashMap<>();
  private final Map<Integer, Outcome> failures = new ConcurrentHashMap<>();
  private volatile long longestGapNanos;
  private volatile long lastAckNanos = System.nanoTime();
  private volatile int lastAcked = -1;
  private volatile boolean stopping;

  SteadyLoad(MillraceClient client, String topic) {
    this.topic = topic;
    this.producer = client.producer(new ProducerConfig());
    this.sender = new Thread(this::send, "steady-load");
    sender.start();
  }

  private void send() {
    while (!stopping) {
      int number = sent.getAndIncrement();
      producer
          .send(ProducerRecord.of(topic, null, value(number)))
          .whenComplete(
              (receipt, failure) -> {
                if (failure == null) {
                  acked(number, receipt.offset());
                } else {
                  failures.put(
                      number,
                      failure instanceof MillraceException known
                          ? known.outcome()
                          : Outcome.UNKNOWN);
                }
                decided.incrementAndGet();
              });
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }

  /** The client's callback thread alone. */
  private void acked(int number, long offset) {
    offsets.put(number, offset);
    long now = System.nanoTime();
    longestGapNanos = Math.max(longestGapNanos, now - lastAckNanos);
    lastAckNanos = now;
    lastAcked = Math.max(lastAcked, number);
  }

  private static byte[] value(int number) {
    return ("#" + number).getBytes(StandardCharsets.UTF_8);
  }

  /** Number of the next record. */
  int next() {
    return sent.get();
  }

  /** True if a record with this number or a later one was acknowledged. */
  boolean hasAcked(int number) {
    return lastAcked >= number;
  }

  /** Longest time without an acknowledgement since the last call, which may still go on. */
  long takeLongestGapMillis() {
    long gap = Math.max(longestGapNanos, System.nanoTime() - lastAckNanos);
    longestGapNanos = 0;
    return TimeUnit.NANOSECONDS.toMillis(gap);
  }

  /** Ends sending and waits until every record is decided. */
  void stop(EmbeddedCluster cluster) throws InterruptedException {
    stopping = true;
    sender.join();
    cluster.await("a decision on every record", END_MILLIS, () -> decided.get() == sent.get());
  }

  Map<Integer, Outcome> failures() {
    return failures;
  }

  int acked() {
    return offsets.size();
  }

  /** Reads everything: acknowledged records are there once at their offset, in order. */
  void verify(MillraceClient client) {
    List<Integer> log = new ArrayList<>();
    try (Reader reader = client.reader(new ReaderConfig().withStart(OffsetSpec.earliest()))) {
      reader.assignAll(topic);
      long end = reader.endOffsets().values().iterator().next();
      long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(END_MILLIS);
      while (log.size() < end) {
        assertThat(System.nanoTime()).as("reading to the end in time").isLessThan(deadline);
        for (ReceivedRecord record : reader.poll(1000)) {
          assertThat(record.offset()).as("offsets are dense").isEqualTo(log.size());
          String text = new String(record.value(), StandardCharsets.UTF_8);
          log.add(Integer.parseInt(text.substring(1)));
        }
      }
    }
    List<Integer> ours = log.stream().filter(number -> number >= 0).toList();
    assertThat(ours).as("in the order of sending, each once").isSorted().doesNotHaveDuplicates();
    offsets.forEach(
        (number, offset) ->
            assertThat(offset < log.size() ? log.get(offset.intValue()) : null)
                .as("acknowledged record %d at offset %d", number, offset)
                .isEqualTo(number));
    failures.forEach(
        (number, outcome) -> {
          if (outcome == Outcome.NOT_DONE) {
            assertThat(ours).as("not done: %d", number).doesNotContain(number);
          }
        });
  }

  @Override
  public void close() {
    stopping = true;
    LockSupport.unpark(sender);
    producer.close();
  }
}
