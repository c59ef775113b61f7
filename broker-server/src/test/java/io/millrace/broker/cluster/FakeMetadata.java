package io.millrace.broker.cluster;

import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.AlterTopicRequest;
import io.millrace.protocol.message.AlterTopicResponse;
import io.millrace.protocol.message.CreateTopicRequest;
import io.millrace.protocol.message.CreateTopicResponse;
import io.millrace.protocol.message.DeleteTopicRequest;
import io.millrace.protocol.message.DeleteTopicResponse;
import io.millrace.protocol.message.MetadataRequest;
import io.millrace.protocol.message.MetadataResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A committed metadata log, and one broker's copy of the state that may lag behind it. */
class FakeMetadata implements MetadataService {

  private final List<MetadataState> states = new ArrayList<>(List.of(MetadataState.EMPTY));
  private int view;
  boolean lagging;
  boolean available = true;
  Runnable around = () -> {};
  final List<MetadataCommand> submitted = new ArrayList<>();

  /** The newest committed state. */
  MetadataState truth() {
    return states.get(states.size() - 1);
  }

  MetadataResult commit(MetadataCommand command) {
    MetadataState.Step step = truth().apply(states.size(), command);
    states.add(step.state());
    if (!lagging) {
      catchUp();
    }
    return step.result();
  }

  void catchUp() {
    view = states.size() - 1;
  }

  /** The copy goes on by some entries. */
  void catchUp(int entries) {
    view = Math.min(states.size() - 1, view + entries);
  }

  /** A new process that restored an older checkpoint. */
  void fallBackTo(int index) {
    view = Math.min(view, index);
  }

  @Override
  public MetadataState state() {
    return states.get(view);
  }

  @Override
  public CompletableFuture<MetadataResult> submit(MetadataCommand command, long timeoutMillis) {
    around.run();
    submitted.add(command);
    if (!available) {
      return CompletableFuture.completedFuture(
          MetadataResults.error(ErrorCode.NO_METADATA_LEADER, "no leader"));
    }
    MetadataResult result = commit(command);
    around.run();
    return CompletableFuture.completedFuture(result);
  }

  @Override
  public CompletableFuture<MetadataResult> submitForwarded(
      MetadataCommand command, long timeoutMillis) {
    throw new UnsupportedOperationException("not part of these tests");
  }

  @Override
  public MetadataResponse describe(MetadataRequest request) {
    throw new UnsupportedOperationException("not part of these tests");
  }

  @Override
  public CompletableFuture<CreateTopicResponse> createTopic(CreateTopicRequest request) {
    throw new UnsupportedOperationException("not part of these tests");
  }

  @Override
  public CompletableFuture<AlterTopicResponse> alterTopic(AlterTopicRequest request) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletableFuture<DeleteTopicResponse> deleteTopic(DeleteTopicRequest request) {
    throw new UnsupportedOperationException("not part of these tests");
  }
}
