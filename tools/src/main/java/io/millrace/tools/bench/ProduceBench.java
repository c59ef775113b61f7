package io.millrace.tools.bench;

import io.millrace.client.Producer;
import io.millrace.client.ProducerRecord;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.Progress;
import io.millrace.tools.Words;
import io.millrace.tools.records.Outcomes;
import io.millrace.tools.records.Pacer;
import java.time.Duration;

/**
 * Sends records and times their acknowledgements.
 *
 * <p>Without a rate the latency counts from the call of send; with one from when the record was
 * due, so that waiting behind a stall counts (no coordinated omission).
 */
final class ProduceBench {
  /** After a flush only callbacks are left to run. */
  private static final Duration CALLBACK_LIMIT = Duration.ofSeconds(10);

  private final Producer producer;
  private final String topic;
  private final long records;
  private final Values values;
  private final Pacer pacer;
  private final boolean paced;
  private final long maxBlockMillis;
  private final SteadyWindow window;
  private final Outcomes outcomes = new Outcomes();
  private volatile boolean stop;

  ProduceBench(
      Producer producer,
      String topic,
      long records,
      Values values,
      double rate,
      long maxBlockMillis,
      SteadyWindow window) {
    this.producer = producer;
    this.topic = topic;
    this.records = records;
    this.values = values;
    this.pacer = new Pacer(rate);
    this.paced = rate > 0;
    this.maxBlockMillis = maxBlockMillis;
    this.window = window;
  }

  void run(Progress progress) throws InterruptedException {
    long startNanos = System.nanoTime();
    long sent = 0;
    while (sent < records && !stop) {
      long due = pacer.awaitOpenLoop();
      send(sent++, paced ? due : System.nanoTime());
      if (progress.due()) {
        show(progress, startNanos);
      }
    }
    producer.flush();
    progress.clear();
    if (!outcomes.awaitEnded(sent, CALLBACK_LIMIT)) {
      throw new CommandFailure(
          Words.count(sent - outcomes.done() - outcomes.failed(), "record") + " got no answer");
    }
  }

  private void send(long number, long fromNanos) throws InterruptedException {
    byte[] value = values.get(number);
    // No key: the producer fills a batch of one partition, then goes to the next.
    producer
        .sendBlocking(ProducerRecord.of(topic, value), maxBlockMillis)
        .whenComplete(
            (receipt, failure) -> {
              if (failure == null) {
                long now = System.nanoTime();
                window.done(now, now - fromNanos, value.length);
                outcomes.succeeded();
              } else {
                window.failed();
                outcomes.failed(number, failure);
              }
            });
  }

  private void show(Progress progress, long startNanos) {
    double seconds = Math.max((System.nanoTime() - startNanos) / 1e9, 1e-3);
    long done = window.doneSoFar();
    progress.show(
        Words.count(done)
            + " of "
            + Words.count(records)
            + " acknowledged, "
            + Words.count(Math.round(done / seconds))
            + " records/s");
  }

  Outcomes outcomes() {
    return outcomes;
  }

  void stop() {
    stop = true;
  }
}
