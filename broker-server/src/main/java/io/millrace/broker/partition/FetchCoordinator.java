package io.millrace.broker.partition;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.FetchPartition;
import io.millrace.protocol.message.FetchRequest;
import io.millrace.protocol.message.FetchResponse;
import io.millrace.protocol.message.ResponseContext;
import io.netty.util.Timer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * Answers fetches over many partitions at once, now or when there is something to answer with.
 *
 * <p>Owns: the fetches that wait. One timer serves all of them; files are read on the executor,
 * where a fetch has at most one task.
 *
 * <p>Threads: any; {@link #fetch} never blocks.
 */
public final class FetchCoordinator implements AutoCloseable {

  /** What a reader that was refused for lack of room should wait. */
  static final int THROTTLE_MILLIS = 100;

  /**
   * @param timer of all waits, with a tick of a few milliseconds
   * @param readers runs what reads files; bounded by the number of fetches that exist
   */
  public record Context(
      Timer timer,
      Executor readers,
      FetchBudget budget,
      FetchLimits limits,
      PartitionCounters counters,
      SliceInspector inspector) {

    public Context {
      Objects.requireNonNull(timer, "timer");
      Objects.requireNonNull(readers, "readers");
      Objects.requireNonNull(budget, "budget");
      Objects.requireNonNull(limits, "limits");
      Objects.requireNonNull(counters, "counters");
      Objects.requireNonNull(inspector, "inspector");
    }
  }

  private static final int GOLDEN_RATIO = 0x9E3779B9;

  private final Context context;
  private final AtomicInteger rotation = new AtomicInteger();
  private final Set<PendingFetch> waiting = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  public FetchCoordinator(Context context) {
    this.context = context;
  }

  /**
   * @param done gets the answer at most once, on any thread, perhaps before this returns; it must
   *     release the answer. Never called for a fetch that was cancelled before it had an answer
   */
  public FetchHandle fetch(
      FetchRequest request, PartitionLookup lookup, Consumer<FetchAnswer> done) {
    context.counters().increment(PartitionCounters.Counter.FETCHES);
    ErrorInfo malformed = FetchRequestCheck.refusal(request, context.limits());
    if (malformed != null) {
      done.accept(refused(malformed, 0));
      return () -> {};
    }
    PendingFetch fetch = new PendingFetch(this, context, request, targets(request, lookup), done);
    fetch.start();
    return fetch;
  }

  private static List<FetchTarget> targets(FetchRequest request, PartitionLookup lookup) {
    List<FetchTarget> targets = new ArrayList<>(request.getPartitionsCount());
    for (FetchPartition wanted : request.getPartitionsList()) {
      UUID topicId = PartitionId.fromBytes(wanted.getTopicId());
      Partition partition = topicId == null ? null : lookup.find(topicId, wanted.getPartition());
      ErrorInfo missing = null;
      if (topicId == null) {
        missing =
            ErrorCode.UNKNOWN_TOPIC.toInfo(
                "topic id of " + wanted.getTopicId().size() + " bytes; it must have 16");
      } else if (partition == null) {
        missing = lookup.explainMissing(topicId, wanted.getPartition());
      }
      targets.add(new FetchTarget(wanted, partition, missing));
    }
    return targets;
  }

  /**
   * Which target is served first: spread evenly over time, and not in step with the requests of
   * several readers that take turns.
   */
  int firstTarget(int targets) {
    return Integer.remainderUnsigned(rotation.getAndIncrement() * GOLDEN_RATIO, targets);
  }

  /** False when no more can wait; the fetch is then answered at once. */
  boolean addWaiting(PendingFetch fetch) {
    waiting.add(fetch);
    return !closed;
  }

  void removeWaiting(PendingFetch fetch) {
    waiting.remove(fetch);
  }

  /** Answers every fetch that waits. The timer and the executor belong to the caller. */
  @Override
  public void close() {
    closed = true;
    waiting.forEach(fetch -> fetch.complete(shuttingDown()));
  }

  static FetchAnswer shuttingDown() {
    return refused(ErrorCode.SHUTTING_DOWN.toInfo("the broker is stopping"), 0);
  }

  static FetchAnswer failed(RuntimeException cause) {
    return refused(ErrorCode.SERVER_ERROR.toInfo("the fetch failed: " + cause), 0);
  }

  static FetchAnswer throttled(String why) {
    return refused(ErrorCode.THROTTLED.toInfo(why + "; fetch again later"), THROTTLE_MILLIS);
  }

  private static FetchAnswer refused(ErrorInfo error, int throttleMillis) {
    return new FetchAnswer(
        FetchResponse.newBuilder()
            .setContext(
                ResponseContext.newBuilder().setError(error).setThrottleMillis(throttleMillis))
            .build());
  }
}
