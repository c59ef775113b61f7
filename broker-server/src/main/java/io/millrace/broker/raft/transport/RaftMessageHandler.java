package io.millrace.broker.raft.transport;

import com.google.protobuf.Message;
import java.util.function.Consumer;

/** Takes the Raft messages of one group. */
public interface RaftMessageHandler {

  /**
   * Handles one request; called by one thread at a time, in order of arrival.
   *
   * @param sender broker id that the connection was authenticated as
   * @param request its bytes fields are valid only until this returns
   * @param responder takes the one response, now or later, on any thread
   */
  void handle(int sender, Message request, Consumer<Message> responder);
}
