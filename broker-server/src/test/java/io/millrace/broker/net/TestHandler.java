package io.millrace.broker.net;

import io.millrace.broker.api.RequestContext;
import io.millrace.broker.api.RequestHandler;
import io.millrace.broker.api.Responder;
import io.millrace.protocol.frame.ApiKind;
import java.util.function.BiConsumer;

/** A handler that does what a test wants. */
record TestHandler(ApiKind kind, BiConsumer<RequestContext, Responder> action)
    implements RequestHandler {

  @Override
  public void handle(RequestContext request, Responder responder) {
    action.accept(request, responder);
  }
}
