package io.millrace.broker.api;

import com.google.protobuf.Message;
import io.millrace.broker.log.FetchSlice;
import io.millrace.protocol.error.ErrorCode;
import io.netty.buffer.ByteBuf;
import java.util.List;

/**
 * Takes the one answer to a request. Threads: any. A second answer is a fault of the handler: what
 * it carries is released, and the call throws {@link IllegalStateException}. Answers to a
 * connection that is gone are dropped.
 */
public interface Responder {

  void respond(Message header);

  /** The request was one that has no answer. */
  void none();

  /** Takes over the payload. */
  void respond(Message header, ByteBuf payload);

  /**
   * The payload is the bytes of the slices, in their order. The action releases them; it runs
   * exactly once, when the slices are written or cannot be, on any thread.
   */
  void respond(Message header, List<FetchSlice> slices, Runnable release);

  /** Answers with nothing but an error; right for every kind. */
  void fail(ErrorCode code, String text);

  /** As {@link #fail}, after which the connection is closed. */
  void failAndClose(ErrorCode code, String text);
}
