package io.millrace.broker.api;

import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.PeerPingResponse;
import java.util.function.IntConsumer;

/**
 * Shows another broker's failure detector that this process runs and can be reached, and this one's
 * that the other does: whoever gets the answer relies on it that this broker has heard the ping.
 */
public final class PeerPingHandler implements RequestHandler {

  private final IntConsumer heard;

  /**
   * @param heard told of the broker whose ping came, before it is answered
   */
  public PeerPingHandler(IntConsumer heard) {
    this.heard = heard;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.PEER_PING;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    heard.accept(request.connection().peerBrokerId());
    responder.respond(PeerPingResponse.getDefaultInstance());
  }
}
