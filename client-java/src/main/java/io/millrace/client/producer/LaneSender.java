package io.millrace.client.producer;

import io.millrace.client.ProducerConfig;
import io.millrace.client.internal.ClientContext;
import io.millrace.client.internal.Ticks;
import io.millrace.client.metadata.MetadataCache;
import io.millrace.client.metadata.TopicView;
import io.millrace.client.net.BrokerAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Goes round the lanes that have anything to send: what is due goes out, what is too old ends, what
 * a silent broker holds is taken elsewhere.
 *
 * <p>Threads: the sender's.
 */
final class LaneSender {

  private static final Logger LOG = LoggerFactory.getLogger(LaneSender.class);

  /** An attempt without an answer for so long makes us ask who leads. */
  private static final long SILENT_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** Delivery timeouts are looked at so often. */
  private static final long EXPIRE_GAP_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final ClientContext context;
  private final ProducerConfig config;
  private final MetadataCache metadata;
  private final ProduceAnswers answers;
  private final ProduceRequests requests;
  private final ProducerIdSource producerId;
  private final long deliveryTimeoutNanos;

  private final List<PartitionLane> active = new ArrayList<>();
  private final Map<Integer, Long> throttledUntil = new HashMap<>();
  private long expireAgainNanos;
  private int firstLane;

  /** Somebody must find out who leads. */
  private boolean leaderWanted;

  LaneSender(
      ClientContext context,
      ProducerConfig config,
      ProduceAnswers answers,
      ProduceRequests requests,
      ProducerIdSource producerId) {
    this.context = context;
    this.config = config;
    this.metadata = context.metadata();
    this.answers = answers;
    this.requests = requests;
    this.producerId = producerId;
    this.deliveryTimeoutNanos = TimeUnit.MILLISECONDS.toNanos(config.deliveryTimeoutMillis());
  }

  void add(PartitionLane lane) {
    active.add(lane);
  }

  List<PartitionLane> active() {
    return active;
  }

  /** Creation of the oldest undecided batch; NEVER when there is none. */
  long oldestNanos() {
    long oldest = Ticks.NEVER;
    for (PartitionLane lane : active) {
      oldest = Math.min(oldest, Math.min(lane.state.oldestNanos(), lane.oldestNanos()));
    }
    return oldest;
  }

  /** Whether the last round missed a leader. */
  boolean leaderWanted() {
    return leaderWanted;
  }

  void removeIdle() {
    active.removeIf(lane -> lane.state.idle() && lane.unregisterIfIdle());
  }

  void throttle(int broker, int millis) {
    if (millis > 0) {
      throttledUntil.put(broker, Ticks.now() + TimeUnit.MILLISECONDS.toNanos(millis));
    }
  }

  private boolean isThrottled(int broker, long now) {
    return !throttledUntil.isEmpty() && throttledUntil.getOrDefault(broker, 0L) > now;
  }

  /** Broker id, NO_LEADER when unknown. */
  int leader(PartitionLane lane) {
    TopicView topic = metadata.view().topic(lane.topic());
    return topic == null || !topic.id().equals(lane.topicId())
        ? TopicView.NO_LEADER
        : topic.leader(lane.partition());
  }

  /**
   * One round.
   *
   * @param flushNanos batches begun until then do not wait for the linger time
   * @return when the next is due
   */
  long round(long now, long flushNanos) {
    leaderWanted = false;
    if (active.isEmpty()) {
      return Ticks.NEVER;
    }
    expire(now);
    long next = giveUpSilent(now);
    firstLane = (firstLane + 1) % active.size();
    boolean more = true;
    while (more) {
      more = false;
      for (int i = 0; i < active.size(); i++) {
        more |= sendOne(active.get((firstLane + i) % active.size()), now, flushNanos);
      }
      requests.sendAll(now);
    }
    for (int i = 0; i < active.size(); i++) {
      next = Math.min(next, nextTime(active.get(i), now));
    }
    return next;
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

  /** A leader that is paused or cut off does not say NOT_LEADER: the metadata must. */
  private long giveUpSilent(long now) {
    long next = Ticks.NEVER;
    for (int i = 0; i < active.size(); i++) {
      PartitionLane lane = active.get(i);
      long oldest = lane.state.oldestAttemptNanos();
      if (oldest == Ticks.NEVER) {
        continue;
      }
      if (now - oldest < SILENT_NANOS) {
        next = Math.min(next, oldest + SILENT_NANOS);
        continue;
      }
      leaderWanted = true;
      int leader = leader(lane);
      if (metadata.view().broker(leader) != null) {
        lane.state
            .underWayElsewhere(leader, now - SILENT_NANOS)
            .forEach(batch -> answers.leaderMoved(batch, leader));
      }
    }
    return next;
  }

  /** Adds the lane's next batch to a request; false when there is none now. */
  private boolean sendOne(PartitionLane lane, long now, long flushNanos) {
    LaneState state = lane.state;
    int leader = leader(lane);
    BrokerAddress address = metadata.view().broker(leader);
    if (address == null) {
      state.blocked("no leader is known for " + lane.topic() + "-" + lane.partition());
      return false;
    }
    if (!context.connections().isWritable(address) || isThrottled(leader, now)) {
      return false;
    }
    state.leaderIs(leader);
    ProducerBatch batch;
    try {
      batch = state.next(now, flushNanos, config.maxInFlightPerPartition(), producerId.get());
    } catch (UnbuildableBatchException e) {
      LOG.error("a batch for {}-{} cannot be built", lane.topic(), lane.partition(), e.getCause());
      answers.unbuildable(e.batch(), e.getCause());
      return true;
    }
    if (batch == null) {
      if (producerId.get() == LaneState.NO_PRODUCER_ID && !producerId.failure().isEmpty()) {
        state.blocked(producerId.failure());
      }
      return false;
    }
    requests.add(leader, address, batch, now);
    return true;
  }

  private long nextTime(PartitionLane lane, long now) {
    LaneState state = lane.state;
    long oldest = Math.min(state.oldestWaitingNanos(), lane.oldestNanos());
    long next =
        oldest == Ticks.NEVER
            ? Ticks.NEVER
            : Math.max(oldest + deliveryTimeoutNanos + 1, expireAgainNanos);
    if (state.notBeforeNanos() > now) {
      next = Math.min(next, state.notBeforeNanos());
    }
    int leader = leader(lane);
    if (metadata.view().broker(leader) == null || state.doubtsLeader()) {
      leaderWanted = true;
    }
    long due = lane.dueNanos();
    if (due > now) {
      next = Math.min(next, due);
    }
    return isThrottled(leader, now) ? Math.min(next, throttledUntil.get(leader)) : next;
  }
}
