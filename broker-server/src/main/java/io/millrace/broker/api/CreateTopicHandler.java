package io.millrace.broker.api;

import io.millrace.broker.cluster.MetadataService;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.CreateTopicRequest;

/** Creates a topic through the leader of the metadata group, wherever it is. */
public final class CreateTopicHandler implements RequestHandler {

  private final MetadataService metadata;
  private final DistinctErrors errors;

  public CreateTopicHandler(MetadataService metadata, DistinctErrors errors) {
    this.metadata = metadata;
    this.errors = errors;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.CREATE_TOPIC;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    CreateTopicRequest header = request.header(CreateTopicRequest.parser());
    FutureAnswers.answer(
        metadata.createTopic(header),
        response -> response,
        responder,
        errors,
        "creation of topic " + header.getName());
  }
}
