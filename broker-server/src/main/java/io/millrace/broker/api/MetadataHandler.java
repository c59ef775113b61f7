package io.millrace.broker.api;

import io.millrace.broker.cluster.MetadataService;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.MetadataRequest;

/** Brokers, topics and leaders, from what this broker knows. */
public final class MetadataHandler implements RequestHandler {

  private final MetadataService metadata;
  private final RequestLimits limits;

  public MetadataHandler(MetadataService metadata, RequestLimits limits) {
    this.metadata = metadata;
    this.limits = limits;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.METADATA;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    MetadataRequest header = request.header(MetadataRequest.parser());
    limits.checkTopics(header.getTopicsCount());
    responder.respond(metadata.describe(header));
  }
}
