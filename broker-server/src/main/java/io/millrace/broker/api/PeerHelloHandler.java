package io.millrace.broker.api;

import com.google.protobuf.ByteString;
import io.millrace.broker.cluster.LocalBroker;
import io.millrace.broker.raft.transport.ClusterSecret;
import io.millrace.broker.raft.transport.PeerCredentials;
import io.millrace.broker.raft.transport.PeerTls;
import io.millrace.broker.raft.transport.PeerTranscript;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.PeerHelloRequest;
import io.millrace.protocol.message.PeerHelloResponse;
import java.util.Set;

/**
 * The first request of another broker: it says who it is, and gets a challenge. Nothing that it
 * says is believed before {@link PeerProofHandler} has its proof.
 */
public final class PeerHelloHandler implements RequestHandler {

  private final LocalBroker identity;
  private final PeerCredentials credentials;

  public PeerHelloHandler(LocalBroker identity, PeerCredentials credentials) {
    this.identity = identity;
    this.credentials = credentials;
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
      checkCertificate(hello, request.connection().certificateNames());
    } catch (RequestRefusedException refused) {
      responder.failAndClose(refused.code(), refused.getMessage());
      return;
    }
    PeerHelloResponse answer =
        PeerHelloResponse.newBuilder()
            .setBrokerId(identity.id())
            .setIncarnation(identity.incarnation().toString())
            .setVersion(version)
            .setNonce(ByteString.copyFrom(ClusterSecret.nonce()))
            .build();
    request.connection().challengePeer(new PeerTranscript(hello, identity.id(), answer));
    responder.respond(answer);
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
    if (hello.getNonce().size() != ClusterSecret.BYTES) {
      throw new RequestRefusedException(
          ErrorCode.MALFORMED_REQUEST,
          "a nonce has " + ClusterSecret.BYTES + " bytes, this one " + hello.getNonce().size());
    }
    if (credentials.secret() == null) {
      throw unauthenticated(
          "broker "
              + identity.id()
              + " was started alone, without a secret, and takes no other broker; set"
              + " cluster.secret.file");
    }
  }

  private void checkCertificate(PeerHelloRequest hello, Set<String> certificateNames) {
    if (!credentials.requiresTls()) {
      return;
    }
    if (certificateNames == null) {
      throw unauthenticated(
          "broker "
              + hello.getBrokerId()
              + " came without TLS, which broker "
              + identity.id()
              + " asks of brokers; set peer.tls.* there too");
    }
    String refusal = PeerTls.refusal(certificateNames, hello.getBrokerId());
    if (refusal != null) {
      throw unauthenticated("broker " + hello.getBrokerId() + ": " + refusal);
    }
  }

  private static RequestRefusedException unauthenticated(String text) {
    return new RequestRefusedException(ErrorCode.UNAUTHENTICATED, text);
  }
}
