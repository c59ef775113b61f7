package io.millrace.broker.api;

import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.PeerPingResponse;

/** Shows another broker's failure detector that this process runs and can be reached. */
public final class PeerPingHandler implements RequestHandler {

  @Override
  public ApiKind kind() {
    return ApiKind.PEER_PING;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    responder.respond(PeerPingResponse.getDefaultInstance());
  }
}
