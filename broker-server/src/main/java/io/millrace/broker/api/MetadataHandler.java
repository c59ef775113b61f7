package io.millrace.broker.api;

import io.millrace.broker.cluster.MetadataService;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.MetadataRequest;
import java.util.function.BooleanSupplier;

/**
 * Brokers, topics and leaders, from what this broker knows.
 *
 * <p>A broker that starts knows an old state until it has heard the metadata leader. It would say
 * "unknown topic" of what was created meanwhile, and a client would believe it; so about topics it
 * answers NOT_READY until then, and the client asks another broker.
 */
public final class MetadataHandler implements RequestHandler {

  private final MetadataService metadata;
  private final RequestLimits limits;

  private final BooleanSupplier caughtUp;

  /**
   * @param caughtUp whether the local state is at least as new as this process
   */
  public MetadataHandler(MetadataService metadata, BooleanSupplier caughtUp, RequestLimits limits) {
    this.metadata = metadata;
    this.caughtUp = caughtUp;
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
    if (!header.getBrokersOnly() && !caughtUp.getAsBoolean()) {
      responder.fail(
          ErrorCode.NOT_READY,
          "this broker has not heard the metadata leader since it started; ask again, or another");
      return;
    }
    responder.respond(metadata.describe(header));
  }
}
