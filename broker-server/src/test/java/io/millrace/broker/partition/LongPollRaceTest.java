package io.millrace.broker.partition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.millrace.broker.log.SimulatedDisk;
import io.millrace.broker.partition.PartitionCounters.Counter;
import io.millrace.protocol.message.FetchRequest;
import io.netty.util.HashedWheelTimer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Fetches against commits, local writes, cancellation and close, with real threads. */
@Timeout(60)
class LongPollRaceTest {

  private static final int PARTITIONS = 2;
  private static final int READERS = 6;
  private static final int BATCHES = 3000;
  private static final int LONG_WAIT_MILLIS = 50_000;

  private final HashedWheelTimer timer = new HashedWheelTimer(1, TimeUnit.MILLISECONDS);
  private final ExecutorService readers = Executors.newFixedThreadPool(2);
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final PartitionCounters counters = new PartitionCounters();
  private final FetchBudget budget = FetchBudget.defaults();
  private final FetchCoordinator coordinator =
      new FetchCoordinator(
          new FetchCoordinator.Context(
              timer,
              readers,
              budget,
              FetchLimits.defaults(),
              counters,
              SliceInspector.EVERY_HEADER));
  private final SimulatedDisk disk = new SimulatedDisk(1);
  private final List<PartitionFixture> partitions = new ArrayList<>();

  private void open() {
    for (int i = 0; i < PARTITIONS; i++) {
      PartitionFixture partition = new PartitionFixture(disk, Path.of("/data"), i);
      partition.raft.lead(1);
      partitions.add(partition);
    }
  }

  @AfterEach
  void close() throws InterruptedException {
    coordinator.close();
    threads.shutdown();
    readers.shutdown();
    assertThat(threads.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    assertThat(readers.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    partitions.forEach(PartitionFixture::close);
    timer.stop();
    partitions.forEach(p -> assertThat(p.faults).isEmpty());
    assertThat(budget.waiting()).isZero();
    assertThat(budget.responseBytes()).isZero();
  }

  private FetchHandle fetch(long[] positions, Consumer<FetchAnswer> done) {
    FetchRequest.Builder request =
        FetchRequest.newBuilder()
            .setMinBytes(1)
            .setMaxWaitMillis(LONG_WAIT_MILLIS)
            .setPrefetchRecords(1_000_000);
    for (int i = 0; i < PARTITIONS; i++) {
      request.addPartitions(partitions.get(i).from(positions[i]));
    }
    return coordinator.fetch(
        request.build(), (topic, partition) -> partitions.get(partition).partition, done);
  }

  /** Fetches on from answer to answer until it has seen every record. */
  private final class LoopingReader {
    private final long[] positions = new long[PARTITIONS];
    private final CompletableFuture<Void> finished = new CompletableFuture<>();
    private volatile int answers;

    void fetchNext() {
      fetch(positions, this::take);
    }

    private void take(FetchAnswer answer) {
      try {
        assertThat(answer.header().getContext().hasError()).isFalse();
        var slices = answer.slices().iterator();
        for (int i = 0; i < PARTITIONS; i++) {
          assertThat(answer.header().getResults(i).hasError()).isFalse();
          if (answer.header().getResults(i).getSize() > 0) {
            var slice = slices.next();
            assertThat(slice.baseOffset()).isEqualTo(positions[i]);
            positions[i] = slice.nextOffset();
          }
        }
        answers++;
      } catch (Throwable e) {
        finished.completeExceptionally(e);
      } finally {
        answer.release();
      }
      if (positions[0] == BATCHES && positions[1] == BATCHES) {
        finished.complete(null);
      } else if (!finished.isDone()) {
        fetchNext();
      }
    }
  }

  private void write(PartitionFixture partition, int seed) {
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i < BATCHES; ) {
      int run = Math.min(BATCHES - i, 1 + random.nextInt(3));
      partition.raft.writeBeforeApply = random.nextInt(3) != 0;
      for (int n = 0; n < run; n++) {
        partition.produce(Batches.plain(1, 10));
      }
      partition.raft.commitAll();
      if (!partition.raft.writeBeforeApply) {
        LockSupport.parkNanos(random.nextInt(50_000));
        partition.raft.writeLog();
        if (random.nextBoolean()) {
          partition.partition.logWritten();
        }
      }
      i += run;
      // Long enough now and then for all readers to wait.
      LockSupport.parkNanos(random.nextInt(5) == 0 ? 400_000 : random.nextInt(30_000));
    }
    partition.raft.writeLog();
  }

  @Test
  void noReaderWaitsForTheTimeoutWhileThereIsSomethingToRead() throws Exception {
    open();
    List<LoopingReader> loops = new ArrayList<>();
    for (int i = 0; i < READERS; i++) {
      LoopingReader loop = new LoopingReader();
      loops.add(loop);
      loop.fetchNext();
    }
    List<Future<?>> writers = new ArrayList<>();
    for (int i = 0; i < PARTITIONS; i++) {
      int number = i;
      writers.add(threads.submit(() -> write(partitions.get(number), number)));
    }
    for (Future<?> writer : writers) {
      writer.get(30, TimeUnit.SECONDS);
    }
    for (LoopingReader loop : loops) {
      loop.finished.get(10, TimeUnit.SECONDS);
    }
    assertThat(counters.value(Counter.FETCHES_EXPIRED)).isZero();
    assertThat(counters.value(Counter.CONTROL_BATCHES_SERVED)).isZero();
    assertThat(counters.value(Counter.FETCHES_PARKED)).as("the race was run").isGreaterThan(100);
  }

  /** One commit and one fetch at once, and nothing behind them that could wake it. */
  @Test
  void aCommitDuringTheRegistrationIsNotMissed() throws Exception {
    open();
    PartitionFixture written = partitions.get(0);
    CyclicBarrier start = new CyclicBarrier(2);
    int rounds = 8000;
    SplittableRandom random = new SplittableRandom(7);
    CountDownLatch ended = new CountDownLatch(1);
    Future<?> writer = threads.submit(rounds(rounds, start, ended, round -> written.store(1)));
    for (int round = 0; round < rounds; round++) {
      CompletableFuture<FetchAnswer> answer = new CompletableFuture<>();
      start.await(10, TimeUnit.SECONDS);
      // Registration takes a microsecond, a commit many: sweep over them.
      spin(random.nextInt(150_000));
      fetch(new long[] {round, 0}, answer::complete);
      FetchAnswer got = answer.get(5, TimeUnit.SECONDS);
      assertThat(got.slices()).hasSize(1);
      got.release();
    }
    writer.get(10, TimeUnit.SECONDS);
    assertThat(counters.value(Counter.FETCHES_PARKED)).isPositive();
    assertThat(written.partition.status().waitingFetches()).isZero();
    assertThat(partitions.get(1).partition.status().waitingFetches()).isZero();
  }

  private static void spin(long nanos) {
    for (long end = System.nanoTime() + nanos; System.nanoTime() < end; ) {
      Thread.onSpinWait();
    }
  }

  @Test
  void aFetchEndsOnceWhoeverIsFirst() throws Exception {
    open();
    int rounds = 1500;
    CyclicBarrier start = new CyclicBarrier(3);
    AtomicReference<FetchHandle> current = new AtomicReference<>();
    AtomicInteger answers = new AtomicInteger();
    CountDownLatch ended = new CountDownLatch(3);
    PartitionFixture written = partitions.get(0);
    threads.submit(rounds(rounds, start, ended, round -> written.store(1)));
    threads.submit(
        rounds(
            rounds,
            start,
            ended,
            round -> {
              FetchHandle handle = current.get();
              if (handle != null && round % 2 == 0) {
                handle.cancel();
              }
            }));
    threads.submit(
        rounds(
            rounds,
            start,
            ended,
            round -> {
              AtomicInteger once = new AtomicInteger();
              current.set(
                  fetch(
                      new long[] {written.partition.committedEnd(), 0},
                      answer -> {
                        answer.release();
                        answers.incrementAndGet();
                        if (once.incrementAndGet() > 1) {
                          answers.addAndGet(1_000_000);
                        }
                      }));
            }));
    assertThat(ended.await(30, TimeUnit.SECONDS)).isTrue();
    written.store(1);
    await()
        .atMost(Duration.ofSeconds(10))
        .untilAsserted(() -> assertThat(budget.waiting()).isZero());
    assertThat(answers.get()).isBetween(1, rounds);
    assertThat(answers.get() + counters.value(Counter.FETCHES_CANCELLED)).isEqualTo(rounds);
    assertThat(written.partition.status().waitingFetches()).isZero();
    assertThat(timer.pendingTimeouts()).isLessThan(rounds);
  }

  private interface Round {
    void run(int round);
  }

  private static Runnable rounds(int count, CyclicBarrier start, CountDownLatch ended, Round body) {
    return () -> {
      try {
        for (int round = 0; round < count; round++) {
          start.await(10, TimeUnit.SECONDS);
          body.run(round);
        }
        ended.countDown();
      } catch (Exception e) {
        throw new IllegalStateException("round failed", e);
      }
    };
  }
}
