package io.millrace.client.metadata;

import io.millrace.client.Admin.OffsetAndTime;
import io.millrace.client.ClientConfig;
import io.millrace.client.OffsetSpec;
import io.millrace.client.TopicPartition;
import io.millrace.client.error.RequestFailedException;
import io.millrace.client.error.UnknownTopicException;
import io.millrace.client.internal.Ticks;
import io.millrace.client.net.Answer;
import io.millrace.client.net.Api;
import io.millrace.client.net.Backoff;
import io.millrace.client.net.BrokerAddress;
import io.millrace.client.net.Connections;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.ListOffsetsPartition;
import io.millrace.protocol.message.ListOffsetsRequest;
import io.millrace.protocol.message.ListOffsetsResponse;
import io.millrace.protocol.message.ListOffsetsResult;
import io.millrace.protocol.message.OffsetKind;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Asks the leaders of partitions for offsets, again where a leader moves or is not ready, until the
 * time is over.
 *
 * <p>Threads: any; futures complete on an event loop.
 */
public final class OffsetLookup {

  private static final Backoff BACKOFF = new Backoff(20, 500);

  /** Waits for one leader; a silent one may have been replaced. */
  private static final long ATTEMPT_MILLIS = 2_000;

  private final ClientConfig config;
  private final Connections connections;
  private final MetadataCache metadata;

  public OffsetLookup(ClientConfig config, Connections connections, MetadataCache metadata) {
    this.config = config;
    this.connections = connections;
    this.metadata = metadata;
  }

  public CompletableFuture<Map<TopicPartition, OffsetAndTime>> lookUp(
      Map<TopicPartition, OffsetSpec> wanted, long timeoutMillis) {
    return lookUp(wanted, timeoutMillis, found -> {});
  }

  /**
   * @param onFound told the offsets of each answer as it comes, on an event loop: one partition
   *     without a leader does not hold up the others
   */
  public CompletableFuture<Map<TopicPartition, OffsetAndTime>> lookUp(
      Map<TopicPartition, OffsetSpec> wanted,
      long timeoutMillis,
      Consumer<Map<TopicPartition, OffsetAndTime>> onFound) {
    Run run = new Run(wanted, timeoutMillis, onFound);
    wanted.keySet().forEach(tp -> metadata.want(tp.topic()));
    run.round();
    return run.result;
  }

  private final class Run {
    private final CompletableFuture<Map<TopicPartition, OffsetAndTime>> result =
        new CompletableFuture<>();
    private final long startNanos = Ticks.now();
    private final long timeoutMillis;
    private final Consumer<Map<TopicPartition, OffsetAndTime>> onFound;
    // Guarded by this.
    private final Map<TopicPartition, OffsetSpec> todo;
    private final Map<TopicPartition, OffsetAndTime> found = new HashMap<>();
    private final Map<TopicPartition, String> reasons = new LinkedHashMap<>();
    private int outstanding;
    private int rounds;

    Run(
        Map<TopicPartition, OffsetSpec> wanted,
        long timeoutMillis,
        Consumer<Map<TopicPartition, OffsetAndTime>> onFound) {
      this.onFound = onFound;
      this.todo = new LinkedHashMap<>(wanted);
      this.timeoutMillis = timeoutMillis;
    }

    /** Names one; of a topic without a majority all would say the same. */
    private String missing() {
      TopicPartition first = todo.keySet().iterator().next();
      int further = todo.size() - 1;
      return "no offset of "
          + first
          + " within "
          + timeoutMillis
          + " ms: "
          + reasons.getOrDefault(first, "no answer")
          + (further == 0
              ? ""
              : " (nor of " + further + " further partition" + (further == 1 ? ")" : "s)"));
    }

    private long leftMillis() {
      return timeoutMillis - TimeUnit.NANOSECONDS.toMillis(Ticks.now() - startNanos);
    }

    void round() {
      Map<Integer, List<TopicPartition>> byLeader = new HashMap<>();
      ClusterView view = metadata.view();
      long left = leftMillis();
      synchronized (this) {
        if (left <= 0 && !todo.isEmpty()) {
          fail(new RequestFailedException(ErrorCode.NOT_READY, missing(), Outcome.NOT_DONE, null));
          return;
        }
        for (TopicPartition tp : todo.keySet()) {
          TopicView topic = view.topic(tp.topic());
          if (topic == null) {
            long unknownAt = metadata.saidUnknownNanos(tp.topic());
            long enough = TimeUnit.MILLISECONDS.toNanos(config.unknownTopicMillis());
            if (unknownAt >= startNanos + enough) {
              metadata.unwant(tp.topic());
              fail(
                  new UnknownTopicException(
                      tp.topic(), "topic '" + tp.topic() + "' does not exist"));
              return;
            }
            reasons.put(tp, "topic not known yet; " + metadata.failures());
          } else if (tp.partition() >= topic.partitions()) {
            fail(unknownPartition(tp, topic));
            return;
          } else if (view.broker(topic.leader(tp.partition())) == null) {
            reasons.put(tp, "no leader known");
          } else {
            byLeader.computeIfAbsent(topic.leader(tp.partition()), b -> new ArrayList<>()).add(tp);
          }
        }
        outstanding = byLeader.size();
      }
      if (byLeader.isEmpty()) {
        roundDone();
      }
      byLeader.forEach((broker, partitions) -> ask(view, broker, partitions, left));
    }

    private void ask(ClusterView view, int broker, List<TopicPartition> partitions, long left) {
      ListOffsetsRequest.Builder request = ListOffsetsRequest.newBuilder();
      for (TopicPartition tp : partitions) {
        OffsetSpec spec;
        synchronized (this) {
          spec = todo.get(tp);
        }
        ListOffsetsPartition.Builder p =
            ListOffsetsPartition.newBuilder()
                .setTopicId(view.topic(tp.topic()).id())
                .setPartition(tp.partition());
        if (spec instanceof OffsetSpec.AtTime time) {
          p.setKind(OffsetKind.OFFSET_TIMESTAMP).setTimestamp(time.timestampMillis());
        } else {
          p.setKind(
              spec instanceof OffsetSpec.Latest
                  ? OffsetKind.OFFSET_LATEST
                  : OffsetKind.OFFSET_EARLIEST);
        }
        request.addPartitions(p);
      }
      long wait = Math.max(1, Math.min(left, ATTEMPT_MILLIS));
      request.setContext(metadata.context(wait));
      BrokerAddress address = view.broker(broker);
      connections.send(
          address,
          broker,
          Api.LIST_OFFSETS,
          request.build(),
          null,
          wait,
          new Answer<ListOffsetsResponse>() {
            @Override
            public void done(ListOffsetsResponse response, ByteBuf payload) {
              answered(view, partitions, response);
            }

            @Override
            public void failed(MillraceException failure) {
              if (failure.code() == ErrorCode.CLIENT_CLOSED || !failure.retriable()) {
                fail(failure);
                return;
              }
              synchronized (Run.this) {
                partitions.forEach(tp -> reasons.put(tp, failure.getMessage()));
              }
              oneDone();
            }
          });
    }

    private void answered(
        ClusterView view, List<TopicPartition> partitions, ListOffsetsResponse response) {
      Map<TopicPartition, OffsetAndTime> now = new HashMap<>();
      for (int i = 0; i < Math.min(partitions.size(), response.getResultsCount()); i++) {
        TopicPartition tp = partitions.get(i);
        ListOffsetsResult r = response.getResults(i);
        ErrorInfo error = r.getError();
        ErrorCode code = ErrorCode.of(error.getCode());
        if (code == ErrorCode.NONE) {
          OffsetAndTime offset = new OffsetAndTime(r.getOffset(), r.getTimestamp(), r.getTerm());
          synchronized (this) {
            todo.remove(tp);
            found.put(tp, offset);
          }
          now.put(tp, offset);
        } else if (code.retriable()
            || code == ErrorCode.UNKNOWN_TOPIC
            || code == ErrorCode.UNKNOWN_PARTITION) {
          synchronized (this) {
            reasons.put(tp, code + " " + error.getText());
          }
          if (error.hasLeader()) {
            metadata.leaderHint(
                tp.topic(), view.topic(tp.topic()).id(), tp.partition(), error.getLeader());
          }
        } else {
          fail(MillraceException.of(error));
          return;
        }
      }
      if (!now.isEmpty()) {
        onFound.accept(now);
      }
      oneDone();
    }

    private void oneDone() {
      boolean last;
      synchronized (this) {
        last = --outstanding == 0;
      }
      if (last) {
        roundDone();
      }
    }

    private void roundDone() {
      long delay;
      synchronized (this) {
        if (todo.isEmpty()) {
          result.complete(Map.copyOf(found));
          return;
        }
        delay =
            Math.min(
                BACKOFF.nanos(rounds++), TimeUnit.MILLISECONDS.toNanos(Math.max(0, leftMillis())));
      }
      metadata.refreshSoon();
      try {
        connections.timer().schedule(this::round, delay, TimeUnit.NANOSECONDS);
      } catch (RejectedExecutionException e) {
        fail(new MillraceException(ErrorCode.CLIENT_CLOSED, "the client is closed"));
      }
    }

    private void fail(MillraceException failure) {
      result.completeExceptionally(failure);
    }
  }

  public static UnknownTopicException unknownPartition(TopicPartition tp, TopicView topic) {
    return new UnknownTopicException(
        ErrorCode.UNKNOWN_PARTITION,
        tp.topic(),
        "partition "
            + tp.partition()
            + " of topic '"
            + tp.topic()
            + "' does not exist; it has partitions 0 to "
            + (topic.partitions() - 1),
        Outcome.NOT_DONE);
  }
}
