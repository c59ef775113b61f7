package io.millrace.broker.raft.transport;

import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesRequest;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.UnsafeByteOperations;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Heartbeats of many groups, or the answers to them, in the payload of one RAFT frame. The header's
 * type is {@link #REQUESTS} or {@link #ANSWERS} in place of a {@link RaftMessageType}, its group
 * empty.
 *
 * <pre>
 * until the end of the payload, at most {@link #MAX_ITEMS} times:
 * varint  number of the heartbeat, chosen by its sender, the same in its answer
 * varint  code of the message's {@link RaftMessageType}
 * varint  n, length of the message
 * n       the message: an AppendEntriesRequest; or an AppendEntriesResponse or ErrorResponse
 * </pre>
 */
final class HeartbeatBatch {

  static final int REQUESTS = 4;
  static final int ANSWERS = 104;

  /** Of one frame. An item has about 150 bytes. */
  static final int MAX_ITEMS = 512;

  /** One heartbeat or answer. */
  record Item(long number, Message message) {
    private int bytes() {
      int length = message.getSerializedSize();
      return CodedOutputStream.computeUInt64SizeNoTag(number)
          + CodedOutputStream.computeUInt32SizeNoTag(typeOf(message).code())
          + CodedOutputStream.computeUInt32SizeNoTag(length)
          + length;
    }
  }

  private HeartbeatBatch() {}

  /** As JRaft tells them from probes: no entries, and no data, not even an empty one. */
  static boolean isHeartbeat(Object request) {
    return request instanceof AppendEntriesRequest append
        && append.getEntriesCount() == 0
        && !append.hasData();
  }

  private static RaftMessageType typeOf(Message message) {
    RaftMessageType type = RaftMessageType.of(message);
    if (type == null) {
      throw new IllegalArgumentException(message.getClass() + " does not travel between brokers");
    }
    return type;
  }

  /** Serialises into a new buffer that the caller owns. */
  static ByteBuf encode(ByteBufAllocator allocator, List<Item> items) {
    int size = 0;
    for (Item item : items) {
      size += item.bytes();
    }
    ByteBuf buffer = allocator.directBuffer(Math.max(size, 1));
    boolean done = false;
    try {
      CodedOutputStream out = CodedOutputStream.newInstance(buffer.nioBuffer(0, size));
      for (Item item : items) {
        out.writeUInt64NoTag(item.number());
        out.writeUInt32NoTag(typeOf(item.message()).code());
        out.writeUInt32NoTag(item.message().getSerializedSize());
        item.message().writeTo(out);
      }
      out.flush();
      out.checkNoSpaceLeft();
      buffer.writerIndex(size);
      done = true;
      return buffer;
    } catch (IOException e) {
      throw new UncheckedIOException("a buffer of the computed size was too small", e);
    } finally {
      if (!done) {
        buffer.release();
      }
    }
  }

  /**
   * Parses a payload, all or nothing; the messages do not point into it.
   *
   * @throws InvalidProtocolBufferException also for too many items
   */
  static List<Item> decode(ByteBuf payload) throws InvalidProtocolBufferException {
    List<Item> items = new ArrayList<>();
    try {
      CodedInputStream in =
          UnsafeByteOperations.unsafeWrap(
                  payload.nioBuffer(payload.readerIndex(), payload.readableBytes()))
              .newCodedInput();
      while (!in.isAtEnd()) {
        if (items.size() == MAX_ITEMS) {
          throw new InvalidProtocolBufferException("more than " + MAX_ITEMS + " heartbeats");
        }
        items.add(readItem(in));
      }
      return items;
    } catch (InvalidProtocolBufferException e) {
      throw e;
    } catch (IOException e) {
      throw new InvalidProtocolBufferException(e);
    }
  }

  private static Item readItem(CodedInputStream in) throws IOException {
    long number = in.readUInt64();
    int code = in.readUInt32();
    RaftMessageType type = RaftMessageType.of(code);
    if (type == null) {
      throw new InvalidProtocolBufferException("message of unknown type " + code);
    }
    int length = in.readUInt32();
    int outer = in.pushLimit(length);
    Message message = type.prototype().getParserForType().parseFrom(in);
    in.checkLastTagWas(0);
    if (in.getBytesUntilLimit() != 0) {
      throw new InvalidProtocolBufferException("a message ends before its length");
    }
    in.popLimit(outer);
    return new Item(number, message);
  }
}
