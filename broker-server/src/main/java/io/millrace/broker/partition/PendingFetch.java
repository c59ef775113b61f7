package io.millrace.broker.partition;

import io.millrace.broker.partition.PartitionCounters.Counter;
import io.millrace.protocol.message.FetchRequest;
import io.netty.util.Timeout;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One fetch, from its arrival to its answer.
 *
 * <p>It looks once; if that gives no answer it registers with its partitions and looks again, since
 * what arrived in between woke nobody. From then on each wake-up is one look, and wake-ups during a
 * look are one more look together.
 *
 * <p>Threads: any. Looks that read files run on the executor, one at a time ({@link #signals}). The
 * first of answer, cancellation and close wins ({@link #finished}).
 */
final class PendingFetch implements FetchHandle, FetchWaiter {

  private static final Logger LOG = LoggerFactory.getLogger(PendingFetch.class);

  /** A local write follows its commit within this time, or soon after. */
  private static final long WRITE_BEHIND_MILLIS = 1;

  private final FetchCoordinator coordinator;
  private final FetchCoordinator.Context context;
  private final FetchRequest request;
  private final List<FetchTarget> targets;
  private final Consumer<FetchAnswer> done;
  private final boolean hasCredit;

  /** Looks asked for and not yet made; whoever raises it from 0 submits the task. */
  private final AtomicInteger signals = new AtomicInteger();

  private final AtomicBoolean finished = new AtomicBoolean();
  private final AtomicBoolean recheckSet = new AtomicBoolean();

  /** Whether it counts as waiting in the budget. */
  private final AtomicBoolean counted = new AtomicBoolean();

  /** Set before it registers anywhere. */
  private volatile boolean registered;

  /** What the last look found and left, because it was less than minBytes. */
  private volatile long bytesFound;

  private volatile boolean expired;
  private volatile Timeout timeout;

  PendingFetch(
      FetchCoordinator coordinator,
      FetchCoordinator.Context context,
      FetchRequest request,
      List<FetchTarget> targets,
      Consumer<FetchAnswer> done) {
    this.coordinator = coordinator;
    this.context = context;
    this.request = request;
    this.targets = targets;
    this.done = done;
    this.hasCredit = new FetchCredit(request).any();
  }

  void start() {
    targets.forEach(FetchTarget::noteSeen);
    if (request.getMaxWaitMillis() == 0) {
      expired = true;
      look();
    } else if (newAttempt().check()) {
      look();
    } else {
      park();
    }
  }

  private FetchAttempt newAttempt() {
    return new FetchAttempt(context, request, targets);
  }

  // ----------------------------------------------------------------------------------- wake-ups

  @Override
  public void dataArrived() {
    // Without credit new records change nothing; with minBytes only enough of them do.
    if (hasCredit && (request.getMinBytes() <= 1 || bytesArrived() >= request.getMinBytes())) {
      look();
    }
  }

  private long bytesArrived() {
    long arrived = bytesFound;
    for (FetchTarget target : targets) {
      arrived += target.arrivedBytes();
    }
    return arrived;
  }

  @Override
  public void stateChanged() {
    look();
  }

  private void expire() {
    expired = true;
    look();
  }

  /** Asks for a look on the executor. */
  private void look() {
    if (finished.get() || signals.getAndIncrement() != 0) {
      return;
    }
    try {
      context.readers().execute(this::run);
    } catch (RejectedExecutionException e) {
      complete(FetchCoordinator.shuttingDown());
    }
  }

  // -------------------------------------------------------------------------------------- looks

  private void run() {
    int made = signals.get();
    do {
      if (finished.get()) {
        return;
      }
      try {
        lookNow();
      } catch (RuntimeException e) {
        LOG.error("A fetch failed", e);
        complete(FetchCoordinator.failed(e));
        return;
      }
      made = signals.addAndGet(-made);
    } while (made != 0);
  }

  private void lookNow() {
    boolean lastLook = expired;
    // Before the check: what arrives in between then counts as still to come.
    targets.forEach(FetchTarget::noteSeen);
    FetchAttempt attempt = newAttempt();
    FetchAnswer answer = null;
    if (attempt.check() || lastLook) {
      answer = attempt.read(coordinator.firstTarget(targets.size()), lastLook);
    }
    if (answer != null) {
      if (lastLook && request.getMaxWaitMillis() > 0) {
        context.counters().increment(Counter.FETCHES_EXPIRED);
      }
      complete(answer);
      return;
    }
    bytesFound = attempt.bytesFound();
    if (!registered) {
      park();
      return;
    }
    if (attempt.writeBehind()) {
      lookAgainSoon();
    }
    if (request.getMinBytes() > 1) {
      // A wake-up during this look judged by the bytes of the look before.
      dataArrived();
    }
  }

  /** Registers with partitions, timer and coordinator; once. */
  private void park() {
    registered = true;
    counted.set(true);
    if (!context.budget().tryWait()) {
      counted.set(false);
      complete(
          FetchCoordinator.throttled(
              "the limit of "
                  + context.budget().maxWaiting()
                  + " waiting fetches of this broker is reached"));
      return;
    }
    context.counters().increment(Counter.FETCHES_PARKED);
    for (FetchTarget target : targets) {
      if (target.partition != null) {
        target.partition.addWaiter(this);
      }
    }
    boolean open = coordinator.addWaiting(this);
    try {
      timeout = context.timer().newTimeout(t -> expire(), waitMillis(), TimeUnit.MILLISECONDS);
    } catch (IllegalStateException | RejectedExecutionException e) {
      open = false;
      LOG.debug("A fetch cannot wait: {}", e.getMessage());
    }
    if (!open) {
      complete(FetchCoordinator.shuttingDown());
    }
    if (finished.get()) {
      // Completed while it registered: that side may have found nothing to undo.
      unregister();
      return;
    }
    FetchAttempt again = newAttempt();
    if (again.check()) {
      look();
    } else if (again.writeBehind()) {
      lookAgainSoon();
    }
  }

  private long waitMillis() {
    long wait = Math.min(request.getMaxWaitMillis(), context.limits().maxWaitMillis());
    long deadline = request.getContext().getDeadlineMillis();
    return deadline > 0 ? Math.min(wait, deadline) : wait;
  }

  private void lookAgainSoon() {
    if (!recheckSet.compareAndSet(false, true)) {
      return;
    }
    try {
      context
          .timer()
          .newTimeout(
              t -> {
                recheckSet.set(false);
                look();
              },
              WRITE_BEHIND_MILLIS,
              TimeUnit.MILLISECONDS);
    } catch (IllegalStateException | RejectedExecutionException e) {
      complete(FetchCoordinator.shuttingDown());
    }
  }

  // ---------------------------------------------------------------------------------------- end

  void complete(FetchAnswer answer) {
    if (!finished.compareAndSet(false, true)) {
      answer.release();
      return;
    }
    unregister();
    try {
      done.accept(answer);
    } catch (RuntimeException e) {
      LOG.error("Could not hand over the answer of a fetch", e);
    }
  }

  @Override
  public void cancel() {
    if (finished.compareAndSet(false, true)) {
      context.counters().increment(Counter.FETCHES_CANCELLED);
      unregister();
    }
  }

  private void unregister() {
    if (!registered) {
      return;
    }
    for (FetchTarget target : targets) {
      if (target.partition != null) {
        target.partition.removeWaiter(this);
      }
    }
    coordinator.removeWaiting(this);
    Timeout pending = timeout;
    if (pending != null) {
      pending.cancel();
    }
    if (counted.compareAndSet(true, false)) {
      context.budget().endWait();
    }
  }
}
