package io.millrace.broker.api;

import io.millrace.broker.cluster.LocalBroker;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.PeerHelloRequest;
import io.millrace.protocol.message.PeerHelloResponse;

/**
 * The first request of another broker. After it every request on the connection counts as sent by
 * that broker; Raft messages that name another sender are refused behind this.
 */
public final class PeerHelloHandler implements RequestHandler {

  private final LocalBroker identity;
  private final PeerAuthenticator authenticator;

  public PeerHelloHandler(LocalBroker identity, PeerAuthenticator authenticator) {
    this.identity = identity;
    this.authenticator = authenticator;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.PEER_HELLO;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    PeerHelloRequest hello = request.header(PeerHelloRequest.parser());
    int version;
    try {
      version = ProtocolVersions.choose(hello.getMinVersion(), hello.getMaxVersion());
      check(hello);
      authenticator.check(hello, request.connection().remote());
    } catch (RequestRefusedException refused) {
      responder.failAndClose(refused.code(), refused.getMessage());
      return;
    }
    request.connection().acceptPeer(hello.getBrokerId(), hello.getChannel());
    responder.respond(
        PeerHelloResponse.newBuilder()
            .setBrokerId(identity.id())
            .setIncarnation(identity.incarnation().toString())
            .setVersion(version)
            .build());
  }

  private void check(PeerHelloRequest hello) {
    if (!hello.getClusterId().equals(identity.clusterId())) {
      throw new RequestRefusedException(
          ErrorCode.CLUSTER_MISMATCH,
          "broker "
              + hello.getBrokerId()
              + " of cluster "
              + hello.getClusterId()
              + " came to broker "
              + identity.id()
              + " of cluster "
              + identity.clusterId()
              + "; correct cluster.brokers");
    }
    if (hello.getBrokerId() == identity.id()) {
      throw new RequestRefusedException(
          ErrorCode.REFUSED,
          "two brokers say that they are broker "
              + identity.id()
              + ": incarnations "
              + hello.getIncarnation()
              + " and "
              + identity.incarnation()
              + "; give one of them another broker.id");
    }
    if (hello.getBrokerId() < 1) {
      throw new RequestRefusedException(
          ErrorCode.MALFORMED_REQUEST,
          "broker id " + hello.getBrokerId() + " is below the least value 1");
    }
  }
}
