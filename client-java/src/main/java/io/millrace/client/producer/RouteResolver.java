package io.millrace.client.producer;

import io.millrace.client.ProducerConfig;
import io.millrace.client.error.DeliveryTimeoutException;
import io.millrace.client.error.UnknownTopicException;
import io.millrace.client.internal.ClientContext;
import io.millrace.client.internal.Ticks;
import io.millrace.client.metadata.ClusterView;
import io.millrace.client.metadata.MetadataCache;
import io.millrace.client.metadata.TopicView;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Topics that are not known yet, and topics that are gone.
 *
 * <p>Threads: the sender's.
 */
final class RouteResolver {

  private final ClientContext context;
  private final ProducerConfig config;
  private final MetadataCache metadata;
  private final MemoryBudget budget;
  private final Map<String, TopicRoute> routes;
  private final ProduceAnswers answers;
  private final RecordAppender appender;
  private final List<TopicRoute> unresolved = new ArrayList<>();
  private ClusterView checkedView;

  RouteResolver(
      ClientContext context,
      ProducerConfig config,
      MemoryBudget budget,
      Map<String, TopicRoute> routes,
      ProduceAnswers answers,
      RecordAppender appender) {
    this.context = context;
    this.config = config;
    this.metadata = context.metadata();
    this.budget = budget;
    this.routes = routes;
    this.answers = answers;
    this.appender = appender;
  }

  void add(TopicRoute route) {
    unresolved.add(route);
  }

  boolean allKnown() {
    return unresolved.isEmpty();
  }

  /** Since when the oldest record waits for its topic; NEVER when none does. */
  long oldestNanos() {
    long oldest = Ticks.NEVER;
    for (TopicRoute route : unresolved) {
      oldest = Math.min(oldest, route.oldestNanos());
    }
    return oldest;
  }

  void resolve(long now) {
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
      } else if (isUnknown(route)) {
        fail(route, "topic '" + route.topic() + "' does not exist; create it, or correct the name");
        i.remove();
      } else {
        expire(route, now);
        if (metadata.saidUnknownNanos(route.topic()) >= 0 && route.retireIfEmpty()) {
          fail(route, "topic '" + route.topic() + "' does not exist");
          i.remove();
        }
      }
    }
  }

  private boolean isUnknown(TopicRoute route) {
    long enough = TimeUnit.MILLISECONDS.toNanos(context.config().unknownTopicMillis());
    long oldest = route.oldestNanos();
    return oldest != Ticks.NEVER && metadata.saidUnknownNanos(route.topic()) >= oldest + enough;
  }

  private void expire(TopicRoute route, long now) {
    long timeout = TimeUnit.MILLISECONDS.toNanos(config.deliveryTimeoutMillis());
    for (TopicRoute.Waiting late : route.waitingSinceBefore(now - timeout)) {
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
  }

  /** Looks even if the metadata has not changed since the last time. */
  void checkAgain() {
    checkedView = null;
  }

  /** Ends topics that were deleted. One made again under the same name is another one. */
  void retireDeleted(List<PartitionLane> active) {
    ClusterView view = metadata.view();
    if (view == checkedView) {
      return;
    }
    checkedView = view;
    for (PartitionLane lane : active) {
      TopicRoute route = routes.get(lane.topic());
      TopicRoute.Known known = route == null ? null : route.known();
      if (known == null || !known.view().id().equals(lane.topicId())) {
        continue;
      }
      TopicView topic = view.topic(lane.topic());
      if (topic == null && metadata.saidUnknownNanos(lane.topic()) >= 0) {
        fail(route, "topic '" + lane.topic() + "' was deleted");
      } else if (topic != null && !topic.id().equals(lane.topicId())) {
        fail(route, "topic '" + lane.topic() + "' was deleted and created again");
      }
    }
  }

  private void fail(TopicRoute route, String text) {
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
}
