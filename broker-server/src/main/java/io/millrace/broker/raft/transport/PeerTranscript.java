package io.millrace.broker.raft.transport;

import io.millrace.protocol.message.PeerHelloRequest;
import io.millrace.protocol.message.PeerHelloResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * What the two brokers at the ends of a new connection said, and the proofs over it that both know
 * the cluster's secret.
 *
 * <p>Each side contributes a random nonce, so a recorded proof is right on no other connection. The
 * two directions have different labels and name the initiator first, so a proof cannot be sent back
 * to the broker that made it, nor passed on to a third one.
 *
 * <p>The hashed bytes, each text and byte array behind its length as int32, big endian:
 *
 * <pre>
 * label             "millrace peer initiator 1" or "millrace peer acceptor 1"
 * cluster           text
 * initiator         broker id int32, incarnation text, host text, port int32
 * acceptor          broker id int32, incarnation text
 * channel           int32
 * versions          int32 each: lowest and highest that are offered, the chosen one
 * nonces            of the initiator, of the acceptor
 * </pre>
 *
 * @param hello of the broker that opened the connection
 * @param acceptorId the broker that the initiator means, or that this one is
 * @param answer to the hello
 */
public record PeerTranscript(PeerHelloRequest hello, int acceptorId, PeerHelloResponse answer) {

  private static final String INITIATOR = "millrace peer initiator 1";
  private static final String ACCEPTOR = "millrace peer acceptor 1";

  public byte[] initiatorProof(ClusterSecret secret) {
    return secret.hash(bytes(INITIATOR));
  }

  public byte[] acceptorProof(ClusterSecret secret) {
    return secret.hash(bytes(ACCEPTOR));
  }

  public boolean isInitiatorProof(byte[] proof, ClusterSecret secret) {
    return ClusterSecret.isSame(proof, initiatorProof(secret));
  }

  public boolean isAcceptorProof(byte[] proof, ClusterSecret secret) {
    return ClusterSecret.isSame(proof, acceptorProof(secret));
  }

  private byte[] bytes(String label) {
    byte[][] texts = {
      utf8(label),
      utf8(hello.getClusterId()),
      utf8(hello.getIncarnation()),
      utf8(hello.getHost()),
      utf8(answer.getIncarnation()),
      hello.getNonce().toByteArray(),
      answer.getNonce().toByteArray()
    };
    int size = 7 * Integer.BYTES;
    for (byte[] text : texts) {
      size += Integer.BYTES + text.length;
    }
    ByteBuffer bytes = ByteBuffer.allocate(size);
    put(bytes, texts[0]);
    put(bytes, texts[1]);
    bytes.putInt(hello.getBrokerId());
    put(bytes, texts[2]);
    put(bytes, texts[3]);
    bytes.putInt(hello.getPort());
    bytes.putInt(acceptorId);
    put(bytes, texts[4]);
    bytes.putInt(hello.getChannelValue());
    bytes.putInt(hello.getMinVersion()).putInt(hello.getMaxVersion());
    bytes.putInt(answer.getVersion());
    put(bytes, texts[5]);
    put(bytes, texts[6]);
    return bytes.array();
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void put(ByteBuffer bytes, byte[] text) {
    bytes.putInt(text.length).put(text);
  }
}
