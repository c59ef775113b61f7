package io.millrace.broker.cluster;

import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.protocol.message.AlterTopicRequest;
import io.millrace.protocol.message.AlterTopicResponse;
import io.millrace.protocol.message.CreateTopicRequest;
import io.millrace.protocol.message.CreateTopicResponse;
import io.millrace.protocol.message.DeleteTopicRequest;
import io.millrace.protocol.message.DeleteTopicResponse;
import io.millrace.protocol.message.MetadataRequest;
import io.millrace.protocol.message.MetadataResponse;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntPredicate;
import java.util.function.Supplier;

/** The {@link MetadataService} of a broker: the parts of this package behind one front. */
public final class ClusterMetadata implements MetadataService, AutoCloseable {

  /** Leaders of deleted topics are forgotten so often. */
  private static final long SWEEP_MILLIS = 60_000;

  private final MetadataGroup group;
  private final LeaderDirectory leaders;
  private final MetadataDescriber describer;
  private final CommandSubmitter submitter;
  private final TopicAdmin topics;
  private final MetadataGroup.Listener metadataListener;
  private final LeaderDirectory.Listener leaderListener;
  private final Scheduler scheduler;
  private Scheduler.Scheduled sweep;
  private boolean closed;

  /**
   * @param reachable whether another broker is connected now
   * @param topicIds random ids of new topics: UUID::randomUUID outside of tests
   */
  public ClusterMetadata(
      LocalBroker self,
      MetadataGroup group,
      LeaderDirectory leaders,
      IntPredicate reachable,
      MetadataForwarder forwarder,
      Scheduler scheduler,
      Supplier<UUID> topicIds) {
    this.group = group;
    this.leaders = leaders;
    this.scheduler = scheduler;
    describer = new MetadataDescriber(self, group, leaders, reachable);
    submitter =
        new CommandSubmitter(
            group,
            self.id(),
            new CommandPreparer(group, self.id(), reachable),
            forwarder,
            scheduler);
    StateWaits waits = new StateWaits(scheduler);
    topics = new TopicAdmin(group, leaders, submitter, describer, waits, scheduler, topicIds);
    metadataListener = waits::check;
    leaderListener = waits::check;
    group.addListener(metadataListener);
    leaders.addListener(leaderListener);
    sweepLater();
  }

  private void sweep() {
    leaders.forgetTopics(id -> group.state().topic(id) != null);
    sweepLater();
  }

  private synchronized void sweepLater() {
    if (!closed) {
      sweep = scheduler.schedule(SWEEP_MILLIS, this::sweep);
    }
  }

  @Override
  public MetadataState state() {
    return group.state();
  }

  @Override
  public MetadataResponse describe(MetadataRequest request) {
    return describer.describe(request);
  }

  @Override
  public CompletableFuture<MetadataResult> submit(MetadataCommand command, long timeoutMillis) {
    return submitter.submit(command, timeoutMillis);
  }

  @Override
  public CompletableFuture<MetadataResult> submitForwarded(
      MetadataCommand command, long timeoutMillis) {
    return submitter.submitForwarded(command, timeoutMillis);
  }

  @Override
  public CompletableFuture<CreateTopicResponse> createTopic(CreateTopicRequest request) {
    return topics.createTopic(request);
  }

  @Override
  public CompletableFuture<AlterTopicResponse> alterTopic(AlterTopicRequest request) {
    return topics.alterTopic(request);
  }

  @Override
  public CompletableFuture<DeleteTopicResponse> deleteTopic(DeleteTopicRequest request) {
    return topics.deleteTopic(request);
  }

  /** Stops listening; requests in progress end at their deadlines. */
  @Override
  public synchronized void close() {
    closed = true;
    group.removeListener(metadataListener);
    leaders.removeListener(leaderListener);
    sweep.cancel();
  }
}
