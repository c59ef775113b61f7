package io.millrace.client.reader;

import io.millrace.client.TopicPartition;
import io.millrace.client.internal.Ticks;
import io.millrace.client.metadata.ClusterView;
import io.millrace.client.metadata.TopicView;
import io.millrace.client.net.Backoff;
import io.millrace.protocol.error.MillraceException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What the application's thread and the event loops share of a reader.
 *
 * <p>Owns: the cursors and the list of fetches under way. Threads: all of it is guarded by the
 * lock, which is held for bookkeeping only, never while decoding or waiting for the network: event
 * loops take it too.
 */
final class ReaderState {

  private static final Backoff BACKOFF = new Backoff(20, 500);

  final ReentrantLock lock = new ReentrantLock();

  /** Something arrived, failed or was closed. */
  final Condition changed = lock.newCondition();

  final Map<TopicPartition, Cursor> cursors = new LinkedHashMap<>();
  final Set<FetchCall> underWay = new LinkedHashSet<>();
  long recordsLost;
  private volatile boolean closed;

  boolean isClosed() {
    return closed;
  }

  void close() {
    lock.lock();
    try {
      closed = true;
      cursors.clear();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  List<Cursor> all() {
    lock.lock();
    try {
      return new ArrayList<>(cursors.values());
    } finally {
      lock.unlock();
    }
  }

  /** Null when the partition was sought or unassigned since that generation. */
  Cursor current(TopicPartition partition, int generation) {
    Cursor cursor = cursors.get(partition);
    return cursor == null || cursor.generation != generation ? null : cursor;
  }

  /** False when the partition was sought or unassigned meanwhile: the answer is stale. */
  boolean isCurrent(FetchCall call, FetchCall.Part part) {
    Cursor cursor = part.cursor();
    return cursor.call == call
        && cursor.generation == part.generation()
        && cursors.get(cursor.partition) == cursor;
  }

  void fail(Cursor cursor, MillraceException failure) {
    cursor.failure = failure;
    cursor.trouble = failure.getMessage();
    changed.signalAll();
  }

  void retry(Cursor cursor, String trouble, int throttleMillis) {
    long wait =
        Math.max(BACKOFF.nanos(cursor.failures++), TimeUnit.MILLISECONDS.toNanos(throttleMillis));
    cursor.notBeforeNanos = Ticks.now() + wait;
    cursor.trouble = trouble;
    cursor.placeUnknown = false;
  }

  /** Broker id, NO_LEADER when unknown. */
  static int leader(Cursor cursor, ClusterView view) {
    TopicView topic = view.topic(cursor.partition.topic());
    return topic == null ? TopicView.NO_LEADER : topic.leader(cursor.partition.partition());
  }
}
