package io.millrace.broker.api;

import com.google.protobuf.ByteString;
import io.millrace.broker.raft.transport.PeerCredentials;
import io.millrace.broker.raft.transport.PeerTranscript;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.PeerHelloRequest;
import io.millrace.protocol.message.PeerProofRequest;
import io.millrace.protocol.message.PeerProofResponse;

/**
 * The second request of another broker: its proof that it knows the cluster's secret, answered with
 * the same proof of this broker. After it every request on the connection counts as sent by that
 * broker; a message that names another sender is refused behind this.
 *
 * <p>The one who calls proves first, so this broker shows nothing to a stranger.
 */
public final class PeerProofHandler implements RequestHandler {

  private final PeerCredentials credentials;
  private final PeerAuthenticator authenticator;
  private final DistinctErrors errors;

  public PeerProofHandler(
      PeerCredentials credentials, PeerAuthenticator authenticator, DistinctErrors errors) {
    this.credentials = credentials;
    this.authenticator = authenticator;
    this.errors = errors;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.PEER_PROOF;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    PeerTranscript challenge = request.connection().takeChallenge();
    PeerHelloRequest hello = challenge.hello();
    try {
      byte[] proof = request.header(PeerProofRequest.parser()).getProof().toByteArray();
      if (!challenge.isInitiatorProof(proof, credentials.secret())) {
        throw new RequestRefusedException(
            ErrorCode.UNAUTHENTICATED,
            "who came as broker "
                + hello.getBrokerId()
                + " does not know the secret of this cluster; give all brokers the same"
                + " cluster.secret.file");
      }
      authenticator.check(hello, request.connection().remote());
    } catch (RequestRefusedException refused) {
      errors.recordEvent(
          // A stranger chooses the id, and could use up the kinds of errors that are logged.
          refused.code() == ErrorCode.UNAUTHENTICATED
              ? "PEER_PROOF"
              : "PEER_PROOF " + hello.getBrokerId() + ' ' + refused.code(),
          request.connection().remote() + " is refused: " + refused.getMessage());
      responder.failAndClose(refused.code(), refused.getMessage());
      return;
    }
    request.connection().acceptPeer(hello.getBrokerId(), hello.getChannel());
    responder.respond(
        PeerProofResponse.newBuilder()
            .setProof(ByteString.copyFrom(challenge.acceptorProof(credentials.secret())))
            .build());
  }
}
