package io.millrace.broker.api;

import io.millrace.broker.cluster.MetadataService;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.DeleteTopicRequest;

/** Deletes a topic through the leader of the metadata group, wherever it is. */
public final class DeleteTopicHandler implements RequestHandler {

  private final MetadataService metadata;
  private final DistinctErrors errors;

  public DeleteTopicHandler(MetadataService metadata, DistinctErrors errors) {
    this.metadata = metadata;
    this.errors = errors;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.DELETE_TOPIC;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    DeleteTopicRequest header = request.header(DeleteTopicRequest.parser());
    FutureAnswers.answer(
        metadata.deleteTopic(header),
        response -> response,
        responder,
        errors,
        "deletion of topic " + header.getName());
  }
}
