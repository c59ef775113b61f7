package io.millrace.client.reader;

import io.millrace.client.ReaderConfig;
import io.millrace.client.metadata.ClusterView;
import io.millrace.client.metadata.TopicView;
import io.millrace.protocol.message.FetchPartition;
import io.millrace.protocol.message.FetchRequest;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Decides which fetches go out: one long poll per broker for all its partitions. While it is under
 * way a second, short one may go for partitions that were just sought or whose kept back records
 * can be released; with the next long poll they are together again.
 *
 * <p>Credit is one number for the whole reader, but a broker knows only what its request says. So
 * each request gets a part: what is free is divided among the brokers that could be asked now, and
 * counts as used until the answer is here. What a batch brings over that is kept back and does not
 * count: only what the application may be given does, so kept back records of one broker never stop
 * another for good. Where nothing is free and all that waits here is kept back, a fetch that asks
 * for no records lets the broker raise the limit.
 *
 * <p>Threads: under the reader's lock. Pure but for the cursors it looks at.
 */
final class FetchPlan {

  /** A long poll and a short fetch beside it. */
  private static final int MAX_CALLS_PER_BROKER = 2;

  private final ReaderConfig config;
  private final FetchAnswers answers;
  private int turn;

  FetchPlan(ReaderConfig config, FetchAnswers answers) {
    this.config = config;
    this.answers = answers;
  }

  List<FetchCall> plan(
      Collection<Cursor> cursors, Collection<FetchCall> underWay, ClusterView view, long now) {
    Map<Integer, List<Cursor>> byBroker = new TreeMap<>();
    long used = 0;
    long usedBytes = 0;
    for (Cursor cursor : cursors) {
      used += cursor.hasPosition() ? cursor.deliverable() : 0;
      usedBytes += cursor.heldBytes;
      int leader = leaderIfFetchable(cursor, view, now);
      if (leader != TopicView.NO_LEADER) {
        byBroker.computeIfAbsent(leader, b -> new ArrayList<>()).add(cursor);
      }
    }
    Map<Integer, Integer> callsTo = new HashMap<>();
    for (FetchCall call : underWay) {
      used += call.records();
      usedBytes += call.bytes();
      callsTo.merge(call.broker(), 1, Integer::sum);
    }
    byBroker.keySet().removeIf(b -> callsTo.getOrDefault(b, 0) >= MAX_CALLS_PER_BROKER);
    List<FetchCall> calls = new ArrayList<>();
    List<Integer> brokers = new ArrayList<>(byBroker.keySet());
    turn = brokers.isEmpty() ? 0 : (turn + 1) % brokers.size();
    for (int i = 0; i < brokers.size(); i++) {
      int broker = brokers.get((turn + i) % brokers.size());
      int left = brokers.size() - i;
      FetchCall call =
          call(
              broker,
              byBroker.get(broker),
              callsTo.containsKey(broker),
              roundUp(config.prefetchRecords() - used, left),
              roundUp(config.prefetchBytes() - usedBytes, left),
              view,
              now);
      if (call != null) {
        used += call.records();
        usedBytes += call.bytes();
        calls.add(call);
      }
    }
    return calls;
  }

  private static long roundUp(long free, int parts) {
    return free <= 0 ? 0 : (free + parts - 1) / parts;
  }

  private static int leaderIfFetchable(Cursor cursor, ClusterView view, long now) {
    if (cursor.failure != null
        || !cursor.hasPosition()
        || cursor.call != null
        || cursor.notBeforeNanos > now) {
      return TopicView.NO_LEADER;
    }
    int leader = ReaderState.leader(cursor, view);
    return view.broker(leader) == null ? TopicView.NO_LEADER : leader;
  }

  /**
   * Null when there is no credit and none is needed to go on.
   *
   * @param beside a long poll to this broker is under way: this one must be short
   */
  private FetchCall call(
      int broker,
      List<Cursor> cursors,
      boolean beside,
      long free,
      long freeBytes,
      ClusterView view,
      long now) {
    List<Cursor> asked = beside ? cursors.stream().filter(c -> c.eager).toList() : cursors;
    long held = held(asked);
    // As the broker counts: all that is here, against what all of it may be.
    long limit = deliverable(asked) + free;
    boolean credit = !asked.isEmpty() && limit > held && freeBytes > 0;
    if (!credit) {
      asked = cursors.stream().filter(Cursor::starvesByCredit).toList();
      if (asked.isEmpty() || free <= 0) {
        return null;
      }
      held = held(asked);
      limit = Math.min(deliverable(asked) + free, held);
    }
    long heldBytes = asked.stream().mapToLong(c -> c.heldBytes).sum();
    FetchRequest.Builder request =
        FetchRequest.newBuilder()
            .setMinBytes(config.minBytes())
            .setMaxWaitMillis(credit && !beside ? config.maxWaitMillis() : 0)
            .setMaxBytes(config.maxBytes())
            .setPrefetchRecords(limit)
            .setInFlightRecords(held)
            .setPrefetchBytes(credit ? heldBytes + freeBytes : 1)
            .setInFlightBytes(credit ? heldBytes : 1);
    List<FetchCall.Part> parts = new ArrayList<>(asked.size());
    for (Cursor cursor : asked) {
      parts.add(new FetchCall.Part(cursor, cursor.generation, cursor.fetched));
      FetchPartition.Builder part =
          FetchPartition.newBuilder()
              .setTopicId(view.topic(cursor.partition.topic()).id())
              .setPartition(cursor.partition.partition())
              .setPosition(cursor.fetched)
              .setLastFetchedTerm(cursor.lastFetchedTerm)
              .setProcessed(cursor.processed)
              .setInFlightRecords(cursor.held());
      if (cursor.badOffset >= cursor.fetched) {
        part.setUnreadable(cursor.badOffset);
      }
      request.addPartitions(part);
    }
    long records = credit ? limit - held : Math.min(free, held);
    return new FetchCall(
        answers,
        broker,
        view.broker(broker),
        parts,
        !credit,
        records,
        credit ? freeBytes : 0,
        request.build(),
        now);
  }

  private static long held(List<Cursor> cursors) {
    return cursors.stream().mapToLong(Cursor::held).sum();
  }

  private static long deliverable(List<Cursor> cursors) {
    return cursors.stream().mapToLong(Cursor::deliverable).sum();
  }
}
