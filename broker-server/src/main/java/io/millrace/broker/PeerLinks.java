package io.millrace.broker;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.millrace.broker.cluster.Balancer;
import io.millrace.broker.cluster.LeaderAnnouncer;
import io.millrace.broker.cluster.LeaderMover;
import io.millrace.broker.cluster.MetadataForwarder;
import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.broker.partition.PartitionId;
import io.millrace.broker.raft.transport.PeerNetwork;
import io.millrace.broker.raft.transport.PeerRequestException;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.frame.MalformedFrameException;
import io.millrace.protocol.message.LeaderAnnouncement;
import io.millrace.protocol.message.MetadataCommandHeader;
import io.millrace.protocol.message.MetadataCommandResponse;
import io.millrace.protocol.message.PeerChannel;
import io.millrace.protocol.message.RequestContext;
import io.millrace.protocol.message.ResponseContext;
import io.millrace.protocol.message.TransferLeaderRequest;
import io.millrace.protocol.message.TransferLeaderResponse;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * What this broker asks of others besides Raft: metadata commands for their leader, announcements
 * of leaders, and transfers of leadership.
 *
 * <p>Threads: any; nothing blocks.
 */
final class PeerLinks implements MetadataForwarder, LeaderAnnouncer.Sender, LeaderMover {

  private static final long ANNOUNCEMENT_TIMEOUT_MILLIS = 2000;
  private static final long TRANSFER_TIMEOUT_MILLIS = 5000;

  private final PeerNetwork network;
  private final Function<Balancer.Move, CompletableFuture<LeaderMover.Answer>> localMove;

  /**
   * @param localMove moves a leader that is on this very broker
   */
  PeerLinks(
      PeerNetwork network,
      Function<Balancer.Move, CompletableFuture<LeaderMover.Answer>> localMove) {
    this.network = network;
    this.localMove = localMove;
  }

  @Override
  public CompletableFuture<MetadataResult> forward(
      int leaderBrokerId, MetadataCommand command, long timeoutMillis) {
    MetadataCommandHeader header =
        MetadataCommandHeader.newBuilder()
            .setContext(RequestContext.newBuilder().setDeadlineMillis(timeoutMillis))
            .build();
    CompletableFuture<MetadataResult> result = new CompletableFuture<>();
    request(
            leaderBrokerId,
            ApiKind.METADATA_COMMAND,
            header,
            Unpooled.wrappedBuffer(command.toByteArray()),
            MetadataCommandResponse.parser(),
            timeoutMillis)
        .whenComplete(
            (response, failure) -> {
              if (failure != null) {
                result.completeExceptionally(failure);
              } else {
                complete(result, response);
              }
            });
    return result;
  }

  private static void complete(
      CompletableFuture<MetadataResult> result, MetadataCommandResponse response) {
    ResponseContext context = response.getContext();
    if (context.hasError()) {
      ErrorCode code = ErrorCode.of(context.getError().getCode());
      result.completeExceptionally(new MillraceException(code, context.getError().getText()));
      return;
    }
    try {
      result.complete(MetadataResult.parseFrom(response.getResult()));
    } catch (InvalidProtocolBufferException e) {
      result.completeExceptionally(e);
    }
  }

  @Override
  public void send(int brokerId, LeaderAnnouncement announcement) {
    // Announcements repeat, so a lost one needs no answer here.
    request(
        brokerId,
        ApiKind.LEADER_ANNOUNCEMENT,
        announcement,
        null,
        ApiKind.LEADER_ANNOUNCEMENT.response(),
        ANNOUNCEMENT_TIMEOUT_MILLIS);
  }

  @Override
  public CompletableFuture<Answer> move(Balancer.Move move) {
    if (move.from() == network.identity().brokerId()) {
      return localMove.apply(move);
    }
    TransferLeaderRequest header =
        TransferLeaderRequest.newBuilder()
            .setTopicId(PartitionId.toBytes(move.key().topicId()))
            .setPartition(move.key().partition())
            .setToBroker(move.to())
            .build();
    return request(
            move.from(),
            ApiKind.TRANSFER_LEADER,
            header,
            null,
            TransferLeaderResponse.parser(),
            TRANSFER_TIMEOUT_MILLIS)
        .thenApply(
            response ->
                response.getContext().hasError()
                    ? new Answer(false, response.getContext().getError().getText())
                    : new Answer(true, ""));
  }

  private <M extends Message> CompletableFuture<M> request(
      int brokerId,
      ApiKind kind,
      Message header,
      ByteBuf payload,
      Parser<M> parser,
      long timeoutMillis) {
    CompletableFuture<M> answer = new CompletableFuture<>();
    try {
      network.request(
          brokerId,
          PeerChannel.PEER_CONTROL,
          kind,
          header,
          payload,
          timeoutMillis,
          new PeerNetwork.ResponseHandler() {
            @Override
            public void onResponse(Frame frame) {
              try {
                answer.complete(frame.header(parser));
              } catch (MalformedFrameException e) {
                answer.completeExceptionally(e);
              } finally {
                frame.release();
              }
            }

            @Override
            public void onFailure(PeerRequestException failure) {
              answer.completeExceptionally(failure);
            }
          });
    } catch (PeerRequestException e) {
      answer.completeExceptionally(
          e.certainlyNotSent() ? new MillraceException(ErrorCode.UNREACHABLE, e.getMessage()) : e);
    }
    return answer;
  }
}
