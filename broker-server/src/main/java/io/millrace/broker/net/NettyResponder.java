package io.millrace.broker.net;

import com.google.protobuf.Message;
import io.millrace.broker.api.Responder;
import io.millrace.broker.log.FetchSlice;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frames;
import io.netty.buffer.ByteBuf;
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
    claim(null, List.of());
    send(Frames.encode(connection.channel().alloc(), kind, true, correlation, header, null));
  }

  @Override
  public void respond(Message header, ByteBuf payload) {
    claim(payload, List.of());
    send(Frames.encode(connection.channel().alloc(), kind, true, correlation, header, payload));
  }

  @Override
  public void respond(Message header, List<FetchSlice> slices) {
    claim(null, slices);
    long sliceBytes = 0;
    for (FetchSlice slice : slices) {
      sliceBytes += slice.bytes();
    }
    ByteBuf head;
    try {
      head =
          Frames.encodePrefix(
              connection.channel().alloc(), kind, true, correlation, header, sliceBytes);
    } catch (RuntimeException | Error failed) {
      slices.forEach(FetchSlice::release);
      throw failed;
    }
    connection.send(new Outgoing(head, slices, head.readableBytes() + sliceBytes, null));
  }

  @Override
  public void fail(ErrorCode code, String text) {
    claim(null, List.of());
    send(error(code, text));
  }

  @Override
  public void failAndClose(ErrorCode code, String text) {
    failAndClose(code, text, CloseReason.REFUSED);
  }

  void failAndClose(ErrorCode code, String text, CloseReason reason) {
    claim(null, List.of());
    connection.closeAfter(Outgoing.lastOne(error(code, text), reason));
  }

  private ByteBuf error(ErrorCode code, String text) {
    return Frames.errorResponse(connection.channel().alloc(), kind, correlation, code, text);
  }

  private void send(ByteBuf frame) {
    connection.send(Outgoing.of(frame));
  }

  private void claim(ByteBuf payloadOrNull, List<FetchSlice> slices) {
    if (!answered.compareAndSet(false, true)) {
      if (payloadOrNull != null) {
        payloadOrNull.release();
      }
      slices.forEach(FetchSlice::release);
      throw new IllegalStateException(
          kind + " #" + Integer.toUnsignedString(correlation) + " was answered before");
    }
  }
}
