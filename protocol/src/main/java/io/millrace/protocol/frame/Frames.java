package io.millrace.protocol.frame;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Message;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.BareResponse;
import io.millrace.protocol.message.ResponseContext;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;

/**
 * Encodes frames; the layout is in {@link FrameFormat}.
 *
 * <p>Owns: nothing; the returned buffer is the caller's. Threads: any.
 */
public final class Frames {

  private Frames() {}

  /**
   * A whole frame. Takes over {@code payloadOrNull}, also when it throws; its bytes are not copied.
   */
  public static ByteBuf encode(
      ByteBufAllocator alloc,
      ApiKind kind,
      boolean response,
      int correlation,
      Message header,
      ByteBuf payloadOrNull) {
    return encode(alloc, kind.code(), response, correlation, header, payloadOrNull);
  }

  private static ByteBuf encode(
      ByteBufAllocator alloc,
      int kindCode,
      boolean response,
      int correlation,
      Message header,
      ByteBuf payloadOrNull) {
    ByteBuf prefix = null;
    try {
      int payloadBytes = payloadOrNull == null ? 0 : payloadOrNull.readableBytes();
      prefix = prefix(alloc, kindCode, response, correlation, header, payloadBytes);
      if (payloadBytes == 0) {
        ReferenceCountUtil.release(payloadOrNull);
        return prefix;
      }
    } catch (Throwable t) {
      ReferenceCountUtil.release(payloadOrNull);
      throw t;
    }
    return alloc
        .compositeBuffer(Math.max(2, 1 + payloadOrNull.nioBufferCount()))
        .addComponent(true, prefix)
        .addFlattenedComponents(true, payloadOrNull);
  }

  /**
   * Everything up to the payload; the caller writes exactly {@code payloadBytes} behind it, for
   * example as file regions.
   */
  public static ByteBuf encodePrefix(
      ByteBufAllocator alloc,
      ApiKind kind,
      boolean response,
      int correlation,
      Message header,
      long payloadBytes) {
    return prefix(alloc, kind.code(), response, correlation, header, payloadBytes);
  }

  /** A response that carries nothing but an error; correct for every kind. */
  public static ByteBuf errorResponse(
      ByteBufAllocator alloc, ApiKind kind, int correlation, ErrorCode code, String text) {
    return errorResponse(alloc, kind.code(), correlation, code, text);
  }

  /** As above, for a kind that this version may not know. */
  public static ByteBuf errorResponse(
      ByteBufAllocator alloc, int kindCode, int correlation, ErrorCode code, String text) {
    ResponseContext context = ResponseContext.newBuilder().setError(code.toInfo(text)).build();
    return errorResponse(alloc, kindCode, correlation, context);
  }

  /** As above, with a context that also holds a throttle time or a metadata index. */
  public static ByteBuf errorResponse(
      ByteBufAllocator alloc, int kindCode, int correlation, ResponseContext context) {
    BareResponse header = BareResponse.newBuilder().setContext(context).build();
    return encode(alloc, kindCode, true, correlation, header, null);
  }

  private static ByteBuf prefix(
      ByteBufAllocator alloc,
      int kindCode,
      boolean response,
      int correlation,
      Message header,
      long payloadBytes) {
    int headerBytes = header.getSerializedSize();
    int varintBytes = CodedOutputStream.computeUInt32SizeNoTag(headerBytes);
    long length = (long) varintBytes + headerBytes + payloadBytes;
    if (payloadBytes < 0 || length > Integer.MAX_VALUE - FrameFormat.PREFIX_BYTES) {
      throw new IllegalArgumentException(
          "frame of "
              + headerBytes
              + " header and "
              + payloadBytes
              + " payload bytes does not fit into 2 GiB");
    }
    int tailBytes = varintBytes + headerBytes;
    int totalBytes = FrameFormat.PREFIX_BYTES + tailBytes;
    ByteBuf buf = alloc.ioBuffer(totalBytes, totalBytes);
    try {
      buf.writeShort(FrameFormat.MAGIC);
      buf.writeByte(FrameFormat.VERSION);
      buf.writeByte(response ? FrameFormat.FLAG_RESPONSE : 0);
      buf.writeShort(kindCode);
      buf.writeInt(correlation);
      buf.writeInt((int) length);
      ByteBuffer tail = buf.nioBuffer(FrameFormat.PREFIX_BYTES, tailBytes);
      CodedOutputStream out = CodedOutputStream.newInstance(tail);
      out.writeUInt32NoTag(headerBytes);
      header.writeTo(out);
      out.flush();
      out.checkNoSpaceLeft();
      return buf.writerIndex(totalBytes);
    } catch (IOException e) {
      buf.release();
      throw new UncheckedIOException(e);
    } catch (Throwable t) {
      buf.release();
      throw t;
    }
  }
}
