package io.millrace.broker.net;

import io.millrace.broker.api.Connection.Role;
import io.millrace.broker.api.Handlers;
import io.millrace.broker.api.RequestContext;
import io.millrace.broker.api.RequestHandler;
import io.millrace.broker.api.RequestRefusedException;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.frame.Frames;
import io.millrace.protocol.frame.MalformedFrameException;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import java.io.IOException;
import java.util.function.BooleanSupplier;
import javax.net.ssl.SSLException;

/**
 * The last handler of a connection: checks that the request is admitted, and calls the handler of
 * its kind.
 *
 * <p>Owns: each frame from its arrival until its handler returned. Threads: the event loop of the
 * connection.
 *
 * <p>Errors: what is no frame closes the connection, after an error response when the request is
 * known. A whole frame with a wrong content is answered, and the connection lives. A fault of a
 * handler is answered with SERVER_ERROR, since what it did before is not known.
 */
final class RequestDispatcher extends ChannelInboundHandlerAdapter {

  private static final int FIRST_PEER_CODE = ApiKind.PEER_HELLO.code();
  private static final int MAX_REASON_CHARS = 120;

  private final NettyConnection connection;
  private final Handlers handlers;
  private final NetworkCounters counters;
  private final BooleanSupplier shuttingDown;

  RequestDispatcher(
      NettyConnection connection,
      Handlers handlers,
      NetworkCounters counters,
      BooleanSupplier shuttingDown) {
    this.connection = connection;
    this.handlers = handlers;
    this.counters = counters;
    this.shuttingDown = shuttingDown;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    Frame frame = (Frame) message;
    try {
      if (!connection.isClosing()) {
        dispatch(frame);
      }
    } finally {
      frame.release();
    }
  }

  private void dispatch(Frame frame) {
    ApiKind kind = frame.kind();
    if (frame.isResponse()) {
      closeAfterError(
          frame.kindCode(),
          frame.correlation(),
          ErrorCode.MALFORMED_REQUEST,
          "a broker takes requests only, this frame has the response flag",
          CloseReason.MALFORMED_FRAME);
      return;
    }
    RequestHandler handler = kind == null ? null : handlers.find(kind);
    if (handler == null) {
      counters.unknownApi.increment();
      answerError(
          frame,
          ErrorCode.UNKNOWN_API,
          "request kind " + frame.kindCode() + " is not known to this broker");
      return;
    }
    counters.request(kind);
    NettyResponder responder = new NettyResponder(connection, kind, frame.correlation());
    connection.requestStarted();
    if (admit(kind, responder)) {
      call(handler, new RequestContext(connection, kind, frame, System.nanoTime()), responder);
    }
  }

  /** Answers and returns false when the connection may not ask for this. */
  private boolean admit(ApiKind kind, NettyResponder responder) {
    Role role = connection.role();
    if (kind == ApiKind.PEER_HELLO) {
      return role == Role.NEW
          || refuse(responder, "PEER_HELLO must be the first request of a connection");
    }
    if (kind == ApiKind.PEER_PROOF) {
      return role == Role.CHALLENGED
          || refuse(responder, "PEER_PROOF must be the second request, behind a PEER_HELLO");
    }
    if (role == Role.CHALLENGED) {
      return refuse(responder, kind + " came before PEER_PROOF; prove first who you are");
    }
    if (kind.code() > FIRST_PEER_CODE && role != Role.PEER) {
      return refuse(
          responder,
          kind
              + " is a request between brokers; "
              + connection.remote()
              + " has not sent a PEER_HELLO");
    }
    if (kind == ApiKind.HELLO) {
      if (role == Role.NEW && connection.isOverLimit()) {
        responder.failAndClose(
            ErrorCode.REFUSED,
            "this broker has all the connections that max.connections allows; close some, or raise"
                + " it",
            CloseReason.TOO_MANY_CONNECTIONS);
        return false;
      }
      return true;
    }
    if (role == Role.NEW) {
      return refuse(responder, kind + " came before HELLO; say HELLO first");
    }
    if (role == Role.CLIENT && shuttingDown.getAsBoolean()) {
      counters.refusedRequests.increment();
      responder.fail(ErrorCode.SHUTTING_DOWN, "this broker stops; ask another one");
      return false;
    }
    return true;
  }

  private static boolean refuse(NettyResponder responder, String text) {
    responder.failAndClose(ErrorCode.UNAUTHENTICATED, text);
    return false;
  }

  private void call(RequestHandler handler, RequestContext request, NettyResponder responder) {
    try {
      handler.handle(request, responder);
    } catch (RequestRefusedException refused) {
      failUnlessAnswered(responder, refused.code(), refused.getMessage(), refused);
    } catch (MalformedFrameException malformed) {
      if (connection.role().isAdmitted() || responder.isAnswered()) {
        failUnlessAnswered(responder, malformed.code(), malformed.getMessage(), malformed);
      } else {
        // A stranger gets no second try.
        responder.failAndClose(
            malformed.code(), malformed.getMessage(), CloseReason.MALFORMED_FRAME);
      }
    } catch (RuntimeException | Error fault) {
      counters.errors.record("handler of " + request.kind(), fault);
      if (!responder.isAnswered()) {
        responder.fail(ErrorCode.SERVER_ERROR, request.kind() + " failed: " + fault);
      }
    }
  }

  private void failUnlessAnswered(
      NettyResponder responder, ErrorCode code, String text, RuntimeException cause) {
    counters.refusedRequests.increment();
    if (responder.isAnswered()) {
      counters.errors.record("a request that was refused after its answer", cause);
    } else {
      responder.fail(code, text);
    }
  }

  private void answerError(Frame frame, ErrorCode code, String text) {
    connection.requestStarted();
    connection.send(
        Outgoing.of(
            Frames.errorResponse(
                connection.channel().alloc(), frame.kindCode(), frame.correlation(), code, text)));
  }

  private void closeAfterError(
      int kindCode, int correlation, ErrorCode code, String text, CloseReason reason) {
    connection.closeAfter(
        Outgoing.lastOne(
            Frames.errorResponse(connection.channel().alloc(), kindCode, correlation, code, text),
            reason));
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    if (cause instanceof MalformedFrameException malformed) {
      malformed(malformed);
    } else if (cause.getCause() instanceof SSLException broken) {
      closeTls(broken);
    } else if (cause instanceof IOException) {
      connection.close(CloseReason.IO_ERROR); // Reset by the other side, or a broken network.
    } else {
      counters.errors.record("connection handling", cause);
      connection.close(CloseReason.IO_ERROR);
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof SslHandshakeCompletionEvent ended && !ended.isSuccess()) {
      closeTls(ended.cause());
    }
    ctx.fireUserEventTriggered(event);
  }

  private void closeTls(Throwable cause) {
    if (!connection.isClosing()) {
      counters.errors.recordEvent(
          "close " + CloseReason.TLS,
          "TLS with " + connection.remote() + " failed: " + reason(cause));
      connection.close(CloseReason.TLS);
    }
  }

  /** Netty's text for what is no TLS holds all the bytes; a stranger must not fill the log. */
  private static String reason(Throwable cause) {
    String text = String.valueOf(cause.getMessage());
    return text.length() <= MAX_REASON_CHARS ? text : text.substring(0, MAX_REASON_CHARS) + "...";
  }

  private void malformed(MalformedFrameException malformed) {
    if (connection.isClosing()) {
      return;
    }
    CloseReason reason =
        switch (malformed.code()) {
          case UNSUPPORTED_VERSION -> CloseReason.UNSUPPORTED_VERSION;
          case FRAME_TOO_LARGE -> CloseReason.FRAME_TOO_LARGE;
          default -> malformed.requestKnown() ? CloseReason.MALFORMED_FRAME : CloseReason.GARBAGE;
        };
    counters.errors.recordEvent(
        "close " + reason,
        "connection from " + connection.remote() + " closed: " + malformed.getMessage());
    if (malformed.requestKnown()) {
      closeAfterError(
          malformed.kindCode(),
          malformed.correlation(),
          malformed.code(),
          malformed.getMessage(),
          reason);
    } else {
      connection.close(reason);
    }
  }
}
