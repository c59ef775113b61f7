package io.millrace.tools.load;

import io.millrace.client.Admin.OffsetAndTime;
import io.millrace.client.Producer;
import io.millrace.client.TopicPartition;
import io.millrace.protocol.error.MillraceException;
import io.millrace.tools.Words;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * The end of a load: what is under way is decided, then the rest is read. Both take their time, but
 * after an interrupt no more than {@link #DECIDE_MILLIS} and {@link #DRAIN_MILLIS} from it.
 *
 * <p>Threads: one.
 */
final class LoadEnding {
  static final long DECIDE_MILLIS = 700;
  static final long DRAIN_MILLIS = 1_500;

  private static final long STEP_MILLIS = 50;
  private static final long LIVE_MILLIS = 1_000;
  private static final Duration CALLBACK_LIMIT = Duration.ofMillis(500);

  private final LoadRun run;
  private final LoadReport report;
  private long liveNanos = System.nanoTime();

  LoadEnding(LoadRun run, LoadReport report) {
    this.run = run;
    this.report = report;
  }

  /** Waits until every record has its answer; what has none by then is given up. */
  void decide(Future<?> sending, Producer producer, Duration limit) throws InterruptedException {
    report.phase("waiting for deliveries,");
    if (await(sending, System.nanoTime() + limit.toNanos(), DECIDE_MILLIS)) {
      return;
    }
    if (!run.interrupted()) {
      report.trouble("the sending did not end in " + Words.millis(limit.toMillis()));
    }
    run.stillWaited();
    producer.close(0);
    await(sending, System.nanoTime() + CALLBACK_LIMIT.toNanos(), Long.MAX_VALUE);
  }

  /**
   * Waits until the reader has reached the ends that the partitions have now.
   *
   * @param ends asks for them; may fail while brokers are away
   */
  void drain(
      Future<?> reading,
      Supplier<CompletableFuture<Map<TopicPartition, OffsetAndTime>>> ends,
      Duration limit)
      throws InterruptedException {
    report.phase("reading the rest,");
    long deadline = System.nanoTime() + limit.toNanos();
    while (System.nanoTime() - deadline < 0 && !run.interruptedFor(DRAIN_MILLIS)) {
      CompletableFuture<Map<TopicPartition, OffsetAndTime>> asked = ends.get();
      try {
        if (await(asked, deadline, DRAIN_MILLIS)) {
          var byNumber = new HashMap<Integer, Long>();
          asked.join().forEach((tp, end) -> byNumber.put(tp.partition(), end.offset()));
          run.readUpTo(byNumber);
          break;
        }
      } catch (MillraceException e) {
        report.trouble("the ends of the partitions are not known yet: " + e.getMessage());
        pause(deadline);
      }
    }
    if (!await(reading, deadline, DRAIN_MILLIS) && !run.interrupted()) {
      // What was not read shows as such in the report, which then is not good.
      report.trouble("the reading did not end in " + Words.millis(limit.toMillis()));
    }
  }

  private void pause(long deadlineNanos) throws InterruptedException {
    long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LIVE_MILLIS);
    long end = until - deadlineNanos < 0 ? until : deadlineNanos;
    await(new CompletableFuture<>(), end, DRAIN_MILLIS);
  }

  /**
   * False when it has not ended by the deadline, or so long after an interrupt.
   *
   * @throws MillraceException of the task
   */
  private boolean await(Future<?> task, long deadlineNanos, long interruptMillis)
      throws InterruptedException {
    while (true) {
      try {
        task.get(STEP_MILLIS, TimeUnit.MILLISECONDS);
        return true;
      } catch (TimeoutException e) {
        if (System.nanoTime() - deadlineNanos >= 0 || run.interruptedFor(interruptMillis)) {
          return false;
        }
        if (System.nanoTime() - liveNanos >= TimeUnit.MILLISECONDS.toNanos(LIVE_MILLIS)) {
          liveNanos = System.nanoTime();
          report.live();
        }
      } catch (ExecutionException e) {
        if (e.getCause() instanceof MillraceException typed) {
          throw typed;
        }
        throw new IllegalStateException("load failed: " + e.getCause(), e.getCause());
      }
    }
  }
}
