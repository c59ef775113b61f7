package io.millrace.broker.raft.transport;

import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.frame.MalformedFrameException;
import io.millrace.protocol.message.PeerChannel;
import io.millrace.protocol.message.PeerHelloRequest;
import io.millrace.protocol.message.PeerHelloResponse;
import io.millrace.protocol.message.PeerProofRequest;
import io.millrace.protocol.message.PeerProofResponse;
import io.millrace.protocol.message.ResponseContext;
import io.netty.handler.ssl.SslHandler;
import java.net.InetSocketAddress;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * What the broker that opens a connection says and checks before it sends anything else: it
 * introduces itself, proves that it knows the cluster's secret, and lets the other side prove the
 * same.
 *
 * <p>Owns: the nonce of one connection. Threads: the event loop of the connection. Errors: each
 * step returns why the other side is not the broker that was meant, or null.
 */
final class OutgoingHandshake {

  /** Sends one request of the handshake on the connection. */
  interface Asker {
    void ask(ApiKind kind, Message request, PeerNetwork.ResponseHandler handler);
  }

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

  /**
   * Goes through all steps.
   *
   * @param tlsOrNull checked first: the certificate must name the broker
   * @param ended told once why the other side is not the one, or null when it is
   */
  void begin(SslHandler tlsOrNull, Asker asker, Consumer<String> ended) {
    if (tlsOrNull == null) {
      exchange(asker, ended);
      return;
    }
    tlsOrNull
        .handshakeFuture()
        .addListener(
            done -> {
              String refusal = tlsRefusal(tlsOrNull, done.cause());
              if (refusal == null) {
                exchange(asker, ended);
              } else {
                ended.accept(refusal);
              }
            });
  }

  private String tlsRefusal(SslHandler tls, Throwable failureOrNull) {
    return failureOrNull == null
        ? PeerTls.refusal(PeerTls.peerNames(tls), brokerId)
        : "no TLS handshake ("
            + PeerTls.rootCause(failureOrNull)
            + "); check the keys peer.tls.* at both brokers";
  }

  private void exchange(Asker asker, Consumer<String> ended) {
    asker.ask(
        ApiKind.PEER_HELLO,
        hello,
        answer(
            frame -> challenged(frame.header(PeerHelloResponse.parser())),
            refusal -> {
              if (refusal == null) {
                prove(asker, ended);
              } else {
                ended.accept(refusal);
              }
            }));
  }

  private void prove(Asker asker, Consumer<String> ended) {
    asker.ask(
        ApiKind.PEER_PROOF,
        proof(),
        answer(frame -> proven(frame.header(PeerProofResponse.parser())), ended));
  }

  private static PeerNetwork.ResponseHandler answer(
      Function<Frame, String> check, Consumer<String> ended) {
    return new PeerNetwork.ResponseHandler() {
      @Override
      public void onResponse(Frame frame) {
        String refusal;
        try {
          refusal = check.apply(frame);
        } catch (MalformedFrameException e) {
          refusal = "its answer in the handshake cannot be read: " + e.getMessage();
        } finally {
          frame.release();
        }
        ended.accept(refusal);
      }

      @Override
      public void onFailure(PeerRequestException failure) {
        ended.accept(failure.getMessage());
      }
    };
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
