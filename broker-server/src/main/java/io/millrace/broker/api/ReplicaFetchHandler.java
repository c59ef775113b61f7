package io.millrace.broker.api;

import io.millrace.broker.raft.refill.ReplicaSource;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.ReplicaFetchRequest;
import io.millrace.protocol.message.ReplicaFetchResponse;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.concurrent.Executor;

/** Another broker copies entries of a replica here. */
public final class ReplicaFetchHandler extends ReadingHandler {

  private final ReplicaSource source;

  public ReplicaFetchHandler(ReplicaSource source, Executor executor, DistinctErrors errors) {
    super(executor, errors);
    this.source = source;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.REPLICA_FETCH;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    ReplicaFetchRequest header = request.header(ReplicaFetchRequest.parser());
    read(
        responder,
        () -> {
          ReplicaSource.Entries entries = source.entries(header);
          if (entries == null) {
            notOpen(responder, header.getGroup());
            return;
          }
          responder.respond(
              ReplicaFetchResponse.newBuilder()
                  .setEntries(entries.batches().size())
                  .setChanged(entries.changed())
                  .build(),
              Unpooled.wrappedBuffer(entries.batches().toArray(ByteBuffer[]::new)));
        });
  }
}
