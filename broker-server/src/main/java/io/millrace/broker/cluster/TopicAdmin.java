package io.millrace.broker.cluster;

import io.millrace.broker.cluster.TopicSettingsRules.Refusal;
import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.AlterTopicRequest;
import io.millrace.protocol.message.AlterTopicResponse;
import io.millrace.protocol.message.CreateTopicRequest;
import io.millrace.protocol.message.CreateTopicResponse;
import io.millrace.protocol.message.DeleteTopicRequest;
import io.millrace.protocol.message.DeleteTopicResponse;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.ResponseContext;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * Creates and deletes topics for clients of this broker.
 *
 * <p>A topic counts as created when each of its partitions has a leader, so that the first produce
 * after the answer finds one. When the deadline comes first the answer is IN_PROGRESS: the topic is
 * there and its partitions follow.
 *
 * <p>Threads: any; nothing blocks.
 */
final class TopicAdmin {

  private final MetadataGroup group;
  private final LeaderDirectory leaders;
  private final CommandSubmitter submitter;
  private final MetadataDescriber describer;
  private final StateWaits waits;
  private final Scheduler scheduler;
  private final Supplier<UUID> topicIds;

  TopicAdmin(
      MetadataGroup group,
      LeaderDirectory leaders,
      CommandSubmitter submitter,
      MetadataDescriber describer,
      StateWaits waits,
      Scheduler scheduler,
      Supplier<UUID> topicIds) {
    this.group = group;
    this.leaders = leaders;
    this.submitter = submitter;
    this.describer = describer;
    this.waits = waits;
    this.scheduler = scheduler;
    this.topicIds = topicIds;
  }

  CompletableFuture<CreateTopicResponse> createTopic(CreateTopicRequest request) {
    long deadline = scheduler.nowMillis() + Deadlines.millisFor(request.getContext());
    Optional<Refusal> fault =
        TopicSettingsRules.checkName(request.getName())
            .or(() -> TopicSettingsRules.checkSettings(request.getSettings()));
    if (fault.isPresent()) {
      return CompletableFuture.completedFuture(
          createFailed(fault.get().code().toInfo(fault.get().text())));
    }
    UUID id = topicIds.get();
    return submitter
        .submit(
            MetadataCommands.createTopic(request.getName(), id, request.getSettings()),
            remaining(deadline))
        .thenCompose(result -> createSubmitted(request.getName(), id, result, deadline));
  }

  private CompletableFuture<CreateTopicResponse> createSubmitted(
      String name, UUID id, MetadataResult result, long deadline) {
    if (MetadataResults.isDone(result)) {
      return waits
          .await(() -> isSettled(id, result.getIndex()), remaining(deadline))
          .thenApply(met -> created(name, id, result.getIndex()));
    }
    return switch (MetadataResults.code(result).outcome()) {
      case DONE, NOT_DONE ->
          CompletableFuture.completedFuture(createFailed(MetadataResults.errorInfo(result)));
      case UNKNOWN ->
          // The command is not sent again: a topic deleted meanwhile would come back. If it is in
          // the log this broker sees it soon.
          waits
              .await(() -> group.state().topic(id) != null, remaining(deadline))
              .thenCompose(
                  seen ->
                      seen
                          ? waits
                              .await(() -> isSettled(id, 0), remaining(deadline))
                              .thenApply(met -> created(name, id, 0))
                          : CompletableFuture.completedFuture(
                              createFailed(MetadataResults.errorInfo(result))));
    };
  }

  /** Nothing is left to wait for: all partitions are led, or the topic is gone again. */
  private boolean isSettled(UUID id, long createdIndex) {
    MetadataState state = group.state();
    if (state.index() < createdIndex) {
      return false;
    }
    TopicEntry topic = state.topic(id);
    return topic == null || led(topic) == topic.partitions().size();
  }

  private int led(TopicEntry topic) {
    int led = 0;
    for (int p = 0; p < topic.partitions().size(); p++) {
      if (leaders.leader(topic.id(), p).broker() != 0) {
        led++;
      }
    }
    return led;
  }

  private CreateTopicResponse created(String name, UUID id, long createdIndex) {
    MetadataState state = group.state();
    TopicEntry topic = state.topic(id);
    if (topic == null && state.index() >= createdIndex) {
      return createFailed(
          ErrorCode.UNKNOWN_TOPIC.toInfo(
              "topic " + name + " was created and, while its partitions started, deleted again"));
    }
    if (topic == null) {
      return createFailed(
          ErrorCode.IN_PROGRESS.toInfo(
              "topic "
                  + name
                  + " is created, but this broker knows the metadata only up to index "
                  + state.index()
                  + " of "
                  + createdIndex
                  + " yet; see `topic describe "
                  + name
                  + "`"));
    }
    int led = led(topic);
    CreateTopicResponse.Builder response =
        CreateTopicResponse.newBuilder().setTopic(describer.describe(topic));
    ResponseContext.Builder context = context();
    if (led < topic.partitions().size()) {
      context.setError(
          ErrorCode.IN_PROGRESS.toInfo(
              "topic "
                  + name
                  + " is created, "
                  + led
                  + " of "
                  + topic.partitions().size()
                  + " partitions have a leader yet; see `topic describe "
                  + name
                  + "`"));
    }
    return response.setContext(context).build();
  }

  private CreateTopicResponse createFailed(ErrorInfo error) {
    return CreateTopicResponse.newBuilder().setContext(context().setError(error)).build();
  }

  CompletableFuture<AlterTopicResponse> alterTopic(AlterTopicRequest request) {
    long deadline = scheduler.nowMillis() + Deadlines.millisFor(request.getContext());
    return submitter
        .submit(
            MetadataCommands.alterTopic(request.getName(), request.getChanges()),
            remaining(deadline))
        .thenCompose(result -> alterSubmitted(request.getName(), result, deadline));
  }

  private CompletableFuture<AlterTopicResponse> alterSubmitted(
      String name, MetadataResult result, long deadline) {
    if (!MetadataResults.isDone(result)) {
      return CompletableFuture.completedFuture(
          AlterTopicResponse.newBuilder()
              .setContext(context().setError(MetadataResults.errorInfo(result)))
              .build());
    }
    return waits
        .await(() -> group.state().index() >= result.getIndex(), remaining(deadline))
        .thenApply(
            met -> {
              AlterTopicResponse.Builder response =
                  AlterTopicResponse.newBuilder().setContext(context());
              TopicEntry topic = group.state().topic(name);
              return topic == null
                  ? response
                      .setContext(
                          context()
                              .setError(
                                  ErrorCode.UNKNOWN_TOPIC.toInfo(
                                      "topic " + name + " was changed and then deleted")))
                      .build()
                  : response.setTopic(describer.describe(topic)).build();
            });
  }

  CompletableFuture<DeleteTopicResponse> deleteTopic(DeleteTopicRequest request) {
    long deadline = scheduler.nowMillis() + Deadlines.millisFor(request.getContext());
    String name = request.getName();
    if (name.isEmpty() || name.length() > TopicSettingsRules.MAX_NAME_LENGTH) {
      return CompletableFuture.completedFuture(
          deleteFailed(
              ErrorCode.INVALID_TOPIC_NAME.toInfo(
                  "a topic name has 1 to "
                      + TopicSettingsRules.MAX_NAME_LENGTH
                      + " characters, this one "
                      + name.length())));
    }
    return submitter
        .submit(MetadataCommands.deleteTopic(name), remaining(deadline))
        .thenCompose(result -> deleteSubmitted(result, deadline));
  }

  private CompletableFuture<DeleteTopicResponse> deleteSubmitted(
      MetadataResult result, long deadline) {
    if (!MetadataResults.isDone(result)) {
      return CompletableFuture.completedFuture(deleteFailed(MetadataResults.errorInfo(result)));
    }
    // So that the next question to this broker does not show the topic any more. Done either way.
    return waits
        .await(() -> group.state().index() >= result.getIndex(), remaining(deadline))
        .thenApply(met -> DeleteTopicResponse.newBuilder().setContext(context()).build());
  }

  private DeleteTopicResponse deleteFailed(ErrorInfo error) {
    return DeleteTopicResponse.newBuilder().setContext(context().setError(error)).build();
  }

  private ResponseContext.Builder context() {
    return ResponseContext.newBuilder().setMetadataIndex(group.state().index());
  }

  private long remaining(long deadline) {
    return Math.max(1, deadline - scheduler.nowMillis());
  }
}
