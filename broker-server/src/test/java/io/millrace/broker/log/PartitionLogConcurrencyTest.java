package io.millrace.broker.log;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.Crc32c;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * One writer that appends, rolls and truncates, readers of every kind, and a timer that syncs, on
 * the real disk. A reader gets an entry as it was written, or nothing.
 */
@Timeout(60)
class PartitionLogConcurrencyTest {

  private static final long RUN_MILLIS = 3000;

  @TempDir Path directory;

  private final AtomicBoolean stop = new AtomicBoolean();

  /** Entries up to here are never truncated: committed. */
  private final AtomicLong committed = new AtomicLong();

  private final AtomicLong committedOffset = new AtomicLong();
  private PartitionLog log;

  /** A batch that says in its body which entry it is. */
  private static ByteBuffer batch(long index, long term, boolean control, int size) {
    ByteBuffer batch =
        control ? TestBatches.control(size, index) : TestBatches.records(2, 61 + size, index, 0);
    int at = batch.limit() - 20;
    batch.putLong(at, index).putLong(at + 8, term);
    int from = BatchHeader.ATTRIBUTES_OFFSET;
    return batch.putInt(BatchHeader.CRC_OFFSET, Crc32c.of(batch, from, batch.limit() - from));
  }

  private static void check(ByteBuffer batch, long index) {
    int at = batch.limit() - 20;
    assertThat(BatchHeader.isIntact(batch, 0)).isTrue();
    assertThat(batch.getLong(at)).as("index in the body").isEqualTo(index);
    assertThat(batch.getLong(at + 8))
        .as("term in the body of %d", index)
        .isEqualTo(BatchHeader.partitionLeaderEpoch(batch, 0));
  }

  private interface Work {
    void run(Random random) throws IOException;
  }

  private Future<?> loop(ExecutorService pool, int seed, Work work) {
    return pool.submit(
        () -> {
          Random random = new Random(seed);
          while (!stop.get()) {
            work.run(random);
          }
          return null;
        });
  }

  @Test
  void readersSeeWholeEntriesOrNothing() throws Exception {
    log =
        PartitionLog.open(
            new DirectDisk(),
            directory,
            LogScript.IDENTITY,
            new LogConfig(FsyncPolicy.INTERVAL, 10, 64 * 1024),
            RecoveryHint.NONE,
            LogListener.NONE);
    ExecutorService pool = Executors.newCachedThreadPool();
    try {
      List<Future<?>> all = new ArrayList<>();
      long[] term = {1};
      all.add(loop(pool, 1, random -> write(random, term)));
      for (int i = 0; i < 2; i++) {
        all.add(loop(pool, 10 + i, this::readEntry));
      }
      all.add(loop(pool, 20, this::readSlice));
      all.add(loop(pool, 21, this::readControls));
      all.add(loop(pool, 30, random -> log.sync()));
      try {
        // Ends early only if the writer fails.
        all.get(0).get(RUN_MILLIS, TimeUnit.MILLISECONDS);
      } catch (TimeoutException e) {
        stop.set(true);
      }
      for (Future<?> each : all) {
        each.get(20, TimeUnit.SECONDS);
      }
      assertThat(log.segmentCount()).isGreaterThan(3);
      assertThat(log.failed()).isFalse();
      assertThat(log.openFiles()).isLessThanOrEqualTo(20);
    } finally {
      stop.set(true);
      pool.shutdownNow();
      assertThat(pool.awaitTermination(20, TimeUnit.SECONDS)).isTrue();
    }
    long last = log.lastIndex();
    log.close();
    try (PartitionLog again =
        PartitionLog.open(
            new DirectDisk(),
            directory,
            LogScript.IDENTITY,
            new LogConfig(FsyncPolicy.INTERVAL, 10, 64 * 1024),
            RecoveryHint.NONE,
            LogListener.NONE)) {
      assertThat(again.lastIndex()).isEqualTo(last);
      for (long index = 1; index <= last; index += 7) {
        check(again.read(index), index);
      }
    }
  }

  private void write(Random random, long[] term) throws IOException {
    if (random.nextInt(10) == 0 && log.lastIndex() > committed.get()) {
      int uncommitted = (int) (log.lastIndex() - committed.get());
      log.truncateSuffix(log.lastIndex() - random.nextInt(uncommitted + 1));
      term[0]++;
    }
    List<LogEntry> entries = new ArrayList<>();
    for (int i = random.nextInt(40); i >= 0; i--) {
      long index = log.lastIndex() + 1 + entries.size();
      boolean control = random.nextInt(3) == 0;
      int size = 30 + random.nextInt(random.nextInt(20) == 0 ? 20_000 : 300);
      entries.add(new LogEntry(index, term[0], batch(index, term[0], control, size)));
    }
    log.append(entries);
    if (random.nextInt(3) == 0) {
      long index = log.lastIndex() - random.nextInt(60);
      if (index > committed.get()) {
        committedOffset.set(log.endOffsetAt(index));
        committed.set(index);
      }
    }
  }

  private void readEntry(Random random) throws IOException {
    long last = log.lastIndex();
    if (last == 0) {
      return;
    }
    boolean nearTheEnd = random.nextBoolean();
    long index = nearTheEnd ? Math.max(1, last - random.nextInt(50)) : 1 + random.nextLong(last);
    boolean mustBeThere = index <= committed.get();
    for (int i = 0; i < 5; i++) {
      ByteBuffer batch = log.read(index + i);
      if (batch != null) {
        check(batch, index + i);
      } else {
        assertThat(mustBeThere && i == 0).as("committed entry %d is gone", index).isFalse();
      }
    }
    log.endOffsetAt(index);
    log.termAt(index);
  }

  private void readSlice(Random random) throws IOException {
    long end = committedOffset.get();
    if (end == 0) {
      return;
    }
    long offset = random.nextLong(end);
    FetchSlice slice = log.slice(offset, end, 1 + random.nextInt(200_000));
    try {
      assertThat(slice.isEmpty()).as("slice from %d to %d", offset, end).isFalse();
      ByteBuffer bytes = TestBatches.bytesOf(slice);
      long next = slice.baseOffset();
      assertThat(next).isLessThanOrEqualTo(offset);
      for (int at = 0; at < bytes.limit(); ) {
        assertThat(BatchHeader.isIntact(bytes, at)).isTrue();
        assertThat(BatchHeader.isControl(bytes, at)).isFalse();
        assertThat(BatchHeader.baseOffset(bytes, at)).isEqualTo(next);
        next = BatchHeader.nextOffset(bytes, at);
        at += (int) BatchHeader.sizeInBytes(bytes, at);
      }
      assertThat(slice.nextOffset()).isEqualTo(next).isGreaterThan(offset);
    } finally {
      slice.release();
    }
  }

  private void readControls(Random random) throws IOException {
    long from = Math.max(1, log.lastIndex() - random.nextInt(200));
    long[] previous = {from - 1};
    log.forEachControl(
        from,
        (index, term, batch) -> {
          assertThat(index).isGreaterThan(previous[0]);
          previous[0] = index;
          assertThat(BatchHeader.isControl(batch, 0)).isTrue();
          check(batch, index);
        });
    log.offsetForTimestamp(random.nextLong(log.lastIndex() + 1), 0, committedOffset.get());
  }
}
