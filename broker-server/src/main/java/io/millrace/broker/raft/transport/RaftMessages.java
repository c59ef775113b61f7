package io.millrace.broker.raft.transport;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.UnsafeByteOperations;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.io.IOException;
import java.io.UncheckedIOException;

/** JRaft messages to and from Netty buffers, with one copy out and none in. */
final class RaftMessages {

  private RaftMessages() {}

  /** Serialises into a new buffer that the caller owns; the message's data is copied. */
  static ByteBuf encode(ByteBufAllocator allocator, Message message) {
    int size = message.getSerializedSize();
    ByteBuf buffer = allocator.directBuffer(Math.max(size, 1));
    try {
      CodedOutputStream out = CodedOutputStream.newInstance(buffer.nioBuffer(0, size));
      message.writeTo(out);
      out.flush();
      buffer.writerIndex(size);
      return buffer;
    } catch (IOException e) {
      buffer.release();
      throw new UncheckedIOException("a buffer of the computed size was too small", e);
    }
  }

  /**
   * Parses without copying bytes fields: they point into the buffer, which must not be released
   * while the message's data is in use.
   */
  static Message decode(RaftMessageType type, ByteBuf payload)
      throws InvalidProtocolBufferException {
    try {
      CodedInputStream in =
          UnsafeByteOperations.unsafeWrap(
                  payload.nioBuffer(payload.readerIndex(), payload.readableBytes()))
              .newCodedInput();
      in.enableAliasing(true);
      Message message = type.prototype().getParserForType().parseFrom(in);
      in.checkLastTagWas(0);
      return message;
    } catch (InvalidProtocolBufferException e) {
      throw e;
    } catch (IOException e) {
      throw new InvalidProtocolBufferException(e);
    }
  }
}
