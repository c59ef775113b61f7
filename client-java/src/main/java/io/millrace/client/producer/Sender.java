package io.millrace.client.producer;

import io.millrace.client.ProducerConfig;
import io.millrace.client.error.ClientClosedException;
import io.millrace.client.internal.ClientContext;
import io.millrace.client.internal.Ticks;
import io.millrace.client.metadata.MetadataCache;
import io.millrace.client.net.Backoff;
import io.millrace.protocol.error.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread that sends a producer's batches: it closes them, gives them sequences, groups them by
 * leader and decides what follows from every answer.
 *
 * <p>Owns: the state of all lanes with anything to send, the producer id. Being one thread, it
 * needs no lock for them; answers and metadata changes reach it as events.
 *
 * <p>Threads: post, wake, register, flush, stop from any; everything else on the sender's own. It
 * never blocks but for the wait until the next event or time; compression runs here, not on an
 * event loop.
 */
final class Sender implements Runnable {

  private static final Logger LOG = LoggerFactory.getLogger(Sender.class);

  private static final long LONGEST_SLEEP_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** While a topic or leader is missing, metadata is asked for so often. */
  private static final long ASK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final ClientContext context;
  private final MetadataCache metadata;
  private final MemoryBudget budget;
  private final Map<String, TopicRoute> routes;
  private final long deliveryTimeoutNanos;
  private final ProduceAnswers answers;
  private final ProducerIdSource producerId;
  private final LaneSender lanes;
  private final RouteResolver topics;
  private final RecordAppender appender;
  private final Thread thread;

  private final ConcurrentLinkedQueue<Runnable> events = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<PartitionLane> newLanes = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<TopicRoute> newRoutes = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean woken = new AtomicBoolean();
  private volatile long sleepsUntilNanos = Ticks.NEVER;

  /** From now on nothing new is taken; set before the last sweep, see {@link #finish}. */
  private volatile boolean finished;

  // Sender thread only.
  private final List<FlushTicket> flushes = new ArrayList<>();
  private long flushNanos = -1;
  private long askAgainNanos;
  private boolean stop;

  /** Somebody waits until everything begun before a time is decided. */
  private record FlushTicket(long untilNanos, CountDownLatch decided) {}

  Sender(
      ClientContext context,
      ProducerConfig config,
      MemoryBudget budget,
      Map<String, TopicRoute> routes,
      String name) {
    this.context = context;
    this.metadata = context.metadata();
    this.budget = budget;
    this.routes = routes;
    this.deliveryTimeoutNanos = TimeUnit.MILLISECONDS.toNanos(config.deliveryTimeoutMillis());
    Backoff backoff = new Backoff(config.retryBackoffMillis(), config.retryBackoffMaxMillis());
    this.answers =
        new ProduceAnswers(
            this, metadata, context.callbacks(), backoff, config.deliveryTimeoutMillis());
    this.producerId = new ProducerIdSource(this, metadata, backoff, config.requestTimeoutMillis());
    this.lanes =
        new LaneSender(
            context, config, answers, new ProduceRequests(this, context, config), producerId);
    this.appender = new RecordAppender(config, budget, metadata, routes, this);
    this.topics = new RouteResolver(context, config, budget, routes, answers, appender);
    this.thread = new Thread(this, name);
    thread.setDaemon(true);
  }

  void start() {
    thread.start();
  }

  RecordAppender appender() {
    return appender;
  }

  ProduceAnswers answers() {
    return answers;
  }

  LaneSender lanes() {
    return lanes;
  }

  ProducerIdSource producerId() {
    return producerId;
  }

  boolean isFinished() {
    return finished;
  }

  long deliveryLeftNanos(ProducerBatch batch, long now) {
    return batch.createdNanos + deliveryTimeoutNanos - now;
  }

  // ------------------------------------------------------------------------------ any thread

  void post(Runnable event) {
    events.add(event);
    wake();
  }

  void wake() {
    if (woken.compareAndSet(false, true)) {
      LockSupport.unpark(thread);
    }
  }

  /** A lane has its first batch. */
  void register(PartitionLane lane) {
    newLanes.add(lane);
  }

  void register(TopicRoute route) {
    newRoutes.add(route);
    wake();
  }

  /** A batch is due at that time; wakes the sender only if it would sleep longer. */
  void batchDue(long dueNanos) {
    if (dueNanos < sleepsUntilNanos) {
      wake();
    }
  }

  CountDownLatch flush() {
    CountDownLatch decided = new CountDownLatch(1);
    long now = Ticks.now();
    post(
        () -> {
          flushes.add(new FlushTicket(now, decided));
          flushNanos = Math.max(flushNanos, now);
        });
    return decided;
  }

  /** Fails what is left and ends the thread. */
  void stop() {
    post(() -> stop = true);
  }

  boolean join(long millis) throws InterruptedException {
    thread.join(millis);
    return !thread.isAlive();
  }

  // ------------------------------------------------------------------------------ sender thread

  @Override
  public void run() {
    Runnable wakeup = this::wake;
    metadata.addListener(wakeup);
    context.connections().addWritableListener(wakeup);
    try {
      while (!stop) {
        woken.set(false);
        sleepsUntilNanos = Ticks.NEVER;
        sleep(stepOrLog());
      }
    } finally {
      metadata.removeListener(wakeup);
      context.connections().removeWritableListener(wakeup);
      finish();
    }
  }

  private long stepOrLog() {
    try {
      return step();
    } catch (RuntimeException e) {
      LOG.error("a round of sending failed; going on with the next", e);
      return Ticks.now() + ASK_AGAIN_NANOS;
    }
  }

  /**
   * What happens after the last look at the queues wakes the thread: callers wake it while it says
   * that it sleeps for ever, which it does until this point.
   */
  private void sleep(long untilNanos) {
    long until = Math.min(untilNanos, Ticks.now() + LONGEST_SLEEP_NANOS);
    sleepsUntilNanos = until;
    if (stop || !newLanes.isEmpty() || !events.isEmpty()) {
      return;
    }
    long nanos = until - Ticks.now();
    if (nanos > 0 && !woken.get()) {
      LockSupport.parkNanos(this, nanos);
    }
  }

  /** Everything that can be done now; returns when there is more. */
  private long step() {
    runEvents();
    for (TopicRoute route = newRoutes.poll(); route != null; route = newRoutes.poll()) {
      topics.add(route);
    }
    long now = Ticks.now();
    topics.resolve(now);
    for (PartitionLane lane = newLanes.poll(); lane != null; lane = newLanes.poll()) {
      lanes.add(lane);
      topics.checkAgain();
    }
    topics.retireDeleted(lanes.active());
    long next = lanes.active().isEmpty() ? Ticks.NEVER : producerId.ask(now);
    next = Math.min(next, lanes.round(now, flushNanos));
    lanes.removeIdle();
    completeFlushes();
    if (lanes.leaderWanted() || !topics.allKnown()) {
      next = Math.min(next, askForMetadata(now));
    }
    return next;
  }

  private void runEvents() {
    for (Runnable event = events.poll(); event != null; event = events.poll()) {
      event.run();
    }
  }

  private long askForMetadata(long now) {
    if (now >= askAgainNanos) {
      askAgainNanos = now + ASK_AGAIN_NANOS;
      metadata.refreshSoon();
    }
    return askAgainNanos;
  }

  private void completeFlushes() {
    if (flushes.isEmpty()) {
      return;
    }
    long undecidedSince = Math.min(lanes.oldestNanos(), topics.oldestNanos());
    flushes.removeIf(
        ticket -> {
          boolean done = ticket.untilNanos() < undecidedSince;
          if (done) {
            ticket.decided().countDown();
          }
          return done;
        });
  }

  /** No record may be left in a lane or route without an answer. */
  private void finish() {
    finished = true;
    runEvents();
    for (TopicRoute route : List.copyOf(routes.values())) {
      ClientClosedException failure =
          new ClientClosedException(
              "the producer was closed before topic '" + route.topic() + "' was known",
              Outcome.NOT_DONE);
      for (TopicRoute.Waiting waiting : route.retire()) {
        answers.failWaiting(waiting, budget, failure);
      }
      TopicRoute.Known known = route.known();
      if (known != null) {
        for (PartitionLane lane : known.lanes()) {
          lane.state.takeAll().forEach(answers::closed);
          lane.retire().forEach(answers::closed);
        }
      }
    }
    runEvents();
    flushes.forEach(ticket -> ticket.decided().countDown());
  }
}
