package io.millrace.client.metadata;

import com.google.protobuf.ByteString;
import io.millrace.client.ClientConfig;
import io.millrace.client.error.UnknownTopicException;
import io.millrace.client.error.UnreachableException;
import io.millrace.client.internal.Ticks;
import io.millrace.client.net.Api;
import io.millrace.client.net.Backoff;
import io.millrace.client.net.BrokerAddress;
import io.millrace.client.net.Connections;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.message.BrokerInfo;
import io.millrace.protocol.message.LeaderHint;
import io.millrace.protocol.message.MetadataRequest;
import io.millrace.protocol.message.MetadataResponse;
import io.millrace.protocol.message.RequestContext;
import io.millrace.protocol.message.TopicInfo;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brokers, topics and leaders as last heard. Refreshed when someone misses something, when a broker
 * no longer leads, and now and then.
 *
 * <p>Owns: the view, which never goes back to an older metadata index: such an answer is dropped
 * and another broker asked. Leaders do not stand in the metadata log; among those the higher term
 * wins.
 *
 * <p>Threads: any. One refresh is under way at a time; who asks meanwhile gets the next one.
 * Listeners run on an event loop or on the thread that brought a leader hint, outside the lock.
 */
public final class MetadataCache {

  private static final Logger LOG = LoggerFactory.getLogger(MetadataCache.class);

  private static final long MIN_GAP_MILLIS = 20;
  private static final long WAIT_SLICE_MILLIS = 100;
  private static final double AGE_JITTER = 0.2;

  private final ClientConfig config;
  private final Connections connections;
  private final BrokerPicker picker;
  private final AnyBroker anyBroker;
  private final Backoff backoff;
  private final Set<String> wanted = ConcurrentHashMap.newKeySet();
  private final Map<String, Long> saidUnknownNanos = new ConcurrentHashMap<>();
  private final List<Runnable> listeners = new CopyOnWriteArrayList<>();

  private volatile ClusterView view = ClusterView.EMPTY;
  private volatile String lastFailure = "";

  private final Object lock = new Object();
  // Guarded by lock.
  private boolean running;
  private boolean again;
  private int failures;
  private long lastStartNanos;
  private List<CompletableFuture<ClusterView>> waiters = new ArrayList<>();
  private volatile boolean closed;

  public MetadataCache(ClientConfig config, Connections connections) {
    this.config = config;
    this.connections = connections;
    this.picker =
        new BrokerPicker(
            config.bootstrap().stream().map(BrokerAddress::parse).toList(),
            this::view,
            connections);
    this.anyBroker = new AnyBroker(connections, picker);
    this.backoff = new Backoff(50, 1_000);
    this.lastStartNanos = Ticks.now() - TimeUnit.MILLISECONDS.toNanos(MIN_GAP_MILLIS);
    schedulePeriodic();
  }

  public ClusterView view() {
    return view;
  }

  public AnyBroker anyBroker() {
    return anyBroker;
  }

  /** For every request: who asks, how long it waits, and what it has seen. */
  public RequestContext context(long waitMillis) {
    return RequestContext.newBuilder()
        .setClientId(config.clientId())
        .setDeadlineMillis(waitMillis)
        .setMetadataIndex(view.index())
        .build();
  }

  /** Runs after every change and after every refresh. */
  public void addListener(Runnable listener) {
    listeners.add(listener);
  }

  public void removeListener(Runnable listener) {
    listeners.remove(listener);
  }

  /** Includes the topic in every refresh from now on. */
  public void want(String topic) {
    if (wanted.add(topic)) {
      start(null, true);
    }
  }

  /** Leaves the topic out of refreshes until it is wanted again. */
  public void unwant(String topic) {
    wanted.remove(topic);
    saidUnknownNanos.remove(topic);
  }

  /** When a broker last said that this topic does not exist ({@link Ticks}); -1 = none has. */
  public long saidUnknownNanos(String topic) {
    return saidUnknownNanos.getOrDefault(topic, -1L);
  }

  /** Why the last refresh failed; empty when it did not. */
  public String lastFailure() {
    return lastFailure;
  }

  /** Addresses of known brokers and of the bootstrap list with their last failure. */
  public Map<String, String> failures() {
    return connections.failures(picker.all());
  }

  /**
   * Something that is known proved wrong, or is missing. A refresh that is under way already is
   * enough. The broker that was asked so far may know no better, for instance because the others do
   * not reach it; so from now on more than one is asked in turn.
   */
  public void refreshSoon() {
    picker.openMore();
    start(null, false);
  }

  /** Completes with what a request that begins after this call brings. */
  public CompletableFuture<ClusterView> refresh() {
    CompletableFuture<ClusterView> waiter = new CompletableFuture<>();
    start(waiter, true);
    return waiter;
  }

  /**
   * @param fresh one that is under way is not enough: another follows it
   */
  private void start(CompletableFuture<ClusterView> waiterOrNull, boolean fresh) {
    long delayNanos;
    synchronized (lock) {
      if (closed) {
        if (waiterOrNull != null) {
          waiterOrNull.completeExceptionally(closedError());
        }
        return;
      }
      if (waiterOrNull != null) {
        waiters.add(waiterOrNull);
      }
      if (running) {
        again |= fresh;
        return;
      }
      running = true;
      long sinceLast = Ticks.now() - lastStartNanos;
      delayNanos = TimeUnit.MILLISECONDS.toNanos(MIN_GAP_MILLIS) - sinceLast;
      if (failures > 0) {
        delayNanos = Math.max(delayNanos, backoff.nanos(failures - 1));
      }
    }
    schedule(this::request, Math.max(0, delayNanos));
  }

  private void schedule(Runnable task, long delayNanos) {
    try {
      connections.timer().schedule(task, delayNanos, TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      close();
    }
  }

  private void request() {
    List<CompletableFuture<ClusterView>> served;
    synchronized (lock) {
      lastStartNanos = Ticks.now();
      again = false;
      served = waiters;
      waiters = new ArrayList<>();
    }
    Set<String> topics = new TreeSet<>(wanted);
    anyBroker
        .call(
            Api.METADATA,
            wait ->
                MetadataRequest.newBuilder()
                    .setContext(context(wait))
                    .addAllTopics(topics)
                    .setBrokersOnly(topics.isEmpty())
                    .build(),
            config.requestTimeoutMillis(),
            true)
        .whenComplete((response, failure) -> finished(response, failure, topics, served));
  }

  private void finished(
      MetadataResponse response,
      Throwable failure,
      Set<String> topics,
      List<CompletableFuture<ClusterView>> served) {
    boolean stale = failure == null && !apply(response, topics);
    boolean repeat;
    synchronized (lock) {
      running = false;
      failures = failure == null && !stale ? 0 : failures + 1;
      repeat = again || stale;
      if (stale) {
        waiters.addAll(served);
      }
    }
    if (failure != null) {
      lastFailure = failure.getMessage();
      LOG.debug("metadata refresh failed: {}", failure.getMessage());
      served.forEach(w -> w.completeExceptionally(failure));
    } else if (!stale) {
      lastFailure = "";
      served.forEach(w -> w.complete(view));
    }
    listeners.forEach(Runnable::run);
    if (repeat) {
      start(null, false);
    }
  }

  /** False when the answer is older than what is known. */
  private boolean apply(MetadataResponse response, Set<String> asked) {
    Map<Integer, BrokerAddress> brokers = new HashMap<>();
    for (BrokerInfo broker : response.getBrokersList()) {
      brokers.put(broker.getId(), new BrokerAddress(broker.getHost(), broker.getPort()));
    }
    synchronized (lock) {
      long index = response.getContext().getMetadataIndex();
      if (index < view.index()) {
        LOG.debug("metadata index {} is older than {}: dropped", index, view.index());
        return false;
      }
      Map<String, TopicView> topics = new HashMap<>(view.topics());
      for (TopicInfo info : response.getTopicsList()) {
        if (info.hasError() && info.getError().getCode() != 0) {
          if (info.getError().getCode() == ErrorCode.UNKNOWN_TOPIC.number()) {
            topicUnknown(info.getName(), topics);
          }
        } else {
          saidUnknownNanos.remove(info.getName());
          topics.put(info.getName(), TopicView.of(info, view.topic(info.getName())));
        }
      }
      Set<String> answered = new HashSet<>();
      response.getTopicsList().forEach(t -> answered.add(t.getName()));
      asked.stream().filter(t -> !answered.contains(t)).forEach(t -> topicUnknown(t, topics));
      view = new ClusterView(index, Map.copyOf(brokers), Map.copyOf(topics));
    }
    connections.retain(picker.all());
    return true;
  }

  private void topicUnknown(String topic, Map<String, TopicView> topics) {
    topics.remove(topic);
    saidUnknownNanos.put(topic, Ticks.now());
  }

  /** A broker named the leader, or with leader 0 only said that it is not itself. */
  public void leaderHint(String topic, ByteString topicId, int partition, LeaderHint hint) {
    synchronized (lock) {
      TopicView known = view.topic(topic);
      if (hint.getBrokerId() == TopicView.NO_LEADER
          || known == null
          || !known.id().equals(topicId)
          || partition >= known.partitions()
          || hint.getTerm() < known.term(partition)
          || hint.getTerm() == known.term(partition)
              && hint.getBrokerId() == known.leader(partition)) {
        return;
      }
      Map<Integer, BrokerAddress> brokers = view.brokers();
      if (!brokers.containsKey(hint.getBrokerId()) && !hint.getHost().isEmpty()) {
        brokers = new HashMap<>(brokers);
        brokers.put(hint.getBrokerId(), new BrokerAddress(hint.getHost(), hint.getPort()));
      }
      Map<String, TopicView> topics = new HashMap<>(view.topics());
      topics.put(topic, known.withLeader(partition, hint.getBrokerId(), hint.getTerm()));
      view = new ClusterView(view.index(), Map.copyOf(brokers), Map.copyOf(topics));
    }
    listeners.forEach(Runnable::run);
  }

  /** A topic that this client created: known without another request. */
  public void learned(TopicInfo info, long index) {
    synchronized (lock) {
      Map<String, TopicView> topics = new HashMap<>(view.topics());
      topics.put(info.getName(), TopicView.of(info, view.topic(info.getName())));
      saidUnknownNanos.remove(info.getName());
      view = new ClusterView(Math.max(index, view.index()), view.brokers(), Map.copyOf(topics));
    }
    listeners.forEach(Runnable::run);
  }

  /** From any answer: later metadata must show at least this. */
  public void sawIndex(long index) {
    synchronized (lock) {
      if (index > view.index()) {
        view = new ClusterView(index, view.brokers(), view.topics());
      }
    }
  }

  /**
   * Waits until the topic is known; for an application's thread, not for an event loop.
   *
   * @throws UnknownTopicException when brokers go on saying that it does not exist
   */
  public TopicView awaitTopic(String topic, long timeoutMillis) throws InterruptedException {
    long start = Ticks.now();
    long enough = TimeUnit.MILLISECONDS.toNanos(config.unknownTopicMillis());
    want(topic);
    while (true) {
      TopicView known = view.topic(topic);
      if (known != null) {
        return known;
      }
      if (saidUnknownNanos(topic) >= start + enough) {
        unwant(topic);
        throw new UnknownTopicException(
            topic, "topic '" + topic + "' does not exist; create it, or correct the name");
      }
      long left = timeoutMillis - TimeUnit.NANOSECONDS.toMillis(Ticks.now() - start);
      if (left <= 0) {
        throw new UnreachableException(
            "nothing is known of topic '" + topic + "' after " + timeoutMillis + " ms", failures());
      }
      try {
        refresh().get(Math.min(left, WAIT_SLICE_MILLIS), TimeUnit.MILLISECONDS);
      } catch (ExecutionException e) {
        if (closed) {
          throw closedError();
        }
        LOG.debug("asking for topic {} failed: {}", topic, e.getCause().getMessage());
      } catch (TimeoutException e) {
        LOG.trace("no answer about topic {} yet", topic);
      }
    }
  }

  private void schedulePeriodic() {
    double jitter = 1 - AGE_JITTER * Math.random();
    schedule(
        () -> {
          synchronized (lock) {
            if (closed) {
              return;
            }
          }
          if (view != ClusterView.EMPTY) {
            start(null, false);
          }
          schedulePeriodic();
        },
        (long) (TimeUnit.MILLISECONDS.toNanos(config.metadataMaxAgeMillis()) * jitter));
  }

  public void close() {
    List<CompletableFuture<ClusterView>> left;
    synchronized (lock) {
      closed = true;
      left = waiters;
      waiters = new ArrayList<>();
    }
    left.forEach(w -> w.completeExceptionally(closedError()));
  }

  private static MillraceException closedError() {
    return new MillraceException(ErrorCode.CLIENT_CLOSED, "the client is closed");
  }
}
