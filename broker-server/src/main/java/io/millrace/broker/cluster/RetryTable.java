package io.millrace.broker.cluster;

import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;

/**
 * Failed steps per replica and when to try again: at once doubled pauses, up to a cap.
 *
 * <p>Threads: one caller, except {@link #reasons}, which any may call.
 */
final class RetryTable {

  static final long FIRST_PAUSE_MILLIS = 500;
  static final long MAX_PAUSE_MILLIS = 30_000;

  private record Failure(int count, long retryAtMillis, String reason) {}

  private final Map<ReplicaId, Failure> failures = new TreeMap<>();

  synchronized void failed(ReplicaId id, String reason, long nowMillis) {
    Failure before = failures.get(id);
    int count = before == null ? 1 : before.count() + 1;
    long pause = Math.min(MAX_PAUSE_MILLIS, FIRST_PAUSE_MILLIS << Math.min(16, count - 1));
    failures.put(id, new Failure(count, nowMillis + pause, reason));
  }

  synchronized void succeeded(ReplicaId id) {
    failures.remove(id);
  }

  /** Forgets replicas that are no concern any more. */
  synchronized void retainAll(Collection<ReplicaId> ids) {
    failures.keySet().retainAll(ids);
  }

  synchronized boolean hasFailed(ReplicaId id) {
    return failures.containsKey(id);
  }

  synchronized boolean isDue(ReplicaId id, long nowMillis) {
    Failure failure = failures.get(id);
    return failure == null || failure.retryAtMillis() <= nowMillis;
  }

  /** Milliseconds until the earliest retry; Long.MAX_VALUE if nothing failed. */
  synchronized long millisUntilNext(long nowMillis) {
    long next = Long.MAX_VALUE;
    for (Failure failure : failures.values()) {
      next = Math.min(next, Math.max(0, failure.retryAtMillis() - nowMillis));
    }
    return next;
  }

  synchronized Map<ReplicaId, String> reasons() {
    Map<ReplicaId, String> reasons = new TreeMap<>();
    failures.forEach((id, f) -> reasons.put(id, f.reason() + " (failed " + f.count() + " times)"));
    return reasons;
  }
}
