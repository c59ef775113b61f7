package io.millrace.client.net;

import io.millrace.protocol.error.MillraceException;
import io.netty.buffer.ByteBuf;

/**
 * What becomes of a request.
 *
 * <p>Threads: exactly one of the two is called, exactly once, on an event loop, or on the thread of
 * the sender when the client is closed. Must not block.
 */
public interface Answer<R> {

  /**
   * @param payload belongs to the connection and is gone after the return
   */
  void done(R response, ByteBuf payload);

  /** {@code failure.outcome()} NOT_DONE: the broker certainly did not act on this request. */
  void failed(MillraceException failure);
}
