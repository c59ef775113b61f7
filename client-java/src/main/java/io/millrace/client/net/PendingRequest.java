package io.millrace.client.net;

import com.google.protobuf.Message;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A request from the call of send to its answer.
 *
 * <p>Owns: the payload until it is handed to the channel. Threads: the event loop of its link.
 */
final class PendingRequest<R extends Message> {

  private static final Logger LOG = LoggerFactory.getLogger(PendingRequest.class);

  final Api<R> api;
  final Message header;
  final long timeoutMillis;
  final int expectedBroker;
  private final Answer<R> answer;
  private ByteBuf payload;

  int correlation;
  long startedNanos;
  Future<?> timeout;

  /** Null until handed to the channel. */
  ChannelFuture write;

  PendingRequest(
      Api<R> api,
      Message header,
      ByteBuf payload,
      long timeoutMillis,
      int expectedBroker,
      Answer<R> answer) {
    this.api = api;
    this.header = header;
    this.payload = payload;
    this.timeoutMillis = timeoutMillis;
    this.expectedBroker = expectedBroker;
    this.answer = answer;
  }

  ByteBuf takePayload() {
    ByteBuf taken = payload;
    payload = null;
    return taken;
  }

  /**
   * False when the broker cannot have the whole request: it was never handed to the channel, or the
   * channel failed before the socket had taken its last byte. A frame that lacks bytes is never
   * executed.
   */
  boolean maybeSent() {
    return write != null && !(write.isDone() && !write.isSuccess());
  }

  void finish(R response, ByteBuf body) {
    release();
    try {
      answer.done(response, body);
    } catch (RuntimeException e) {
      LOG.error("handling the answer to {} #{} failed", api.kind(), correlation, e);
    }
  }

  void fail(MillraceException failure) {
    release();
    try {
      answer.failed(failure);
    } catch (RuntimeException e) {
      LOG.error("handling the failure of {} #{} failed", api.kind(), correlation, e);
    }
  }

  /** With the outcome that follows from what was sent. */
  void failConnection(BrokerAddress address, String reason) {
    fail(
        maybeSent()
            ? new MillraceException(
                ErrorCode.DISCONNECTED,
                "the connection to " + address + " ended before the answer: " + reason)
            : new MillraceException(ErrorCode.UNREACHABLE, address + ": " + reason));
  }

  private void release() {
    if (timeout != null) {
      timeout.cancel(false);
      timeout = null;
    }
    ReferenceCountUtil.release(takePayload());
  }
}
