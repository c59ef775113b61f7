package io.millrace.broker.api;

import io.millrace.broker.cluster.MetadataService;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.AlterTopicRequest;

/** Changes settings of a topic through the leader of the metadata group, wherever it is. */
public final class AlterTopicHandler implements RequestHandler {

  private final MetadataService metadata;
  private final DistinctErrors errors;

  public AlterTopicHandler(MetadataService metadata, DistinctErrors errors) {
    this.metadata = metadata;
    this.errors = errors;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.ALTER_TOPIC;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    AlterTopicRequest header = request.header(AlterTopicRequest.parser());
    FutureAnswers.answer(
        metadata.alterTopic(header),
        response -> response,
        responder,
        errors,
        "change of topic " + header.getName());
  }
}
