package io.millrace.tools.bench.partitions;

import io.millrace.client.Producer;
import io.millrace.client.ProducerRecord;
import io.millrace.client.Receipt;
import io.millrace.client.TopicDescription;
import io.millrace.tools.Waits;
import io.millrace.tools.records.Outcomes;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/** One record to each partition, and the time until the last of them is acknowledged. */
final class AckEach {
  private static final byte[] VALUE = new byte[100];

  /**
   * @param nanos from the call to the last acknowledgement
   * @param undecided records without an answer when the time was over
   */
  record Result(
      int partitions, long acked, long undecided, long nanos, List<Outcomes.Failure> failures) {
    boolean all() {
      return acked == partitions;
    }
  }

  private AckEach() {}

  static Result send(Producer producer, List<TopicDescription> topics, Duration limit)
      throws InterruptedException {
    var outcomes = new Outcomes();
    long startNanos = System.nanoTime();
    var lastNanos = new AtomicLong(startNanos);
    int sent = 0;
    for (TopicDescription topic : topics) {
      for (TopicDescription.Partition partition : topic.partitions()) {
        send(
            producer,
            ProducerRecord.of(topic.name(), VALUE).toPartition(partition.partition()),
            sent++,
            outcomes,
            lastNanos);
      }
    }
    int all = sent;
    Waits.until(limit, () -> outcomes.done() + outcomes.failed() >= all);
    return new Result(
        all,
        outcomes.done(),
        all - outcomes.done() - outcomes.failed(),
        lastNanos.get() - startNanos,
        outcomes.failures());
  }

  private static void send(
      Producer producer,
      ProducerRecord record,
      int number,
      Outcomes outcomes,
      AtomicLong lastNanos) {
    CompletableFuture<Receipt> answer = producer.send(record);
    answer.whenComplete(
        (receipt, failure) -> {
          if (failure == null) {
            lastNanos.set(System.nanoTime());
            outcomes.succeeded();
          } else {
            outcomes.failed(number, failure);
          }
        });
  }
}
