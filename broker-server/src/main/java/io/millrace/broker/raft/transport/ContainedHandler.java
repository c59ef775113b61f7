package io.millrace.broker.raft.transport;

import io.millrace.protocol.frame.Frame;
import java.util.concurrent.RejectedExecutionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps what a handler throws away from the connection, which serves all groups: thrown on, it
 * would end the connection when an answer comes, and when the connection is lost it would end the
 * loop that fails the other requests and opens the next connection.
 *
 * <p>One handler throws in ordinary life: the group that asked was stopped, for instance because
 * its topic was deleted, and the executor that should take the answer is shut down. Nobody waits
 * for that answer any more.
 *
 * <p>Errors: anything else that a handler throws is a fault, logged here.
 */
final class ContainedHandler implements PeerNetwork.ResponseHandler {

  private static final Logger LOG = LoggerFactory.getLogger(ContainedHandler.class);

  private final int brokerId;
  private final PeerNetwork.ResponseHandler handler;

  ContainedHandler(int brokerId, PeerNetwork.ResponseHandler handler) {
    this.brokerId = brokerId;
    this.handler = handler;
  }

  @Override
  public void onResponse(Frame frame) {
    contain(() -> handler.onResponse(frame));
  }

  @Override
  public void onFailure(PeerRequestException failure) {
    contain(() -> handler.onFailure(failure));
  }

  private void contain(Runnable call) {
    try {
      call.run();
    } catch (RejectedExecutionException stopped) {
      LOG.debug("broker {}: the asker of a request has stopped: {}", brokerId, stopped.toString());
    } catch (RuntimeException fault) {
      LOG.error("broker {}: the handler of a request failed", brokerId, fault);
    }
  }
}
