package io.millrace.broker.api;

import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frame;
import io.netty.buffer.ByteBuf;

/**
 * One request on its way to its handler.
 *
 * <p>The frame belongs to the caller of the handler and is released when {@link
 * RequestHandler#handle} returns: a handler copies or retains what it needs longer.
 *
 * @param connection where it came from
 * @param kind of the request
 * @param frame header and payload
 * @param arrivalNanos {@link System#nanoTime} when it was complete; deadlines count from here
 */
public record RequestContext(Connection connection, ApiKind kind, Frame frame, long arrivalNanos) {

  /**
   * The parsed header; when it is not a message of that type the caller of the handler answers with
   * MALFORMED_REQUEST.
   */
  public <M extends Message> M header(Parser<M> parser) {
    return frame.header(parser);
  }

  /** The bytes behind the header, not retained. */
  public ByteBuf payload() {
    return frame.payload();
  }
}
