package io.millrace.client.reader;

import io.millrace.client.Admin.OffsetAndTime;
import io.millrace.client.OffsetSpec;
import io.millrace.client.TopicPartition;
import io.millrace.client.error.UnknownTopicException;
import io.millrace.client.metadata.OffsetLookup;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletionException;

/**
 * Finds the positions of partitions that were sought by name or time, in the background.
 *
 * <p>Threads: answers come on event loops.
 */
final class PositionLookups {

  /** What is looked up, for which generation of the cursor. */
  record Wanted(OffsetSpec spec, int generation) {}

  private final ReaderState state;
  private final OffsetLookup offsets;
  private final long requestTimeoutMillis;
  private final Runnable pump;

  PositionLookups(
      ReaderState state, OffsetLookup offsets, long requestTimeoutMillis, Runnable pump) {
    this.state = state;
    this.offsets = offsets;
    this.requestTimeoutMillis = requestTimeoutMillis;
    this.pump = pump;
  }

  /** Under the lock: what must be looked up now; counts as being looked up from here on. */
  Map<TopicPartition, Wanted> due(long now) {
    Map<TopicPartition, Wanted> due = new LinkedHashMap<>();
    for (Cursor cursor : state.cursors.values()) {
      if (cursor.lookup != null
          && !cursor.lookingUp
          && cursor.topicId != null
          && cursor.failure == null
          && cursor.notBeforeNanos <= now) {
        cursor.lookingUp = true;
        due.put(cursor.partition, new Wanted(cursor.lookup, cursor.generation));
      }
    }
    return due;
  }

  /** Outside the lock. */
  void lookUp(Map<TopicPartition, Wanted> due) {
    Map<TopicPartition, OffsetSpec> specs = new LinkedHashMap<>();
    due.forEach((tp, wanted) -> specs.put(tp, wanted.spec()));
    offsets
        .lookUp(specs, requestTimeoutMillis, found -> lookedUp(due, found))
        .whenComplete(
            (all, failure) -> {
              if (failure != null) {
                due.forEach((tp, wanted) -> lookUpFailed(tp, wanted.generation(), failure));
              }
              pump.run();
            });
  }

  private void lookedUp(Map<TopicPartition, Wanted> due, Map<TopicPartition, OffsetAndTime> found) {
    state.lock.lock();
    try {
      found.forEach(
          (tp, offset) -> {
            Cursor cursor = state.current(tp, due.get(tp).generation());
            if (cursor != null) {
              cursor.moveTo(offset.offset());
            }
          });
      state.changed.signalAll();
    } finally {
      state.lock.unlock();
    }
    pump.run();
  }

  private void lookUpFailed(TopicPartition tp, int generation, Throwable failure) {
    state.lock.lock();
    try {
      Cursor cursor = state.current(tp, generation);
      if (cursor == null || cursor.lookup == null) {
        return;
      }
      cursor.lookingUp = false;
      Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
      if (cause instanceof UnknownTopicException unknown) {
        if (unknown.topic().equals(tp.topic())) {
          state.fail(cursor, unknown);
        }
      } else {
        state.retry(cursor, "looking up the position: " + cause.getMessage(), 0);
      }
    } finally {
      state.lock.unlock();
    }
  }
}
