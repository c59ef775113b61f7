package io.millrace.protocol.frame;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCounted;
import java.io.IOException;

/**
 * One received frame.
 *
 * <p>Owns: one reference to the bytes of the frame; reference counting is that of the bytes. The
 * receiver releases it exactly once, after which header and payload are gone.
 *
 * <p>Threads: none of its own; it may be handed to another thread.
 */
public final class Frame implements ReferenceCounted {

  private final int kindCode;
  private final boolean response;
  private final int correlation;
  private final ByteBuf body;
  private final int headerStart;
  private final int headerBytes;

  /** Takes over the reference to {@code body}, whose header lies at an absolute index. */
  Frame(
      int kindCode,
      boolean response,
      int correlation,
      ByteBuf body,
      int headerStart,
      int headerBytes) {
    this.kindCode = kindCode;
    this.response = response;
    this.correlation = correlation;
    this.body = body;
    this.headerStart = headerStart;
    this.headerBytes = headerBytes;
  }

  public int kindCode() {
    return kindCode;
  }

  /** Null when this version does not know the kind. */
  public ApiKind kind() {
    return ApiKind.of(kindCode);
  }

  public boolean isResponse() {
    return response;
  }

  public int correlation() {
    return correlation;
  }

  /** Parses the header out of the receive buffer, without a copy between. */
  public <M extends Message> M header(Parser<M> parser) throws MalformedFrameException {
    try {
      CodedInputStream in = CodedInputStream.newInstance(body.nioBuffer(headerStart, headerBytes));
      M message = parser.parseFrom(in);
      in.checkLastTagWas(0);
      return message;
    } catch (IOException e) {
      throw MalformedFrameException.header(
          "header of "
              + describeKind()
              + " ("
              + headerBytes
              + " bytes) is no valid message: "
              + e.getMessage(),
          e,
          this);
    }
  }

  public int headerBytes() {
    return headerBytes;
  }

  public int payloadBytes() {
    return body.writerIndex() - headerStart - headerBytes;
  }

  /** Bytes that this frame keeps in memory. */
  public int bodyBytes() {
    return body.readableBytes();
  }

  /** A new view of the payload, not retained: it lives as long as this frame. */
  public ByteBuf payload() {
    return body.slice(headerStart + headerBytes, payloadBytes());
  }

  private String describeKind() {
    ApiKind kind = kind();
    return (kind == null ? "kind " + kindCode : kind.toString())
        + (response ? " response" : " request");
  }

  @Override
  public int refCnt() {
    return body.refCnt();
  }

  @Override
  public Frame retain() {
    body.retain();
    return this;
  }

  @Override
  public Frame retain(int increment) {
    body.retain(increment);
    return this;
  }

  @Override
  public Frame touch() {
    body.touch();
    return this;
  }

  @Override
  public Frame touch(Object hint) {
    body.touch(hint);
    return this;
  }

  @Override
  public boolean release() {
    return body.release();
  }

  @Override
  public boolean release(int decrement) {
    return body.release(decrement);
  }

  @Override
  public String toString() {
    return describeKind()
        + " #"
        + Integer.toUnsignedString(correlation)
        + " header="
        + headerBytes
        + " body="
        + (refCnt() > 0 ? String.valueOf(bodyBytes()) : "released");
  }
}
