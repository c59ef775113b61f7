package io.millrace.broker.net;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.millrace.broker.raft.transport.ClusterSecret;
import io.millrace.broker.raft.transport.PeerTranscript;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.FrameFormat;
import io.millrace.protocol.frame.Frames;
import io.millrace.protocol.message.BareResponse;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.HelloRequest;
import io.millrace.protocol.message.PeerHelloRequest;
import io.millrace.protocol.message.PeerHelloResponse;
import io.millrace.protocol.message.PeerProofRequest;
import io.millrace.protocol.message.PeerProofResponse;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** A blocking socket that speaks frames, or anything else. */
public final class RawClient implements AutoCloseable {

  private static final int READ_TIMEOUT_MILLIS = 10_000;

  private final Socket socket;
  private final OutputStream out;
  private final DataInputStream in;

  /** One received response. */
  public record Answer(int kindCode, int correlation, byte[] header, byte[] payload) {

    public <M extends Message> M header(Parser<M> parser) throws InvalidProtocolBufferException {
      return parser.parseFrom(header);
    }

    public ErrorInfo error() throws InvalidProtocolBufferException {
      return BareResponse.parseFrom(header).getContext().getError();
    }
  }

  public RawClient(InetSocketAddress address) throws IOException {
    this(address, 0);
  }

  /** On a connected socket, for instance one that speaks TLS. */
  RawClient(Socket connected) throws IOException {
    socket = connected;
    socket.setSoTimeout(READ_TIMEOUT_MILLIS);
    out = socket.getOutputStream();
    in = new DataInputStream(socket.getInputStream());
  }

  /** With a small receive buffer the other side soon notices that nobody reads. */
  RawClient(InetSocketAddress address, int receiveBufferBytes) throws IOException {
    socket = new Socket();
    if (receiveBufferBytes > 0) {
      socket.setReceiveBufferSize(receiveBufferBytes);
    }
    socket.connect(address, READ_TIMEOUT_MILLIS);
    socket.setSoTimeout(READ_TIMEOUT_MILLIS);
    socket.setTcpNoDelay(true);
    out = socket.getOutputStream();
    in = new DataInputStream(socket.getInputStream());
  }

  public static byte[] frame(ApiKind kind, int correlation, Message header, byte[] payload) {
    ByteBuf frame =
        Frames.encode(
            UnpooledByteBufAllocator.DEFAULT,
            kind,
            false,
            correlation,
            header,
            Unpooled.wrappedBuffer(payload));
    try {
      return ByteBufUtil.getBytes(frame);
    } finally {
      frame.release();
    }
  }

  public void send(ApiKind kind, int correlation, Message header, byte... payload)
      throws IOException {
    write(frame(kind, correlation, header, payload));
  }

  public void write(byte[] bytes) throws IOException {
    out.write(bytes);
    out.flush();
  }

  public Answer read() throws IOException {
    byte[] prefix = new byte[FrameFormat.PREFIX_BYTES];
    in.readFully(prefix);
    ByteBuffer fields = ByteBuffer.wrap(prefix);
    if (fields.getShort() != FrameFormat.MAGIC
        || fields.get() != FrameFormat.VERSION
        || fields.get() != FrameFormat.FLAG_RESPONSE) {
      throw new IOException("no response frame: " + Arrays.toString(prefix));
    }
    int kind = fields.getShort();
    int correlation = fields.getInt();
    byte[] body = new byte[fields.getInt()];
    in.readFully(body);
    CodedInputStream parser = CodedInputStream.newInstance(body);
    byte[] header = parser.readByteArray();
    byte[] payload = Arrays.copyOfRange(body, parser.getTotalBytesRead(), body.length);
    return new Answer(kind, correlation, header, payload);
  }

  /** Says HELLO and returns the answer to it. */
  public Answer hello() throws IOException {
    send(ApiKind.HELLO, 1, HelloRequest.newBuilder().setMinVersion(1).setMaxVersion(1).build());
    return read();
  }

  /** What a broker says first, with a new nonce. */
  public static PeerHelloRequest peerHelloOf(String clusterId, int brokerId) {
    return PeerHelloRequest.newBuilder()
        .setClusterId(clusterId)
        .setBrokerId(brokerId)
        .setIncarnation("incarnation-" + brokerId)
        .setHost("127.0.0.1")
        .setPort(1)
        .setMinVersion(1)
        .setMaxVersion(1)
        .setNonce(ByteString.copyFrom(ClusterSecret.nonce()))
        .build();
  }

  /** The proof for the answer to a hello. */
  public static PeerProofRequest proofOf(
      PeerHelloRequest hello, PeerHelloResponse answer, ClusterSecret secret) {
    PeerTranscript transcript = new PeerTranscript(hello, answer.getBrokerId(), answer);
    return PeerProofRequest.newBuilder()
        .setProof(ByteString.copyFrom(transcript.initiatorProof(secret)))
        .build();
  }

  /**
   * The whole handshake of a broker. Returns the answer to its PEER_HELLO, or the first error,
   * after checking the other side's proof.
   */
  public Answer peerHello(String clusterId, int brokerId, ClusterSecret secret) throws IOException {
    PeerHelloRequest hello = peerHelloOf(clusterId, brokerId);
    send(ApiKind.PEER_HELLO, 1, hello);
    Answer challenge = read();
    if (challenge.error().getCode() != 0) {
      return challenge;
    }
    PeerHelloResponse response = challenge.header(PeerHelloResponse.parser());
    send(ApiKind.PEER_PROOF, 2, proofOf(hello, response, secret));
    Answer proof = read();
    if (proof.error().getCode() != 0) {
      return proof;
    }
    byte[] theirs = proof.header(PeerProofResponse.parser()).getProof().toByteArray();
    if (!new PeerTranscript(hello, response.getBrokerId(), response)
        .isAcceptorProof(theirs, secret)) {
      throw new IOException("the proof of broker " + response.getBrokerId() + " is wrong");
    }
    return challenge;
  }

  /** True when the broker closed the connection, after at most the read timeout. */
  public boolean isClosed() throws IOException {
    try {
      return in.read() < 0;
    } catch (java.net.SocketException | javax.net.ssl.SSLException broken) {
      return true;
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
