package io.millrace.broker.raft.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.millrace.protocol.message.PeerChannel;
import io.millrace.protocol.message.PeerHelloRequest;
import io.millrace.protocol.message.PeerHelloResponse;
import io.millrace.protocol.message.PeerProofResponse;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PeerTranscriptTest {

  private static final ClusterSecret SECRET =
      ClusterSecret.parse("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
  private static final PeerHelloRequest HELLO =
      PeerHelloRequest.newBuilder()
          .setClusterId("shop")
          .setBrokerId(2)
          .setIncarnation("two")
          .setHost("host")
          .setPort(7)
          .setChannel(PeerChannel.PEER_DATA)
          .setMinVersion(1)
          .setMaxVersion(1)
          .setNonce(nonce(1))
          .build();
  private static final PeerHelloResponse ANSWER =
      PeerHelloResponse.newBuilder()
          .setBrokerId(1)
          .setIncarnation("one")
          .setVersion(1)
          .setNonce(nonce(2))
          .build();

  private static ByteString nonce(int value) {
    byte[] nonce = new byte[ClusterSecret.BYTES];
    nonce[0] = (byte) value;
    return ByteString.copyFrom(nonce);
  }

  /** Brokers of two versions must agree; computed with another implementation of HMAC-SHA256. */
  @Test
  void goldenProofs() {
    PeerTranscript transcript = new PeerTranscript(HELLO, 1, ANSWER);
    assertThat(HexFormat.of().formatHex(transcript.initiatorProof(SECRET)))
        .isEqualTo("35bf647f499ad6d7844a60cd15e9665ea61fb4f4bc6839826e8ef667ce865971");
    assertThat(HexFormat.of().formatHex(transcript.acceptorProof(SECRET)))
        .isEqualTo("d34c51dc261364adecb93e010d937fc7b9378bf9bf6ae0778536199be58f5b44");
  }

  @Test
  void everythingThatWasSaidIsInTheProofs() {
    List<PeerTranscript> transcripts =
        List.of(
            new PeerTranscript(HELLO, 1, ANSWER),
            new PeerTranscript(HELLO, 3, ANSWER),
            new PeerTranscript(HELLO.toBuilder().setClusterId("sho").build(), 1, ANSWER),
            new PeerTranscript(HELLO.toBuilder().setBrokerId(3).build(), 1, ANSWER),
            new PeerTranscript(HELLO.toBuilder().setIncarnation("too").build(), 1, ANSWER),
            new PeerTranscript(HELLO.toBuilder().setHost("hos").build(), 1, ANSWER),
            new PeerTranscript(HELLO.toBuilder().setPort(8).build(), 1, ANSWER),
            new PeerTranscript(
                HELLO.toBuilder().setChannel(PeerChannel.PEER_CONTROL).build(), 1, ANSWER),
            new PeerTranscript(HELLO.toBuilder().setMinVersion(0).build(), 1, ANSWER),
            new PeerTranscript(HELLO.toBuilder().setMaxVersion(2).build(), 1, ANSWER),
            new PeerTranscript(HELLO.toBuilder().setNonce(nonce(3)).build(), 1, ANSWER),
            new PeerTranscript(HELLO, 1, ANSWER.toBuilder().setIncarnation("on").build()),
            new PeerTranscript(HELLO, 1, ANSWER.toBuilder().setVersion(2).build()),
            new PeerTranscript(HELLO, 1, ANSWER.toBuilder().setNonce(nonce(4)).build()),
            // The same letters, cut elsewhere.
            new PeerTranscript(
                HELLO.toBuilder().setIncarnation("twoh").setHost("ost").build(), 1, ANSWER));
    Set<String> proofs = new HashSet<>();
    for (PeerTranscript transcript : transcripts) {
      proofs.add(HexFormat.of().formatHex(transcript.initiatorProof(SECRET)));
      proofs.add(HexFormat.of().formatHex(transcript.acceptorProof(SECRET)));
    }
    assertThat(proofs).hasSize(2 * transcripts.size());
  }

  @Test
  void aProofIsOfItsDirectionAndItsSecret() {
    PeerTranscript transcript = new PeerTranscript(HELLO, 1, ANSWER);
    byte[] initiator = transcript.initiatorProof(SECRET);
    byte[] acceptor = transcript.acceptorProof(SECRET);
    assertThat(transcript.isInitiatorProof(initiator, SECRET)).isTrue();
    assertThat(transcript.isAcceptorProof(acceptor, SECRET)).isTrue();
    assertThat(transcript.isInitiatorProof(acceptor, SECRET)).isFalse();
    assertThat(transcript.isAcceptorProof(initiator, SECRET)).isFalse();
    assertThat(transcript.isInitiatorProof(initiator, ClusterSecret.random())).isFalse();
    assertThat(transcript.isInitiatorProof(new byte[0], SECRET)).isFalse();
  }

  // ------------------------------------------------------------------------ the side that calls

  private static OutgoingHandshake handshake(PeerNetwork.PeerCheck check) {
    PeerNetwork.LocalIdentity identity =
        new PeerNetwork.LocalIdentity(
            "shop", 2, "two", () -> InetSocketAddress.createUnresolved("host", 7));
    return new OutgoingHandshake(identity, 1, PeerChannel.PEER_CONTROL, SECRET, check);
  }

  private static PeerProofResponse proof(byte[] bytes) {
    return PeerProofResponse.newBuilder().setProof(ByteString.copyFrom(bytes)).build();
  }

  @Test
  void theOneWhoCallsAsksForAProofToo() {
    OutgoingHandshake handshake = handshake((broker, incarnation) -> null);
    assertThat(handshake.challenged(ANSWER)).isNull();
    PeerTranscript transcript = new PeerTranscript(handshake.hello(), 1, ANSWER);
    assertThat(transcript.isInitiatorProof(handshake.proof().getProof().toByteArray(), SECRET))
        .isTrue();
    String refusal =
        "it does not know the secret of this cluster; give all brokers the same"
            + " cluster.secret.file";
    assertThat(handshake.proven(proof(new byte[ClusterSecret.BYTES]))).isEqualTo(refusal);
    // Sent back: what this broker itself has shown.
    assertThat(handshake.proven(proof(handshake.proof().getProof().toByteArray())))
        .isEqualTo(refusal);
    assertThat(handshake.proven(proof(transcript.acceptorProof(ClusterSecret.random()))))
        .isEqualTo(refusal);
    assertThat(handshake.proven(proof(transcript.acceptorProof(SECRET)))).isNull();
  }

  @Test
  void theOneWhoCallsIsTalkedToByTheRightBrokerOnly() {
    assertThat(
            handshake((broker, incarnation) -> null)
                .challenged(ANSWER.toBuilder().setBrokerId(3).build()))
        .isEqualTo("broker 3 answers at the address of broker 1; correct cluster.brokers");
    assertThat(
            handshake((broker, incarnation) -> null)
                .challenged(ANSWER.toBuilder().clearNonce().build()))
        .isEqualTo("its nonce has 0 bytes, not 32");
    assertThat(
            handshake((broker, incarnation) -> broker + " is not " + incarnation)
                .challenged(ANSWER))
        .isEqualTo("1 is not one");
    assertThat(handshake((broker, incarnation) -> null).hello().getNonce())
        .isNotEqualTo(handshake((broker, incarnation) -> null).hello().getNonce());
  }

  // ------------------------------------------------------------------------------------- secret

  @Test
  void aSecretComesBackFromItsText() {
    ClusterSecret secret = ClusterSecret.random();
    assertThat(secret.print()).hasSize(64);
    assertThat(ClusterSecret.parse(" " + secret.print() + "\n").print()).isEqualTo(secret.print());
    assertThat(ClusterSecret.random().print()).isNotEqualTo(secret.print());
    assertThat(secret).asString().doesNotContain(secret.print().substring(0, 8));
  }

  @Test
  void aWrongTextIsRefusedAndNotShown() {
    String almost = "ab".repeat(31) + "a";
    assertThatThrownBy(() -> ClusterSecret.parse(almost))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("64 hexadecimal digits, this text has 63 characters")
        .hasMessageNotContaining("abab");
    assertThatThrownBy(() -> ClusterSecret.parse("zz".repeat(32))).hasMessageNotContaining("zz");
  }
}
