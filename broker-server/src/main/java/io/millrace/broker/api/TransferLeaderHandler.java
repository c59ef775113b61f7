package io.millrace.broker.api;

import io.millrace.broker.cluster.Balancer;
import io.millrace.broker.cluster.LeaderDirectory;
import io.millrace.broker.cluster.LeaderMover;
import io.millrace.broker.partition.PartitionId;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.ResponseContext;
import io.millrace.protocol.message.TransferLeaderRequest;
import io.millrace.protocol.message.TransferLeaderResponse;
import java.util.UUID;

/** Another broker asks this one to hand over the leadership of a partition. */
public final class TransferLeaderHandler implements RequestHandler {

  private final int brokerId;
  private final LeaderMover transfers;
  private final DistinctErrors errors;

  /**
   * @param transfers moves leaders of this broker
   */
  public TransferLeaderHandler(int brokerId, LeaderMover transfers, DistinctErrors errors) {
    this.brokerId = brokerId;
    this.transfers = transfers;
    this.errors = errors;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.TRANSFER_LEADER;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    TransferLeaderRequest header = request.header(TransferLeaderRequest.parser());
    UUID topicId = PartitionId.fromBytes(header.getTopicId());
    if (topicId == null) {
      throw RequestLimits.malformed(
          "a topic id has 16 bytes, this one " + header.getTopicId().size());
    }
    Balancer.Move move =
        new Balancer.Move(
            new LeaderDirectory.Key(topicId, header.getPartition()),
            brokerId,
            header.getToBroker());
    FutureAnswers.answer(
        transfers.move(move),
        TransferLeaderHandler::toResponse,
        responder,
        errors,
        "transfer of leadership");
  }

  private static TransferLeaderResponse toResponse(LeaderMover.Answer answer) {
    return answer.begun()
        ? TransferLeaderResponse.getDefaultInstance()
        : TransferLeaderResponse.newBuilder()
            .setContext(
                ResponseContext.newBuilder().setError(ErrorCode.REFUSED.toInfo(answer.reason())))
            .build();
  }
}
