package io.millrace.broker.api;

import io.millrace.broker.cluster.MetadataService;
import io.millrace.broker.cluster.MetadataState;
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
import java.util.concurrent.CompletableFuture;

/** Metadata whose answers the test gives. */
final class FakeMetadata implements MetadataService {

  MetadataCommand submitted;
  long timeoutMillis;
  CompletableFuture<MetadataResult> result = new CompletableFuture<>();
  CompletableFuture<CreateTopicResponse> created = new CompletableFuture<>();
  CompletableFuture<AlterTopicResponse> altered = new CompletableFuture<>();
  CompletableFuture<DeleteTopicResponse> deleted = new CompletableFuture<>();

  @Override
  public MetadataState state() {
    throw new UnsupportedOperationException();
  }

  @Override
  public MetadataResponse describe(MetadataRequest request) {
    return MetadataResponse.newBuilder()
        .setClusterId("shop")
        .setAnsweringBroker(request.getTopicsCount())
        .build();
  }

  @Override
  public CompletableFuture<MetadataResult> submit(MetadataCommand command, long millis) {
    submitted = command;
    timeoutMillis = millis;
    return result;
  }

  @Override
  public CompletableFuture<MetadataResult> submitForwarded(MetadataCommand command, long millis) {
    return submit(command, millis);
  }

  @Override
  public CompletableFuture<CreateTopicResponse> createTopic(CreateTopicRequest request) {
    return created;
  }

  @Override
  public CompletableFuture<AlterTopicResponse> alterTopic(AlterTopicRequest request) {
    return altered;
  }

  @Override
  public CompletableFuture<DeleteTopicResponse> deleteTopic(DeleteTopicRequest request) {
    return deleted;
  }
}
