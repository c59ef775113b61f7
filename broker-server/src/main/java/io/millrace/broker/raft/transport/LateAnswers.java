package io.millrace.broker.raft.transport;

import com.google.protobuf.InvalidProtocolBufferException;
import io.netty.buffer.ByteBuf;

/**
 * The way of answers to heartbeats that missed the response to their frame. The payload is a {@link
 * HeartbeatBatch} of answers. Threads: any, without blocking.
 */
public interface LateAnswers {

  /**
   * Sends answers to the broker whose heartbeats they answer; consumes the payload, may lose it.
   */
  void send(int brokerId, ByteBuf payload);

  /** Takes answers that a broker sent so; does not consume the payload. */
  void take(int brokerId, ByteBuf payload) throws InvalidProtocolBufferException;
}
