package io.millrace.broker.api;

import com.google.protobuf.InvalidProtocolBufferException;
import io.millrace.broker.cluster.Deadlines;
import io.millrace.broker.cluster.MetadataService;
import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.protocol.error.ErrorCode;
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
    int sender = request.connection().peerBrokerId();
    int named = brokerOf(command);
    if (named != 0 && named != sender) {
      throw new RequestRefusedException(
          ErrorCode.REFUSED,
          "broker " + sender + " sent " + command.getCommandCase() + " of broker " + named);
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

  /** The broker that a command speaks of: it can only be the sender. 0 = of none. */
  private static int brokerOf(MetadataCommand command) {
    return switch (command.getCommandCase()) {
      case REGISTER_BROKER -> command.getRegisterBroker().getId();
      case REPLICAS_STARTED -> command.getReplicasStarted().getBroker();
      case REPLICAS_REMOVED -> command.getReplicasRemoved().getBroker();
      case ALLOCATE_PRODUCER_IDS -> command.getAllocateProducerIds().getBroker();
      case CREATE_TOPIC, ALTER_TOPIC, DELETE_TOPIC, SET_FEATURE_LEVEL, COMMAND_NOT_SET -> 0;
    };
  }
}
