package io.millrace.broker.net;

import com.google.protobuf.Message;
import io.millrace.broker.api.Responder;
import io.millrace.broker.log.FetchSlice;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frames;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The answer to one request. Owns what it is given until the connection's writer takes it over.
 * Threads: any.
 */
final class NettyResponder implements Responder {

  private final NettyConnection connection;
  private final ApiKind kind;
  private final int correlation;
  private final AtomicBoolean answered = new AtomicBoolean();

  NettyResponder(NettyConnection connection, ApiKind kind, int correlation) {
    this.connection = connection;
    this.kind = kind;
    this.correlation = correlation;
  }

  boolean isAnswered() {
    return answered.get();
  }

  @Override
  public void respond(Message header) {
    respond(header, (ByteBuf) null);
  }

  @Override
  public void respond(Message header, ByteBuf payload) {
    claim(payload, null);
    ByteBuf frame;
    try {
      frame = Frames.encode(allocator(), kind, true, correlation, header, payload);
    } catch (RuntimeException fault) {
      cannotEncode(fault);
      return;
    }
    send(frame);
  }

  @Override
  public void respond(Message header, List<FetchSlice> slices, Runnable release) {
    claim(null, release);
    ByteBuf head;
    try {
      head =
          Frames.encodePrefix(
              allocator(), kind, true, correlation, header, Outgoing.bytesOf(slices));
    } catch (RuntimeException fault) {
      release.run();
      cannotEncode(fault);
      return;
    }
    connection.send(Outgoing.of(head, slices, release));
  }

  /** The caller has answered and is not to blame; the client gets the fault. */
  private void cannotEncode(RuntimeException fault) {
    connection.counters().errors.record("encoding of an answer to " + kind, fault);
    send(error(ErrorCode.SERVER_ERROR, "the answer to " + kind + " cannot be sent: " + fault));
  }

  private ByteBufAllocator allocator() {
    return connection.channel().alloc();
  }

  @Override
  public void none() {
    claim(null, null);
    connection.noAnswer();
  }

  @Override
  public void fail(ErrorCode code, String text) {
    claim(null, null);
    send(error(code, text));
  }

  @Override
  public void failAndClose(ErrorCode code, String text) {
    failAndClose(
        code,
        text,
        code == ErrorCode.UNAUTHENTICATED ? CloseReason.UNAUTHENTICATED : CloseReason.REFUSED);
  }

  void failAndClose(ErrorCode code, String text, CloseReason reason) {
    claim(null, null);
    connection.closeAfter(Outgoing.lastOne(error(code, text), reason));
  }

  private ByteBuf error(ErrorCode code, String text) {
    return Frames.errorResponse(allocator(), kind, correlation, code, text);
  }

  private void send(ByteBuf frame) {
    connection.send(Outgoing.of(frame));
  }

  private void claim(ByteBuf payloadOrNull, Runnable releaseOrNull) {
    if (!answered.compareAndSet(false, true)) {
      if (payloadOrNull != null) {
        payloadOrNull.release();
      }
      if (releaseOrNull != null) {
        releaseOrNull.run();
      }
      throw new IllegalStateException(
          kind + " #" + Integer.toUnsignedString(correlation) + " was answered before");
    }
  }
}
