package io.millrace.broker.raft.transport;

import com.google.protobuf.ByteString;
import io.millrace.protocol.message.PeerChannel;
import io.millrace.protocol.message.PeerHelloRequest;
import io.millrace.protocol.message.PeerHelloResponse;
import io.millrace.protocol.message.PeerProofRequest;
import io.millrace.protocol.message.PeerProofResponse;
import io.millrace.protocol.message.ResponseContext;
import java.net.InetSocketAddress;

/**
 * What the broker that opens a connection says and checks before it sends anything else: it
 * introduces itself, proves that it knows the cluster's secret, and lets the other side prove the
 * same.
 *
 * <p>Owns: the nonce of one connection. Threads: the event loop of the connection. Errors: each
 * step returns why the other side is not the broker that was meant, or null.
 */
final class OutgoingHandshake {

  private static final int PROTOCOL_VERSION = 1;

  private final int brokerId;
  private final ClusterSecret secret;
  private final PeerNetwork.PeerCheck check;
  private final PeerHelloRequest hello;
  private PeerTranscript transcript;

  OutgoingHandshake(
      PeerNetwork.LocalIdentity identity,
      int brokerId,
      PeerChannel channel,
      ClusterSecret secret,
      PeerNetwork.PeerCheck check) {
    this.brokerId = brokerId;
    this.secret = secret;
    this.check = check;
    InetSocketAddress advertised = identity.advertised().get();
    hello =
        PeerHelloRequest.newBuilder()
            .setClusterId(identity.clusterId())
            .setBrokerId(identity.brokerId())
            .setIncarnation(identity.incarnation())
            .setHost(advertised.getHostString())
            .setPort(advertised.getPort())
            .setChannel(channel)
            .setMinVersion(PROTOCOL_VERSION)
            .setMaxVersion(PROTOCOL_VERSION)
            .setNonce(ByteString.copyFrom(ClusterSecret.nonce()))
            .build();
  }

  PeerHelloRequest hello() {
    return hello;
  }

  /** Takes the answer to the hello. */
  String challenged(PeerHelloResponse answer) {
    if (answer.getContext().hasError()) {
      return error(answer.getContext());
    }
    if (answer.getBrokerId() != brokerId) {
      return "broker "
          + answer.getBrokerId()
          + " answers at the address of broker "
          + brokerId
          + "; correct cluster.brokers";
    }
    if (answer.getNonce().size() != ClusterSecret.BYTES) {
      return "its nonce has " + answer.getNonce().size() + " bytes, not " + ClusterSecret.BYTES;
    }
    transcript = new PeerTranscript(hello, brokerId, answer);
    return check.refusal(brokerId, answer.getIncarnation());
  }

  PeerProofRequest proof() {
    return PeerProofRequest.newBuilder()
        .setProof(ByteString.copyFrom(transcript.initiatorProof(secret)))
        .build();
  }

  /** Takes the answer to the proof. */
  String proven(PeerProofResponse answer) {
    if (answer.getContext().hasError()) {
      return error(answer.getContext());
    }
    if (!transcript.isAcceptorProof(answer.getProof().toByteArray(), secret)) {
      return "it does not know the secret of this cluster; give all brokers the same"
          + " cluster.secret.file";
    }
    return null;
  }

  private static String error(ResponseContext context) {
    return context.getError().getText();
  }
}
