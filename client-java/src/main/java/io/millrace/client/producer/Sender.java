package io.millrace.client.producer;

import io.millrace.client.ProducerConfig;
import io.millrace.client.error.ClientClosedException;
import io.millrace.client.error.DeliveryTimeoutException;
import io.millrace.client.error.UnknownTopicException;
import io.millrace.client.internal.ClientContext;
import io.millrace.client.internal.Ticks;
import io.millrace.client.metadata.ClusterView;
import io.millrace.client.metadata.MetadataCache;
import io.millrace.client.metadata.TopicView;
import io.millrace.client.net.Api;
import io.millrace.client.net.Backoff;
import io.millrace.client.net.BrokerAddress;
import io.millrace.protocol.error.Outcome;
import io.millrace.protocol.message.InitProducerIdRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
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
 * <p>Threads: post, wake, register from any; everything else on the sender's own. It never blocks
 * but for the wait until the next event or time; compression runs here, not on an event loop.
 */
final class Sender implements Runnable {

  private static final Logger LOG = LoggerFactory.getLogger(Sender.class);

  private static final long LONGEST_SLEEP_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long EXPIRE_GAP_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final long ASK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final ClientContext context;
  private final ProducerConfig config;
  private final MemoryBudget budget;
  private final MetadataCache metadata;
  private final Map<String, TopicRoute> routes;
  private final ProduceAnswers answers;
  private final ProduceRequests requests;
  private final Backoff backoff;
  private final long deliveryTimeoutNanos;
  private final Thread thread;
  private RecordAppender appender;

  private final ConcurrentLinkedQueue<Runnable> events = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<PartitionLane> newLanes = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<TopicRoute> newRoutes = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean woken = new AtomicBoolean();
  private volatile long sleepsUntilNanos = Ticks.NEVER;

  /** From now on nothing new is taken; set before the last sweep, see {@link #finish}. */
  private volatile boolean finished;

  // Sender thread only.
  private final List<PartitionLane> active = new ArrayList<>();
  private final List<TopicRoute> unresolved = new ArrayList<>();
  private final Map<Integer, Long> throttledUntil = new HashMap<>();
  private final List<FlushTicket> flushes = new ArrayList<>();
  private long flushNanos = -1;
  private long askAgainNanos;
  private long expireAgainNanos;
  private ClusterView checkedView;
  private long producerId = LaneState.NO_PRODUCER_ID;
  private boolean askingForId;
  private int idFailures;
  private long askForIdNanos;
  private String idFailure = "";
  private int firstLane;
  private boolean abort;

  /** Somebody waits until everything begun before a time is decided. */
  private record FlushTicket(long untilNanos, CountDownLatch decided) {}

  Sender(
      ClientContext context,
      ProducerConfig config,
      MemoryBudget budget,
      Map<String, TopicRoute> routes,
      String name) {
    this.context = context;
    this.config = config;
    this.budget = budget;
    this.metadata = context.metadata();
    this.routes = routes;
    this.backoff = new Backoff(config.retryBackoffMillis(), config.retryBackoffMaxMillis());
    this.deliveryTimeoutNanos = TimeUnit.MILLISECONDS.toNanos(config.deliveryTimeoutMillis());
    this.answers =
        new ProduceAnswers(
            this, metadata, context.callbacks(), backoff, config.deliveryTimeoutMillis());
    this.requests = new ProduceRequests(this, context, config);
    this.thread = new Thread(this, name);
    thread.setDaemon(true);
  }

  void start(RecordAppender forWaiting) {
    appender = forWaiting;
    thread.start();
  }

  ProduceAnswers answers() {
    return answers;
  }

  boolean isFinished() {
    return finished;
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
    post(() -> abort = true);
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
      while (!abort) {
        woken.set(false);
        sleepsUntilNanos = Ticks.NEVER;
        long next;
        try {
          next = step();
        } catch (RuntimeException e) {
          LOG.error("sending failed; going on", e);
          next = Ticks.now() + ASK_AGAIN_NANOS;
        }
        sleep(next);
      }
    } finally {
      metadata.removeListener(wakeup);
      context.connections().removeWritableListener(wakeup);
      finish();
    }
  }

  private void sleep(long untilNanos) {
    long until = Math.min(untilNanos, Ticks.now() + LONGEST_SLEEP_NANOS);
    sleepsUntilNanos = until;
    if (!newLanes.isEmpty() || !events.isEmpty() || abort) {
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
    for (TopicRoute r = newRoutes.poll(); r != null; r = newRoutes.poll()) {
      unresolved.add(r);
    }
    long now = Ticks.now();
    long next = resolveRoutes(now);
    for (PartitionLane l = newLanes.poll(); l != null; l = newLanes.poll()) {
      active.add(l);
    }
    expire(now);
    retireDeletedTopics();
    next = Math.min(next, askForProducerId(now));
    next = Math.min(next, send(now));
    removeIdleLanes();
    completeFlushes();
    return next;
  }

  private void runEvents() {
    for (Runnable event = events.poll(); event != null; event = events.poll()) {
      event.run();
    }
  }

  private long resolveRoutes(long now) {
    long next = Ticks.NEVER;
    for (Iterator<TopicRoute> i = unresolved.iterator(); i.hasNext(); ) {
      TopicRoute route = i.next();
      TopicView view = metadata.view().topic(route.topic());
      if (view != null && view.partitions() > 0) {
        route.resolve(
            view,
            config,
            budget,
            (known, waiting) -> appender.appendWaiting(route, known, waiting));
        i.remove();
        continue;
      }
      long oldest = route.oldestNanos();
      long unknownAt = metadata.saidUnknownNanos(route.topic());
      if (unknownAt >= oldest + TimeUnit.MILLISECONDS.toNanos(unknownTopicMillis())) {
        failRoute(
            route, "topic '" + route.topic() + "' does not exist; create it, or correct the name");
        i.remove();
        continue;
      }
      for (TopicRoute.Waiting late : route.waitingSinceBefore(now - deliveryTimeoutNanos)) {
        answers.failWaiting(
            late,
            budget,
            new DeliveryTimeoutException(
                false,
                "nothing is known of topic '"
                    + route.topic()
                    + "' after "
                    + config.deliveryTimeoutMillis()
                    + " ms; brokers: "
                    + metadata.failures()));
      }
      askAgain(now);
      next = Math.min(next, Math.min(askAgainNanos, earliest(route.oldestNanos())));
    }
    return next;
  }

  private long earliest(long createdNanos) {
    return createdNanos == Ticks.NEVER ? Ticks.NEVER : createdNanos + deliveryTimeoutNanos + 1;
  }

  private int unknownTopicMillis() {
    return context.config().unknownTopicMillis();
  }

  private void askAgain(long now) {
    if (now >= askAgainNanos) {
      askAgainNanos = now + ASK_AGAIN_NANOS;
      metadata.refreshSoon();
    }
  }

  private void failRoute(TopicRoute route, String text) {
    routes.remove(route.topic(), route);
    metadata.unwant(route.topic());
    UnknownTopicException failure = new UnknownTopicException(route.topic(), text);
    for (TopicRoute.Waiting waiting : route.retire()) {
      answers.failWaiting(waiting, budget, failure);
    }
    TopicRoute.Known known = route.known();
    if (known != null) {
      for (PartitionLane lane : known.lanes()) {
        lane.state.takeAll().forEach(batch -> answers.topicGone(batch, text));
        lane.retire().forEach(batch -> answers.topicGone(batch, text));
      }
    }
  }

  /** A topic that was made again under the same name is another one. */
  private void retireDeletedTopics() {
    ClusterView view = metadata.view();
    if (view == checkedView) {
      return;
    }
    checkedView = view;
    for (int i = 0; i < active.size(); i++) {
      PartitionLane lane = active.get(i);
      TopicRoute route = routes.get(lane.topic());
      TopicRoute.Known known = route == null ? null : route.known();
      if (known == null || !known.view().id().equals(lane.topicId())) {
        continue;
      }
      TopicView topic = view.topic(lane.topic());
      if (topic == null && metadata.saidUnknownNanos(lane.topic()) >= 0) {
        failRoute(route, "topic '" + lane.topic() + "' was deleted");
      } else if (topic != null && !topic.id().equals(lane.topicId())) {
        failRoute(route, "topic '" + lane.topic() + "' was deleted and created again");
      }
    }
  }

  private void expire(long now) {
    if (now < expireAgainNanos) {
      return;
    }
    expireAgainNanos = now + EXPIRE_GAP_NANOS;
    long bornBefore = now - deliveryTimeoutNanos;
    for (int i = 0; i < active.size(); i++) {
      PartitionLane lane = active.get(i);
      if (lane.state.oldestWaitingNanos() < bornBefore) {
        lane.state.begunBefore(bornBefore).forEach(answers::expired);
      }
      if (lane.oldestNanos() < bornBefore) {
        lane.pollBegunBefore(bornBefore).forEach(answers::expired);
      }
    }
  }

  private long askForProducerId(long now) {
    if (producerId != LaneState.NO_PRODUCER_ID || askingForId || active.isEmpty()) {
      return Ticks.NEVER;
    }
    if (now < askForIdNanos) {
      return askForIdNanos;
    }
    askingForId = true;
    metadata
        .anyBroker()
        .call(
            Api.INIT_PRODUCER_ID,
            wait ->
                InitProducerIdRequest.newBuilder()
                    .setContext(metadata.context(wait))
                    .setProducerId(LaneState.NO_PRODUCER_ID)
                    .build(),
            config.requestTimeoutMillis(),
            true)
        .whenComplete(
            (response, failure) ->
                post(
                    () -> {
                      askingForId = false;
                      if (failure == null) {
                        producerId = response.getProducerId();
                        idFailures = 0;
                        idFailure = "";
                      } else {
                        askForIdNanos = Ticks.now() + backoff.nanos(idFailures++);
                        idFailure = failure.getMessage();
                      }
                    }));
    return Ticks.NEVER;
  }

  void forgetProducerId(long fenced) {
    if (producerId == fenced) {
      producerId = LaneState.NO_PRODUCER_ID;
    }
  }

  private long send(long now) {
    long next = Ticks.NEVER;
    if (active.isEmpty()) {
      return next;
    }
    firstLane = (firstLane + 1) % active.size();
    boolean more = true;
    while (more) {
      more = false;
      for (int i = 0; i < active.size(); i++) {
        PartitionLane lane = active.get((firstLane + i) % active.size());
        more |= sendOne(lane, now);
      }
      requests.sendAll(now);
    }
    for (int i = 0; i < active.size(); i++) {
      next = Math.min(next, nextTime(active.get(i), now));
    }
    return next;
  }

  /** Adds the lane's next batch to a request; false when there is none now. */
  private boolean sendOne(PartitionLane lane, long now) {
    LaneState state = lane.state;
    int leader = leader(lane);
    BrokerAddress address = metadata.view().broker(leader);
    if (address == null) {
      state.blocked("no leader is known for " + lane.topic() + "-" + lane.partition());
      return false;
    }
    if (!context.connections().isWritable(address)
        || throttledUntil.getOrDefault(leader, 0L) > now) {
      return false;
    }
    ProducerBatch batch = state.next(now, flushNanos, config.maxInFlightPerPartition(), producerId);
    if (batch == null) {
      if (producerId == LaneState.NO_PRODUCER_ID && !idFailure.isEmpty()) {
        state.blocked(idFailure);
      }
      return false;
    }
    requests.add(leader, address, batch, now);
    return true;
  }

  private long nextTime(PartitionLane lane, long now) {
    LaneState state = lane.state;
    long expires = Math.min(earliest(state.oldestWaitingNanos()), earliest(lane.oldestNanos()));
    long next = Math.max(expires, expireAgainNanos);
    if (state.notBeforeNanos() > now) {
      next = Math.min(next, state.notBeforeNanos());
    }
    int leader = leader(lane);
    if (metadata.view().broker(leader) == null) {
      askAgain(now);
      return Math.min(next, askAgainNanos);
    }
    long due = lane.dueNanos();
    if (due > now) {
      next = Math.min(next, due);
    }
    long throttled = throttledUntil.getOrDefault(leader, 0L);
    return throttled > now ? Math.min(next, throttled) : next;
  }

  /** Broker id, NO_LEADER when unknown. */
  int leader(PartitionLane lane) {
    TopicView topic = metadata.view().topic(lane.topic());
    return topic == null || !topic.id().equals(lane.topicId())
        ? TopicView.NO_LEADER
        : topic.leader(lane.partition());
  }

  void throttle(int broker, int millis) {
    if (millis > 0) {
      throttledUntil.put(broker, Ticks.now() + TimeUnit.MILLISECONDS.toNanos(millis));
    }
  }

  long deliveryLeftNanos(ProducerBatch batch, long now) {
    return batch.createdNanos + deliveryTimeoutNanos - now;
  }

  private void removeIdleLanes() {
    active.removeIf(lane -> lane.state.idle() && lane.unregisterIfIdle());
  }

  private void completeFlushes() {
    if (flushes.isEmpty()) {
      return;
    }
    long oldest = Ticks.NEVER;
    for (PartitionLane lane : active) {
      oldest = Math.min(oldest, Math.min(lane.state.oldestNanos(), lane.oldestNanos()));
    }
    for (TopicRoute route : unresolved) {
      oldest = Math.min(oldest, route.oldestNanos());
    }
    long undecidedSince = oldest;
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
