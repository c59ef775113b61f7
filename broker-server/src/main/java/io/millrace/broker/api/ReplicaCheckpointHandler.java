package io.millrace.broker.api;

import io.millrace.broker.raft.refill.ReplicaSource;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.ReplicaCheckpointRequest;
import io.millrace.protocol.message.ReplicaCheckpointResponse;
import io.netty.buffer.Unpooled;
import java.util.concurrent.Executor;

/** Another broker copies the newest checkpoint of a replica here. */
public final class ReplicaCheckpointHandler extends ReadingHandler {

  private final ReplicaSource source;

  public ReplicaCheckpointHandler(ReplicaSource source, Executor executor, DistinctErrors errors) {
    super(executor, errors);
    this.source = source;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.REPLICA_CHECKPOINT;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    ReplicaCheckpointRequest header = request.header(ReplicaCheckpointRequest.parser());
    read(
        responder,
        () -> {
          ReplicaSource.CheckpointPart part = source.checkpoint(header);
          if (part == null) {
            notOpen(responder, header.getGroup());
            return;
          }
          responder.respond(
              ReplicaCheckpointResponse.newBuilder()
                  .setIndex(part.index())
                  .setTotalBytes(part.totalBytes())
                  .build(),
              Unpooled.wrappedBuffer(part.bytes()));
        });
  }
}
