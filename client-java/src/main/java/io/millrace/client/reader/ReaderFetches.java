package io.millrace.client.reader;

import io.millrace.client.ReaderConfig;
import io.millrace.client.TopicPartition;
import io.millrace.client.error.UnknownTopicException;
import io.millrace.client.internal.ClientContext;
import io.millrace.client.internal.Ticks;
import io.millrace.client.metadata.ClusterView;
import io.millrace.client.metadata.MetadataCache;
import io.millrace.client.metadata.OffsetLookup;
import io.millrace.client.metadata.TopicView;
import io.millrace.client.net.Api;
import java.util.List;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The background side of a reader: keeps fetches and offset look-ups under way for the cursors.
 *
 * <p>Owns: one timer, set when something must be tried again. Threads: pump is called by the
 * application's thread, event loops and the timer; under the reader's lock it decides, outside it
 * sends.
 */
final class ReaderFetches {

  private static final Logger LOG = LoggerFactory.getLogger(ReaderFetches.class);

  private static final long ASK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** Beyond the wait that the broker was asked for: so long nothing is wrong. */
  private static final long SILENT_MILLIS = 500;

  /** Beyond that wait: then the request has failed. */
  private static final long ANSWER_GRACE_MILLIS = 5_000;

  private final ClientContext context;
  private final MetadataCache metadata;
  private final ReaderState state;
  private final PositionLookups lookups;
  private final FetchPlan plan;
  private final FetchAnswers answers;
  private final Runnable onMetadata = this::pump;
  private long timerAtNanos = Ticks.NEVER;

  ReaderFetches(
      ClientContext context, ReaderConfig config, ReaderState state, OffsetLookup offsets) {
    this.context = context;
    this.metadata = context.metadata();
    this.state = state;
    this.lookups =
        new PositionLookups(state, offsets, context.config().requestTimeoutMillis(), this::pump);
    this.answers = new FetchAnswers(state, config, metadata, this::pump);
    this.plan = new FetchPlan(config, answers);
    metadata.addListener(onMetadata);
  }

  void close() {
    metadata.removeListener(onMetadata);
    state.close();
  }

  /** Sends what can be sent now. */
  void pump() {
    List<FetchCall> calls;
    Map<TopicPartition, PositionLookups.Wanted> unknown;
    state.lock.lock();
    try {
      if (state.isClosed()) {
        return;
      }
      long now = Ticks.now();
      ClusterView view = metadata.view();
      long again = checkTopics(view, now);
      unknown = lookups.due(now);
      calls = plan.plan(state.cursors.values(), state.underWay, view, now);
      for (FetchCall call : calls) {
        state.underWay.add(call);
        call.parts().forEach(part -> part.cursor().call = call);
      }
      pumpAgainAt(again, now);
    } finally {
      state.lock.unlock();
    }
    if (!unknown.isEmpty()) {
      lookups.lookUp(unknown);
    }
    for (FetchCall call : calls) {
      long timeout = call.request().getMaxWaitMillis() + ANSWER_GRACE_MILLIS;
      context
          .connections()
          .send(
              call.address(),
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
    for (Cursor cursor : state.cursors.values()) {
      if (cursor.failure != null) {
        continue;
      }
      if (cursor.doubtedLeader != 0 && view.broker(ReaderState.leader(cursor, view)) != null) {
        if (ReaderState.leader(cursor, view) != cursor.doubtedLeader) {
          // The wait was for that leader, not for a new one.
          cursor.doubtedLeader = 0;
          cursor.notBeforeNanos = 0;
        } else {
          again = Math.min(again, now + ASK_AGAIN_NANOS);
        }
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
          state.fail(
              cursor,
              new UnknownTopicException(
                  name,
                  "topic '"
                      + name
                      + (cursor.topicId != null ? "' was deleted" : "' does not exist")));
        } else {
          cursor.placeUnknown("topic not known yet; brokers: " + metadata.failures());
          again = Math.min(again, now + ASK_AGAIN_NANOS);
        }
        continue;
      }
      if (cursor.topicId != null && !cursor.topicId.equals(topic.id())) {
        state.fail(
            cursor,
            new UnknownTopicException(
                name, "topic '" + name + "' was deleted and created again; assign it anew"));
      } else if (cursor.partition.partition() >= topic.partitions()) {
        state.fail(cursor, OffsetLookup.unknownPartition(cursor.partition, topic));
      } else if (view.broker(topic.leader(cursor.partition.partition())) == null) {
        cursor.placeUnknown("no leader is known");
        again = Math.min(again, now + ASK_AGAIN_NANOS);
      } else {
        cursor.placeKnown();
      }
      cursor.topicId = cursor.topicId == null ? topic.id() : cursor.topicId;
    }
    for (FetchCall call : List.copyOf(state.underWay)) {
      again = Math.min(again, giveUpSilent(call, view, now));
    }
    return again;
  }

  /** A leader that is paused or cut off does not say NOT_LEADER: the metadata must. */
  private long giveUpSilent(FetchCall call, ClusterView view, long now) {
    long answerBy =
        call.sentNanos()
            + TimeUnit.MILLISECONDS.toNanos(call.request().getMaxWaitMillis() + SILENT_MILLIS);
    if (now < answerBy) {
      return answerBy;
    }
    boolean anyLeft = false;
    for (FetchCall.Part part : call.parts()) {
      Cursor cursor = part.cursor();
      if (state.isCurrent(call, part)) {
        int leader = ReaderState.leader(cursor, view);
        if (leader != call.broker() && view.broker(leader) != null) {
          cursor.call = null;
          cursor.trouble = "broker " + call.broker() + " did not answer";
        } else {
          cursor.doubtedLeader = call.broker();
          anyLeft = true;
        }
      }
    }
    if (!anyLeft) {
      state.underWay.remove(call);
    }
    return now + ASK_AGAIN_NANOS;
  }

  private void pumpAgainAt(long again, long now) {
    if (again >= timerAtNanos) {
      return;
    }
    timerAtNanos = again;
    try {
      context
          .connections()
          .timer()
          .schedule(
              () -> {
                state.lock.lock();
                try {
                  timerAtNanos = timerAtNanos == again ? Ticks.NEVER : timerAtNanos;
                } finally {
                  state.lock.unlock();
                }
                if (anyDoubtsLeader()) {
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

  private boolean anyDoubtsLeader() {
    state.lock.lock();
    try {
      ClusterView view = metadata.view();
      for (Cursor cursor : state.cursors.values()) {
        boolean doubts =
            cursor.doubtedLeader != 0 || view.broker(ReaderState.leader(cursor, view)) == null;
        if (cursor.failure == null && doubts) {
          return true;
        }
      }
      return false;
    } finally {
      state.lock.unlock();
    }
  }
}
