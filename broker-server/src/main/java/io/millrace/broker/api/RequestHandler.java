package io.millrace.broker.api;

import io.millrace.protocol.frame.ApiKind;

/**
 * Handles one kind of request: decode, call, encode.
 *
 * <p>Threads: {@link #handle} runs on the event loop of the connection, never blocks, and is called
 * in the order in which the requests of a connection arrived. The responder may be used later, on
 * any thread.
 *
 * <p>Errors: an exception before the answer is answered with SERVER_ERROR; a header that cannot be
 * read with MALFORMED_REQUEST; a {@link RequestRefusedException} with its code. The connection
 * lives on in all three cases.
 */
public interface RequestHandler {

  ApiKind kind();

  void handle(RequestContext request, Responder responder);
}
