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
import io.millrace.client.internal.ClientContext;
import io.millrace.client.internal.Ticks;
import io.millrace.client.metadata.MetadataCache;
import io.millrace.client.metadata.OffsetLookup;
import io.millrace.client.metadata.TopicView;
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

/**
 * The application's side of a reader: assignment, positions and the wait in poll. {@link
 * ReaderFetches} brings the batches, {@link Handover} decodes them.
 *
 * <p>Threads: see {@link Reader}.
 */
public final class ReaderImpl implements Reader {

  private final ClientContext context;
  private final ReaderConfig config;
  private final MetadataCache metadata;
  private final ReaderState state = new ReaderState();
  private final ReaderFetches fetches;
  private final Handover handover;
  private final OffsetLookup offsets;
  private final Consumer<ReaderImpl> onClose;
  private final AtomicBoolean woken = new AtomicBoolean();

  public ReaderImpl(ClientContext context, ReaderConfig config, Consumer<ReaderImpl> onClose) {
    this.context = context;
    this.config = config;
    this.metadata = context.metadata();
    this.offsets = new OffsetLookup(context.config(), context.connections(), metadata);
    this.fetches = new ReaderFetches(context, config, state, offsets);
    this.handover = new Handover(config, state, fetches::pump);
    this.onClose = onClose;
  }

  // ------------------------------------------------------------------------------ assignment

  @Override
  public void assign(Collection<TopicPartition> partitions) {
    Set<TopicPartition> wanted = new LinkedHashSet<>(Checks.notNull("partitions", partitions));
    locked(
        () -> {
          state.cursors.keySet().retainAll(wanted);
          for (TopicPartition tp : wanted) {
            if (!state.cursors.containsKey(tp)) {
              Cursor cursor = new Cursor(Checks.notNull("partition", tp));
              cursor.moveTo(config.start());
              state.cursors.put(tp, cursor);
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
    return state.all().stream().map(c -> c.partition).toList();
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
                  ? state.cursors.keySet()
                  : partitions;
          wanted.forEach(tp -> assigned(tp).moveTo(spec));
        });
    fetches.pump();
  }

  private Cursor assigned(TopicPartition partition) {
    Cursor cursor = state.cursors.get(partition);
    if (cursor == null) {
      throw new InvalidArgumentException(
          partition + " is not assigned to this reader; assigned are " + state.cursors.keySet());
    }
    return cursor;
  }

  @Override
  public long position(TopicPartition partition) {
    fetches.pump();
    long deadline =
        Ticks.now() + TimeUnit.MILLISECONDS.toNanos(context.config().requestTimeoutMillis());
    state.lock.lock();
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
        state.changed.awaitNanos(left);
      }
    } catch (InterruptedException e) {
      throw interrupted("waiting for the position of " + partition);
    } finally {
      state.lock.unlock();
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
    locked(() -> state.cursors.values().forEach(c -> c.processed = c.handed));
    fetches.pump();
    long deadline = Ticks.now() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    while (true) {
      List<ReceivedRecord> records = handover.collect();
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
    state.lock.lock();
    try {
      while (true) {
        checkOpen();
        boolean something = false;
        for (Cursor cursor : state.cursors.values()) {
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
        state.changed.awaitNanos(left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      state.lock.unlock();
    }
  }

  // ------------------------------------------------------------------------------ the rest

  @Override
  public void wakeup() {
    woken.set(true);
    state.lock.lock();
    try {
      state.changed.signalAll();
    } finally {
      state.lock.unlock();
    }
  }

  @Override
  public long recordsLost() {
    state.lock.lock();
    try {
      return state.recordsLost;
    } finally {
      state.lock.unlock();
    }
  }

  @Override
  public String health() {
    StringBuilder text = new StringBuilder();
    state.lock.lock();
    try {
      if (state.cursors.isEmpty()) {
        return "nothing is assigned";
      }
      long now = Ticks.now();
      for (Cursor cursor : state.cursors.values()) {
        if (text.length() > 0) {
          text.append('\n');
        }
        text.append(HealthText.of(cursor, now));
      }
    } finally {
      state.lock.unlock();
    }
    return text.toString();
  }

  private void locked(Runnable action) {
    state.lock.lock();
    try {
      checkOpen();
      action.run();
    } finally {
      state.lock.unlock();
    }
  }

  private void checkOpen() {
    if (state.isClosed()) {
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
