package io.millrace.client.reader;

import io.millrace.client.Admin.OffsetAndTime;
import io.millrace.client.OffsetSpec;
import io.millrace.client.OnLost;
import io.millrace.client.ReaderConfig;
import io.millrace.client.TopicPartition;
import io.millrace.client.error.LogTruncatedException;
import io.millrace.client.error.OffsetOutOfRangeException;
import io.millrace.client.error.RecordsLostException;
import io.millrace.client.error.UnknownTopicException;
import io.millrace.client.internal.ClientContext;
import io.millrace.client.internal.Ticks;
import io.millrace.client.metadata.ClusterView;
import io.millrace.client.metadata.MetadataCache;
import io.millrace.client.metadata.OffsetLookup;
import io.millrace.client.metadata.TopicView;
import io.millrace.client.net.Api;
import io.millrace.client.net.Backoff;
import io.millrace.client.net.BrokerErrorException;
import io.millrace.protocol.batch.BatchReader;
import io.millrace.protocol.batch.InvalidBatchException;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.FetchResponse;
import io.millrace.protocol.message.FetchResult;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The background side of a reader: keeps fetches and offset look-ups under way for the cursors.
 *
 * <p>Owns: the cursors, the fetches under way. Batches are copied out of the network buffers here,
 * once, and decoded by the application's thread.
 *
 * <p>Threads: the lock guards everything; it is held for bookkeeping only, never while decoding or
 * waiting for the network, so event loops may take it.
 *
 * <p>Errors: whatever may get better is retried with a back-off and stays in the cursor's trouble;
 * what needs a decision becomes the cursor's failure.
 */
final class ReaderFetches {

  private static final Logger LOG = LoggerFactory.getLogger(ReaderFetches.class);

  private static final Backoff BACKOFF = new Backoff(20, 500);
  private static final long ASK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** Beyond the wait that the broker was asked for. */
  private static final long ANSWER_GRACE_MILLIS = 5_000;

  final ReentrantLock lock = new ReentrantLock();
  final Condition changed = lock.newCondition();

  private final ClientContext context;
  private final ReaderConfig config;
  private final MetadataCache metadata;
  private final OffsetLookup offsets;
  private final FetchPlan plan;
  private final Runnable onMetadata = this::pump;

  // Guarded by lock.
  final Map<TopicPartition, Cursor> cursors = new LinkedHashMap<>();
  private final Set<FetchCall> underWay = new LinkedHashSet<>();
  private boolean timerSet;
  private boolean closed;
  private long recordsLost;

  ReaderFetches(ClientContext context, ReaderConfig config) {
    this.context = context;
    this.config = config;
    this.metadata = context.metadata();
    this.offsets = new OffsetLookup(context.config(), context.connections(), metadata);
    this.plan = new FetchPlan(config, this);
    metadata.addListener(onMetadata);
  }

  void close() {
    metadata.removeListener(onMetadata);
    lock.lock();
    try {
      closed = true;
      cursors.clear();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  boolean isClosed() {
    return closed;
  }

  long recordsLost() {
    lock.lock();
    try {
      return recordsLost;
    } finally {
      lock.unlock();
    }
  }

  /** Sends what can be sent now. */
  void pump() {
    List<FetchCall> calls;
    Map<TopicPartition, OffsetSpec> lookups;
    Map<TopicPartition, Integer> generations = new HashMap<>();
    lock.lock();
    try {
      if (closed) {
        return;
      }
      long now = Ticks.now();
      ClusterView view = metadata.view();
      long again = checkTopics(view, now);
      lookups = dueLookups(now);
      lookups.keySet().forEach(tp -> generations.put(tp, cursors.get(tp).generation));
      calls = plan.plan(cursors.values(), underWay, view, now);
      for (FetchCall call : calls) {
        underWay.add(call);
        call.parts().forEach(part -> part.cursor().call = call);
      }
      pumpAgainAt(again, now);
    } finally {
      lock.unlock();
    }
    if (!lookups.isEmpty()) {
      lookUp(lookups, generations);
    }
    ClusterView view = metadata.view();
    for (FetchCall call : calls) {
      long timeout = call.request().getMaxWaitMillis() + ANSWER_GRACE_MILLIS;
      context
          .connections()
          .send(
              view.broker(call.broker()),
              call.broker(),
              Api.FETCH,
              call.request().toBuilder().setContext(metadata.context(timeout)).build(),
              null,
              timeout,
              call);
    }
  }

  /** Notes what stands in the way of each partition; returns when to look again. */
  private long checkTopics(ClusterView view, long now) {
    long again = Ticks.NEVER;
    for (Cursor cursor : cursors.values()) {
      if (cursor.failure != null) {
        continue;
      }
      if (cursor.notBeforeNanos > now) {
        again = Math.min(again, cursor.notBeforeNanos);
        continue;
      }
      String name = cursor.partition.topic();
      TopicView topic = view.topic(name);
      if (topic == null) {
        long enough =
            cursor.topicId != null
                ? 0
                : TimeUnit.MILLISECONDS.toNanos(context.config().unknownTopicMillis());
        if (metadata.saidUnknownNanos(name) >= cursor.sinceNanos + enough) {
          fail(
              cursor,
              new UnknownTopicException(
                  name,
                  "topic '"
                      + name
                      + (cursor.topicId != null ? "' was deleted" : "' does not exist")));
        } else {
          cursor.trouble = "topic not known yet; brokers: " + metadata.failures();
          again = Math.min(again, now + ASK_AGAIN_NANOS);
        }
        continue;
      }
      if (cursor.topicId != null && !cursor.topicId.equals(topic.id())) {
        fail(
            cursor,
            new UnknownTopicException(
                name, "topic '" + name + "' was deleted and created again; assign it anew"));
      } else if (cursor.partition.partition() >= topic.partitions()) {
        fail(cursor, OffsetLookup.unknownPartition(cursor.partition, topic));
      } else if (view.broker(topic.leader(cursor.partition.partition())) == null) {
        cursor.trouble = "no leader is known";
        again = Math.min(again, now + ASK_AGAIN_NANOS);
      }
      cursor.topicId = cursor.topicId == null ? topic.id() : cursor.topicId;
    }
    return again;
  }

  private void pumpAgainAt(long again, long now) {
    if (again == Ticks.NEVER || timerSet) {
      return;
    }
    timerSet = true;
    try {
      context
          .connections()
          .timer()
          .schedule(
              () -> {
                lock.lock();
                try {
                  timerSet = false;
                } finally {
                  lock.unlock();
                }
                if (anyWithoutLeader()) {
                  metadata.refreshSoon();
                }
                pump();
              },
              Math.max(0, again - now),
              TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      LOG.debug("the client is closed: no further fetches");
    }
  }

  private boolean anyWithoutLeader() {
    lock.lock();
    try {
      ClusterView view = metadata.view();
      for (Cursor cursor : cursors.values()) {
        TopicView topic = view.topic(cursor.partition.topic());
        if (cursor.failure == null
            && (topic == null || view.broker(topic.leader(cursor.partition.partition())) == null)) {
          return true;
        }
      }
      return false;
    } finally {
      lock.unlock();
    }
  }

  // ------------------------------------------------------------------------------ look-ups

  private Map<TopicPartition, OffsetSpec> dueLookups(long now) {
    Map<TopicPartition, OffsetSpec> due = new LinkedHashMap<>();
    for (Cursor cursor : cursors.values()) {
      if (cursor.lookup != null
          && !cursor.lookingUp
          && cursor.failure == null
          && cursor.notBeforeNanos <= now) {
        cursor.lookingUp = true;
        due.put(cursor.partition, cursor.lookup);
      }
    }
    return due;
  }

  private void lookUp(
      Map<TopicPartition, OffsetSpec> wanted, Map<TopicPartition, Integer> generations) {
    offsets
        .lookUp(
            wanted,
            context.config().requestTimeoutMillis(),
            (tp, found) -> lookedUp(tp, generations.get(tp), found))
        .whenComplete(
            (all, failure) -> {
              if (failure != null) {
                wanted.keySet().forEach(tp -> lookUpFailed(tp, generations.get(tp), failure));
              }
              pump();
            });
  }

  private Cursor cursorOf(TopicPartition tp, int generation) {
    Cursor cursor = cursors.get(tp);
    return cursor == null || cursor.generation != generation ? null : cursor;
  }

  private void lookedUp(TopicPartition tp, int generation, OffsetAndTime found) {
    lock.lock();
    try {
      Cursor cursor = cursorOf(tp, generation);
      if (cursor != null) {
        cursor.moveTo(found.offset());
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
    pump();
  }

  private void lookUpFailed(TopicPartition tp, int generation, Throwable failure) {
    lock.lock();
    try {
      Cursor cursor = cursorOf(tp, generation);
      if (cursor == null || cursor.lookup == null) {
        return;
      }
      cursor.lookingUp = false;
      Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
      if (cause instanceof UnknownTopicException unknown) {
        if (unknown.topic().equals(tp.topic())) {
          fail(cursor, unknown);
        }
      } else {
        retry(cursor, "looking up the position: " + cause.getMessage(), 0);
      }
    } finally {
      lock.unlock();
    }
  }

  // ------------------------------------------------------------------------------ answers

  void failed(FetchCall call, MillraceException failure) {
    int throttle = failure instanceof BrokerErrorException e ? e.throttleMillis() : 0;
    lock.lock();
    try {
      underWay.remove(call);
      for (FetchCall.Part part : call.parts()) {
        if (current(call, part)) {
          part.cursor().call = null;
          retry(part.cursor(), failure.getMessage(), throttle);
        }
      }
    } finally {
      lock.unlock();
    }
    metadata.refreshSoon();
    pump();
  }

  void answered(FetchCall call, FetchResponse response, ByteBuf payload) {
    boolean refresh = false;
    lock.lock();
    try {
      underWay.remove(call);
      int offset = payload.readerIndex();
      for (int i = 0; i < call.parts().size(); i++) {
        FetchCall.Part part = call.parts().get(i);
        Cursor cursor = part.cursor();
        FetchResult result = i < response.getResultsCount() ? response.getResults(i) : null;
        int size = result == null ? 0 : result.getSize();
        if (current(call, part)) {
          cursor.call = null;
          if (result == null || size < 0 || offset + size > payload.writerIndex()) {
            retry(cursor, "broker " + call.broker() + " answered without this partition", 0);
          } else if (result.getError().getCode() != 0) {
            refresh |= refused(cursor, result, response.getContext().getThrottleMillis());
          } else {
            take(call, cursor, result, payload, offset, size);
          }
        }
        offset += size;
      }
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    if (refresh) {
      metadata.refreshSoon();
    }
    pump();
  }

  /** False when the partition was sought or unassigned meanwhile: the answer is stale. */
  private boolean current(FetchCall call, FetchCall.Part part) {
    Cursor cursor = part.cursor();
    return cursor.call == call
        && cursor.generation == part.generation()
        && cursors.get(cursor.partition) == cursor;
  }

  private void take(
      FetchCall call, Cursor cursor, FetchResult result, ByteBuf payload, int offset, int size) {
    if (size > 0) {
      ByteBuffer copy = ByteBuffer.allocate(size);
      payload.getBytes(offset, copy);
      List<ByteBuffer> batches;
      try {
        batches = BatchReader.split(copy.flip());
      } catch (InvalidBatchException e) {
        LOG.warn(
            "broker {} answered for {} at {} with what is no batch: {}; asking again",
            call.broker(),
            cursor.partition,
            cursor.fetched,
            e.getMessage());
        retry(cursor, "unreadable answer of broker " + call.broker() + ": " + e.getMessage(), 0);
        return;
      }
      batches.forEach(batch -> cursor.add(Cursor.Chunk.of(batch)));
    }
    if (result.getDeliverUpTo() > 0) {
      cursor.deliverUpTo = Math.max(cursor.deliverUpTo, result.getDeliverUpTo());
    } else if (!call.raiseOnly()) {
      // The broker saw credit beyond all that is here: nothing of it is kept back.
      cursor.deliverUpTo = Math.max(cursor.deliverUpTo, cursor.fetched);
    }
    cursor.failures = 0;
    cursor.trouble = "";
  }

  /** True when the metadata should be refreshed. */
  private boolean refused(Cursor cursor, FetchResult result, int throttleMillis) {
    ErrorInfo error = result.getError();
    ErrorCode code = ErrorCode.of(error.getCode());
    TopicPartition tp = cursor.partition;
    switch (code) {
      case OFFSET_OUT_OF_RANGE -> {
        if (result.getRecordsLost() > 0) {
          lost(cursor, result);
        } else {
          fail(
              cursor,
              new OffsetOutOfRangeException(
                  tp, cursor.fetched, result.getLogStart(), result.getCommittedEnd()));
        }
        return false;
      }
      case LOG_TRUNCATED -> {
        fail(
            cursor,
            new LogTruncatedException(
                tp, result.getTruncated().getFirst(), result.getTruncated().getEnd()));
        return false;
      }
      default -> {
        // Everything else may get better: another leader, a broker that catches up, a repair.
        if (error.hasLeader()) {
          metadata.leaderHint(tp.topic(), cursor.topicId, tp.partition(), error.getLeader());
        }
        retry(cursor, code + " " + error.getText(), throttleMillis);
        return code != ErrorCode.THROTTLED;
      }
    }
  }

  private void lost(Cursor cursor, FetchResult result) {
    long count = result.getRecordsLost();
    long position = cursor.fetched;
    if (position > cursor.handed) {
      // First what is here, without regard to the broker's limit, which it cannot raise any more.
      cursor.deliverUpTo = position;
      retry(cursor, count + " records from offset " + position + " are gone", 0);
      return;
    }
    long start = Math.max(result.getLogStart(), position + count);
    if (config.onLost() == OnLost.FAIL) {
      fail(cursor, new RecordsLostException(cursor.partition, position, start, count));
      return;
    }
    recordsLost += count;
    LOG.warn(
        "{} records of {} from offset {} were deleted by retention before they were read;"
            + " going on at {}",
        count,
        cursor.partition,
        position,
        start);
    cursor.lost += count;
    cursor.skipTo(start);
  }

  private void retry(Cursor cursor, String trouble, int throttleMillis) {
    long wait =
        Math.max(BACKOFF.nanos(cursor.failures++), TimeUnit.MILLISECONDS.toNanos(throttleMillis));
    cursor.notBeforeNanos = Ticks.now() + wait;
    cursor.trouble = trouble;
  }

  void fail(Cursor cursor, MillraceException failure) {
    cursor.failure = failure;
    cursor.trouble = failure.getMessage();
    changed.signalAll();
  }

  List<Cursor> all() {
    lock.lock();
    try {
      return new ArrayList<>(cursors.values());
    } finally {
      lock.unlock();
    }
  }
}
