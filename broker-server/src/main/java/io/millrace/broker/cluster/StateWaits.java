package io.millrace.broker.cluster;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;

/**
 * Requests that wait until something that this broker observes becomes true.
 *
 * <p>Owns: the waits; each ends at the latest at its deadline, so there are never more than
 * requests in progress.
 *
 * <p>Threads: any. Conditions are checked by {@link #check} on the thread that made the change and
 * must be quick.
 */
final class StateWaits {

  private final Scheduler scheduler;
  private final Set<Wait> waits = new LinkedHashSet<>();

  StateWaits(Scheduler scheduler) {
    this.scheduler = scheduler;
  }

  private record Wait(BooleanSupplier condition, CompletableFuture<Boolean> future) {
    @Override
    public boolean equals(Object other) {
      return this == other;
    }

    @Override
    public int hashCode() {
      return System.identityHashCode(this);
    }
  }

  /**
   * @return true as soon as the condition holds, false at the end of the time
   */
  CompletableFuture<Boolean> await(BooleanSupplier condition, long timeoutMillis) {
    CompletableFuture<Boolean> future = new CompletableFuture<>();
    Wait wait = new Wait(condition, future);
    synchronized (waits) {
      waits.add(wait);
    }
    Scheduler.Scheduled deadline =
        scheduler.schedule(timeoutMillis, () -> future.complete(condition.getAsBoolean()));
    future.whenComplete(
        (met, failure) -> {
          synchronized (waits) {
            waits.remove(wait);
          }
          deadline.cancel();
        });
    // After it was added, so that a change in between is seen by one of the two.
    if (condition.getAsBoolean()) {
      future.complete(true);
    }
    return future;
  }

  /** Something changed. */
  void check() {
    List<Wait> all;
    synchronized (waits) {
      if (waits.isEmpty()) {
        return;
      }
      all = new ArrayList<>(waits);
    }
    for (Wait wait : all) {
      if (wait.condition().getAsBoolean()) {
        wait.future().complete(true);
      }
    }
  }

  int size() {
    synchronized (waits) {
      return waits.size();
    }
  }
}
