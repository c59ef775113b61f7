package io.millrace.client.reader;

import io.millrace.client.Admin.OffsetAndTime;
import io.millrace.client.Checks;
import io.millrace.client.OffsetSpec;
import io.millrace.client.Reader;
import io.millrace.client.ReaderConfig;
import io.millrace.client.ReceivedRecord;
import io.millrace.client.TopicPartition;
import io.millrace.client.error.ClientClosedException;
import io.millrace.client.error.InvalidArgumentException;
import io.millrace.client.error.UnreadableBatchException;
import io.millrace.client.internal.ClientContext;
import io.millrace.client.internal.Ticks;
import io.millrace.client.metadata.MetadataCache;
import io.millrace.client.metadata.OffsetLookup;
import io.millrace.client.metadata.TopicView;
import io.millrace.protocol.batch.BatchReader;
import io.millrace.protocol.batch.InvalidBatchException;
import io.millrace.protocol.batch.RecordView;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The application's side of a reader: decodes what {@link ReaderFetches} brings and hands it over.
 *
 * <p>Threads: see {@link Reader}. Decoding happens in poll, outside the lock.
 */
public final class ReaderImpl implements Reader {

  private static final Logger LOG = LoggerFactory.getLogger(ReaderImpl.class);

  /** An unreadable batch is fetched so often before it is reported. */
  private static final int BAD_BATCH_TRIES = 3;

  private final ClientContext context;
  private final ReaderConfig config;
  private final MetadataCache metadata;
  private final ReaderFetches fetches;
  private final OffsetLookup offsets;
  private final Consumer<ReaderImpl> onClose;
  private final AtomicBoolean woken = new AtomicBoolean();
  private int turn;

  public ReaderImpl(ClientContext context, ReaderConfig config, Consumer<ReaderImpl> onClose) {
    this.context = context;
    this.config = config;
    this.metadata = context.metadata();
    this.fetches = new ReaderFetches(context, config);
    this.offsets = new OffsetLookup(context.config(), context.connections(), metadata);
    this.onClose = onClose;
  }

  // ------------------------------------------------------------------------------ assignment

  @Override
  public void assign(Collection<TopicPartition> partitions) {
    Set<TopicPartition> wanted = new LinkedHashSet<>(Checks.notNull("partitions", partitions));
    locked(
        () -> {
          fetches.cursors.keySet().retainAll(wanted);
          for (TopicPartition tp : wanted) {
            if (!fetches.cursors.containsKey(tp)) {
              Cursor cursor = new Cursor(Checks.notNull("partition", tp));
              cursor.moveTo(config.start());
              fetches.cursors.put(tp, cursor);
            }
          }
        });
    wanted.forEach(tp -> metadata.want(tp.topic()));
  }

  @Override
  public List<TopicPartition> assignAll(String topic) {
    Checks.topicName(topic);
    checkOpen();
    TopicView view;
    try {
      view = metadata.awaitTopic(topic, context.config().requestTimeoutMillis());
    } catch (InterruptedException e) {
      throw interrupted("waiting for topic '" + topic + "'");
    }
    List<TopicPartition> all = new ArrayList<>();
    for (int p = 0; p < view.partitions(); p++) {
      all.add(new TopicPartition(topic, p));
    }
    assign(all);
    return all;
  }

  @Override
  public List<TopicPartition> assignment() {
    return fetches.all().stream().map(c -> c.partition).toList();
  }

  // ------------------------------------------------------------------------------ positions

  @Override
  public void seek(TopicPartition partition, long offset) {
    Checks.atLeast("offset", offset, 0);
    locked(() -> assigned(partition).moveTo(offset));
    metadata.want(partition.topic());
  }

  @Override
  public void seekToEarliest(Collection<TopicPartition> partitions) {
    seek(partitions, OffsetSpec.earliest());
  }

  @Override
  public void seekToLatest(Collection<TopicPartition> partitions) {
    seek(partitions, OffsetSpec.latest());
  }

  @Override
  public void seekToTime(Collection<TopicPartition> partitions, long timestampMillis) {
    seek(partitions, OffsetSpec.atTime(timestampMillis));
  }

  private void seek(Collection<TopicPartition> partitions, OffsetSpec spec) {
    locked(
        () -> {
          Collection<TopicPartition> wanted =
              Checks.notNull("partitions", partitions).isEmpty()
                  ? fetches.cursors.keySet()
                  : partitions;
          wanted.forEach(tp -> assigned(tp).moveTo(spec));
        });
    fetches.pump();
  }

  private Cursor assigned(TopicPartition partition) {
    Cursor cursor = fetches.cursors.get(partition);
    if (cursor == null) {
      throw new InvalidArgumentException(
          partition + " is not assigned to this reader; assigned are " + fetches.cursors.keySet());
    }
    return cursor;
  }

  @Override
  public long position(TopicPartition partition) {
    fetches.pump();
    long deadline =
        Ticks.now() + TimeUnit.MILLISECONDS.toNanos(context.config().requestTimeoutMillis());
    fetches.lock.lock();
    try {
      while (true) {
        checkOpen();
        Cursor cursor = assigned(partition);
        if (cursor.hasPosition()) {
          return cursor.handed;
        }
        if (cursor.failure != null) {
          throw cursor.failure;
        }
        long left = deadline - Ticks.now();
        if (left <= 0) {
          throw new MillraceException(
              ErrorCode.NOT_READY,
              "the position of "
                  + partition
                  + " is not known after "
                  + context.config().requestTimeoutMillis()
                  + " ms: "
                  + cursor.trouble);
        }
        fetches.changed.awaitNanos(left);
      }
    } catch (InterruptedException e) {
      throw interrupted("waiting for the position of " + partition);
    } finally {
      fetches.lock.unlock();
    }
  }

  @Override
  public Map<TopicPartition, Long> endOffsets() {
    checkOpen();
    Map<TopicPartition, OffsetSpec> wanted = new LinkedHashMap<>();
    assignment().forEach(tp -> wanted.put(tp, OffsetSpec.latest()));
    try {
      Map<TopicPartition, OffsetAndTime> found =
          offsets.lookUp(wanted, context.config().requestTimeoutMillis()).get();
      Map<TopicPartition, Long> ends = new HashMap<>();
      found.forEach((tp, o) -> ends.put(tp, o.offset()));
      return ends;
    } catch (InterruptedException e) {
      throw interrupted("waiting for the ends of " + wanted.keySet());
    } catch (ExecutionException e) {
      if (e.getCause() instanceof MillraceException failure) {
        throw failure;
      }
      throw new IllegalStateException(e.getCause());
    }
  }

  // ------------------------------------------------------------------------------ reading

  @Override
  public List<ReceivedRecord> poll(long timeoutMillis) {
    Checks.atLeast("timeoutMillis", timeoutMillis, 0);
    locked(() -> fetches.cursors.values().forEach(c -> c.processed = c.handed));
    fetches.pump();
    long deadline = Ticks.now() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    while (true) {
      List<ReceivedRecord> records = collect();
      if (!records.isEmpty()) {
        fetches.pump();
        return records;
      }
      if (!await(deadline)) {
        return List.of();
      }
    }
  }

  /** False when the poll is over; throws what needs a decision. */
  private boolean await(long deadlineNanos) {
    fetches.lock.lock();
    try {
      while (true) {
        checkOpen();
        boolean something = false;
        for (Cursor cursor : fetches.cursors.values()) {
          if (cursor.failure != null) {
            throw cursor.failure;
          }
          something |= !cursor.chunks.isEmpty() && cursor.handed < cursor.deliverUpTo;
        }
        if (something) {
          return true;
        }
        if (woken.getAndSet(false)) {
          return false;
        }
        long left = deadlineNanos - Ticks.now();
        if (left <= 0) {
          return false;
        }
        fetches.changed.awaitNanos(left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      fetches.lock.unlock();
    }
  }

  /** From each partition in turn, beginning with another one each time. */
  private List<ReceivedRecord> collect() {
    List<Cursor> cursors = fetches.all();
    List<ReceivedRecord> records = new ArrayList<>();
    if (cursors.isEmpty()) {
      return records;
    }
    turn = (turn + 1) % cursors.size();
    for (int i = 0; i < cursors.size() && records.size() < config.maxPollRecords(); i++) {
      collect(cursors.get((turn + i) % cursors.size()), records);
    }
    return records;
  }

  private void collect(Cursor cursor, List<ReceivedRecord> out) {
    long limit;
    long handed;
    int generation;
    fetches.lock.lock();
    try {
      if (!cursor.hasPosition() || cursor.failure != null) {
        return;
      }
      limit = cursor.deliverUpTo;
      handed = cursor.handed;
      generation = cursor.generation;
    } finally {
      fetches.lock.unlock();
    }
    while (out.size() < config.maxPollRecords() && handed < limit) {
      Cursor.Decoded decoded = decoded(cursor);
      if (decoded == null) {
        break;
      }
      handed = handOver(cursor, decoded, handed, limit, out);
      boolean exhausted = decoded.next == decoded.records.size();
      fetches.lock.lock();
      try {
        if (cursor.generation != generation) {
          return;
        }
        if (exhausted) {
          handed = Math.max(handed, decoded.chunk.nextOffset());
          cursor.chunks.pollFirst();
          cursor.heldBytes -= decoded.chunk.bytes();
          cursor.current = null;
        }
        cursor.handed = handed;
      } finally {
        fetches.lock.unlock();
      }
      if (!exhausted) {
        break;
      }
    }
  }

  private long handOver(
      Cursor cursor,
      Cursor.Decoded decoded,
      long handedBefore,
      long limit,
      List<ReceivedRecord> out) {
    long handed = handedBefore;
    List<RecordView> records = decoded.records;
    while (decoded.next < records.size() && out.size() < config.maxPollRecords()) {
      RecordView record = records.get(decoded.next);
      if (record.offset() >= limit) {
        // Also where offsets before it are missing: what comes next is kept back.
        return limit;
      }
      decoded.next++;
      if (record.offset() >= handed) {
        out.add(
            new ReceivedRecord(
                cursor.partition.topic(),
                cursor.partition.partition(),
                record.offset(),
                record.timestamp(),
                record.key(),
                record.value(),
                record.headers()));
        handed = record.offset() + 1;
      }
    }
    return handed;
  }

  /** The batch to hand over from; null when there is none, or it cannot be read. */
  private Cursor.Decoded decoded(Cursor cursor) {
    if (cursor.current != null) {
      return cursor.current;
    }
    Cursor.Chunk chunk;
    fetches.lock.lock();
    try {
      chunk = cursor.chunks.peekFirst();
    } finally {
      fetches.lock.unlock();
    }
    if (chunk == null) {
      return null;
    }
    try {
      List<RecordView> records =
          BatchReader.records(chunk.batch().duplicate(), config.maxDecompressedBytes());
      cursor.current = new Cursor.Decoded(chunk, records);
      return cursor.current;
    } catch (InvalidBatchException e) {
      unreadable(cursor, chunk, e);
      return null;
    }
  }

  /** Damage on the way or on one replica's disk is gone after another fetch. */
  private void unreadable(Cursor cursor, Cursor.Chunk chunk, InvalidBatchException e) {
    locked(
        () -> {
          cursor.badTries = cursor.badOffset == chunk.baseOffset() ? cursor.badTries + 1 : 1;
          cursor.badOffset = chunk.baseOffset();
          LOG.warn(
              "batch at {} of {} cannot be read (try {}): {}",
              chunk.baseOffset(),
              cursor.partition,
              cursor.badTries,
              e.getMessage());
          cursor.fetchAgain();
          if (cursor.badTries >= BAD_BATCH_TRIES || e.code() == ErrorCode.UNREADABLE_BATCH) {
            fetches.fail(
                cursor,
                new UnreadableBatchException(
                    cursor.partition, chunk.baseOffset(), chunk.nextOffset(), e));
          }
        });
    fetches.pump();
  }

  // ------------------------------------------------------------------------------ the rest

  @Override
  public void wakeup() {
    woken.set(true);
    fetches.lock.lock();
    try {
      fetches.changed.signalAll();
    } finally {
      fetches.lock.unlock();
    }
  }

  @Override
  public long recordsLost() {
    return fetches.recordsLost();
  }

  @Override
  public String health() {
    StringBuilder text = new StringBuilder();
    fetches.lock.lock();
    try {
      if (fetches.cursors.isEmpty()) {
        return "nothing is assigned";
      }
      long now = Ticks.now();
      for (Cursor cursor : fetches.cursors.values()) {
        if (text.length() > 0) {
          text.append('\n');
        }
        text.append(HealthText.of(cursor, now));
      }
    } finally {
      fetches.lock.unlock();
    }
    return text.toString();
  }

  private void locked(Runnable action) {
    fetches.lock.lock();
    try {
      checkOpen();
      action.run();
    } finally {
      fetches.lock.unlock();
    }
  }

  private void checkOpen() {
    if (fetches.isClosed()) {
      throw new ClientClosedException("the reader is closed", Outcome.NOT_DONE);
    }
  }

  private static MillraceException interrupted(String what) {
    Thread.currentThread().interrupt();
    return new MillraceException(ErrorCode.INTERRUPTED, "interrupted while " + what);
  }

  @Override
  public void close() {
    fetches.close();
    onClose.accept(this);
  }
}
