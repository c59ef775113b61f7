package io.millrace.broker.api;

import com.google.protobuf.InvalidProtocolBufferException;
import io.millrace.broker.cluster.Deadlines;
import io.millrace.broker.cluster.MetadataService;
import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.MetadataCommandHeader;
import io.millrace.protocol.message.MetadataCommandResponse;
import io.netty.buffer.ByteBufUtil;

/** A metadata command that another broker forwards to this one as the leader of the group. */
public final class MetadataCommandHandler implements RequestHandler {

  private final MetadataService metadata;
  private final DistinctErrors errors;

  public MetadataCommandHandler(MetadataService metadata, DistinctErrors errors) {
    this.metadata = metadata;
    this.errors = errors;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.METADATA_COMMAND;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    MetadataCommandHeader header = request.header(MetadataCommandHeader.parser());
    MetadataCommand command;
    try {
      command = MetadataCommand.parseFrom(ByteBufUtil.getBytes(request.payload()));
    } catch (InvalidProtocolBufferException unreadable) {
      throw RequestLimits.malformed(
          "the payload of "
              + request.frame().payloadBytes()
              + " bytes is no metadata command: "
              + unreadable.getMessage());
    }
    FutureAnswers.answer(
        metadata.submitForwarded(command, Deadlines.millisFor(header.getContext())),
        result ->
            MetadataCommandResponse.newBuilder()
                .setIndex(result.getIndex())
                .setResult(result.toByteString())
                .build(),
        responder,
        errors,
        "forwarded metadata command " + command.getCommandCase());
  }
}
