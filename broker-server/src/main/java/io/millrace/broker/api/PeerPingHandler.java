package io.millrace.broker.api;

import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.PeerPingRequest;

/**
 * Shows this broker's failure detector that another process runs and can be reached, and what it
 * has heard of this one. There is no answer: this broker's own next ping says that this one came.
 */
public final class PeerPingHandler implements RequestHandler {

  /** Told of each ping; must not block. */
  public interface Listener {
    void pinged(int brokerId, PeerPingRequest ping);
  }

  private final Listener listener;

  public PeerPingHandler(Listener listener) {
    this.listener = listener;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.PEER_PING;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    PeerPingRequest ping = request.header(PeerPingRequest.parser());
    listener.pinged(request.connection().peerBrokerId(), ping);
    responder.none();
  }
}
