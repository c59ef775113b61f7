package io.millrace.broker.api;

import io.millrace.broker.raft.refill.ReplicaSource;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.ReplicaStateRequest;
import io.millrace.protocol.message.ReplicaStateResponse;
import java.util.concurrent.Executor;
import java.util.function.Predicate;

/** Another broker wants to know whether a replica here is fit to be copied. */
public final class ReplicaStateHandler extends ReadingHandler {

  private final ReplicaSource source;
  private final Predicate<String> known;

  /**
   * @param known groups that have a replica here, open or not
   */
  public ReplicaStateHandler(
      ReplicaSource source, Predicate<String> known, Executor executor, DistinctErrors errors) {
    super(executor, errors);
    this.source = source;
    this.known = known;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.REPLICA_STATE;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    String group = request.header(ReplicaStateRequest.parser()).getGroup();
    read(
        responder,
        () -> {
          ReplicaStateResponse state = source.state(group);
          if (state != null) {
            responder.respond(state);
          } else if (known.test(group)) {
            notOpen(responder, group);
          } else {
            responder.respond(ReplicaStateResponse.getDefaultInstance());
          }
        });
  }
}
