package io.millrace.broker.api;

import io.millrace.broker.raft.transport.PeerRequests;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.RaftHeader;

/**
 * Hands Raft messages on, with the broker that the connection belongs to: the message's own word
 * for its sender is checked against it. The payload is retained for the thread that will read it.
 */
public final class RaftHandler implements RequestHandler {

  private final PeerRequests requests;

  public RaftHandler(PeerRequests requests) {
    this.requests = requests;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.RAFT;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    RaftHeader header = request.header(RaftHeader.parser());
    requests.handle(
        request.connection().peerBrokerId(),
        header,
        request.payload().retain(),
        responder::respond);
  }
}
