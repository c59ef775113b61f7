package io.millrace.tools.records;

import io.millrace.client.Producer;
import io.millrace.client.ProducerRecord;
import io.millrace.protocol.batch.RecordHeader;
import io.millrace.tools.Progress;
import io.millrace.tools.Waits;
import io.millrace.tools.Words;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Sends the lines of a stream in their order and counts how each ended.
 *
 * <p>Memory is bounded by the producer's buffer: a full one makes the reading wait. The first
 * failure stops the reading, because a later line of the same key must not overtake one that
 * failed; lines under way are still awaited.
 *
 * <p>Threads: {@link #run} on one thread; {@link #stop} and the getters from any.
 */
public final class ProduceRun {
  /** What the lines become. */
  public record Target(String topic, Integer partition, List<RecordHeader> headers) {}

  /** After a flush only callbacks are left to run. */
  private static final Duration CALLBACK_LIMIT = Duration.ofSeconds(10);

  /** So long without an acknowledgement before it is said that there is none. */
  private static final Duration QUIET = Duration.ofSeconds(3);

  private static final Duration FLUSH_POLL = Duration.ofMillis(100);

  private final Producer producer;
  private final Target target;
  private final KeyedLine.Parser parser;
  private final Pacer pacer;
  private final long maxBlockMillis;
  private final Duration quiet;
  private final Outcomes outcomes = new Outcomes();
  private final AtomicBoolean stop = new AtomicBoolean();
  private volatile long sent;
  private volatile long bytes;
  private final long startNanos = System.nanoTime();

  public ProduceRun(
      Producer producer,
      Target target,
      KeyedLine.Parser parser,
      double recordsPerSecond,
      long maxBlockMillis) {
    this(producer, target, parser, recordsPerSecond, maxBlockMillis, QUIET);
  }

  ProduceRun(
      Producer producer,
      Target target,
      KeyedLine.Parser parser,
      double recordsPerSecond,
      long maxBlockMillis,
      Duration quiet) {
    this.quiet = quiet;
    this.producer = producer;
    this.target = target;
    this.parser = parser;
    this.pacer = new Pacer(recordsPerSecond);
    this.maxBlockMillis = maxBlockMillis;
  }

  /**
   * Returns when every line that was sent is decided.
   *
   * @throws RuntimeException of a line that can not be sent; lines before it are decided then
   */
  public void run(LineReader lines, Progress progress) throws IOException, InterruptedException {
    try {
      byte[] line = lines.next();
      while (line != null && !stop.get()) {
        send(parser.parse(line, lines.lineNumber()), lines.lineNumber());
        if (progress.due()) {
          progress.show(progressLine());
        }
        line = lines.next();
      }
    } finally {
      flush(progress);
      outcomes.awaitEnded(sent, CALLBACK_LIMIT);
      progress.clear();
    }
  }

  /** With a word now and then: a cluster without a majority must not look like a hang. */
  private void flush(Progress progress) throws InterruptedException {
    CompletableFuture<Void> flushed = CompletableFuture.runAsync(producer::flush);
    long done = outcomes.done();
    long sinceNanos = System.nanoTime();
    while (!Waits.until(FLUSH_POLL, flushed::isDone)) {
      if (outcomes.done() != done) {
        done = outcomes.done();
        sinceNanos = System.nanoTime();
      }
      long silentNanos = System.nanoTime() - sinceNanos;
      if (silentNanos >= quiet.toNanos() && progress.due()) {
        progress.show(
            "waiting: nothing acknowledged for "
                + Words.millis(silentNanos / 1_000_000)
                + ", "
                + Words.count(sent - done - outcomes.failed(), "record")
                + " under way; see: millrace cluster status");
      }
    }
    flushed.join();
  }

  private void send(KeyedLine line, long lineNumber) throws InterruptedException {
    pacer.await();
    var record =
        new ProducerRecord(
            target.topic(), target.partition(), line.key(), line.value(), target.headers(), null);
    var receipt = producer.sendBlocking(record, maxBlockMillis);
    sent++;
    bytes += line.value().length + (line.key() == null ? 0 : line.key().length);
    receipt.whenComplete(
        (stored, failure) -> {
          if (failure == null) {
            outcomes.succeeded();
          } else {
            stop.set(true);
            outcomes.failed(lineNumber, failure);
          }
        });
  }

  /** Ends the reading after the line in hand. */
  public void stop() {
    stop.set(true);
  }

  public Outcomes outcomes() {
    return outcomes;
  }

  public long sent() {
    return sent;
  }

  public long bytes() {
    return bytes;
  }

  public double seconds() {
    return (System.nanoTime() - startNanos) / 1e9;
  }

  private String progressLine() {
    double seconds = Math.max(seconds(), 1e-3);
    return String.format(
        Locale.ROOT,
        "sent %s, done %s, %s records/s, %s/s",
        Words.count(sent),
        Words.count(outcomes.done()),
        Words.count(Math.round(outcomes.done() / seconds)),
        Words.bytes(bytes / seconds));
  }
}
