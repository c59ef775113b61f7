package io.millrace.tools.bench.failover;

import io.millrace.client.MillraceClient;
import io.millrace.client.OffsetSpec;
import io.millrace.client.Reader;
import io.millrace.client.ReaderConfig;
import io.millrace.client.ReceivedRecord;
import io.millrace.client.TopicPartition;
import io.millrace.protocol.error.MillraceException;
import io.millrace.tools.Calls;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.Words;
import io.millrace.tools.load.LoadRecords;
import io.millrace.tools.load.LoadVerifier;
import java.time.Duration;
import java.util.List;

/** Reads what a run left in its partition and has each record judged. Threads: one. */
final class ReadBack {
  private static final int PREFETCH_RECORDS = 20_000;
  private static final long POLL_MILLIS = 200;

  private final MillraceClient client;
  private final TopicPartition partition;
  private final Duration limit;

  /**
   * @param limit for each request, and for the whole reading
   */
  ReadBack(MillraceClient client, TopicPartition partition, Duration limit) {
    this.client = client;
    this.partition = partition;
    this.limit = limit;
  }

  /** The committed end: the offset of the next record. */
  long end() throws InterruptedException {
    return Calls.await(client.admin().listOffsets(List.of(partition), OffsetSpec.latest()), limit)
        .get(partition)
        .offset();
  }

  /**
   * Reads from an offset up to the committed end, which is asked for first.
   *
   * @return how many records
   * @throws CommandFailure when the end is not reached in time
   */
  long judge(long from, LoadRecords records, LoadVerifier verifier) throws InterruptedException {
    long end = end();
    long next = from;
    long deadlineNanos = System.nanoTime() + limit.toNanos();
    try (Reader reader = client.reader(new ReaderConfig().withPrefetchRecords(PREFETCH_RECORDS))) {
      reader.assign(List.of(partition));
      reader.seek(partition, from);
      while (next < end) {
        if (System.nanoTime() - deadlineNanos >= 0) {
          throw new CommandFailure(
              "only the records up to offset "
                  + next
                  + " of "
                  + end
                  + " could be read back in "
                  + Words.millis(limit.toMillis())
                  + "; "
                  + reader.health().lines().findFirst().orElse("no further facts"));
        }
        List<ReceivedRecord> polled = List.of();
        try {
          polled = reader.poll(POLL_MILLIS);
        } catch (MillraceException e) {
          if (!e.retriable()) {
            // Nothing is deleted here, so what needs a decision of the reader is a loss.
            verifier.unreadable(e.getMessage());
            return next - from;
          }
        }
        for (ReceivedRecord record : polled) {
          records.judge(record, verifier);
          next = Math.max(next, record.offset() + 1);
        }
      }
    }
    verifier.readToEnd(partition.partition());
    return next - from;
  }
}
