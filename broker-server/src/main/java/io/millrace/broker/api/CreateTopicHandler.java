package io.millrace.broker.api;

import io.millrace.broker.cluster.MetadataService;
import io.millrace.broker.log.DiskSpace;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.CreateTopicRequest;

/** Creates a topic through the leader of the metadata group, wherever it is. */
public final class CreateTopicHandler implements RequestHandler {

  private final MetadataService metadata;
  private final DiskSpace diskSpace;
  private final DistinctErrors errors;

  public CreateTopicHandler(MetadataService metadata, DiskSpace diskSpace, DistinctErrors errors) {
    this.metadata = metadata;
    this.diskSpace = diskSpace;
    this.errors = errors;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.CREATE_TOPIC;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    CreateTopicRequest header = request.header(CreateTopicRequest.parser());
    if (diskSpace.level() != DiskSpace.Level.ROOMY) {
      responder.fail(
          ErrorCode.DISK_FULL,
          "topic "
              + header.getName()
              + " was not created: "
              + diskSpace.freeBytes()
              + " bytes are free on the disk of this broker, the least is "
              + diskSpace.limits().lowBytes()
              + " (disk.low.bytes); delete records or topics, or add space");
      return;
    }
    FutureAnswers.answer(
        metadata.createTopic(header),
        response -> response,
        responder,
        errors,
        "creation of topic " + header.getName());
  }
}
