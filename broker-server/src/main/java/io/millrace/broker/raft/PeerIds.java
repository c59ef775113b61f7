package io.millrace.broker.raft;

import com.alipay.sofa.jraft.entity.PeerId;
import com.alipay.sofa.jraft.util.Endpoint;

/**
 * Symbolic names of replicas inside JRaft: {@code b<brokerId>:0:<idx>}.
 *
 * <p>JRaft stores peer ids in every configuration entry and vote and compares them as text. A name
 * without an address lets a broker move to another host or port; {@link
 * io.millrace.broker.raft.transport.PeerNetwork} translates it.
 */
public final class PeerIds {

  private static final char PREFIX = 'b';

  private PeerIds() {}

  public static PeerId of(int brokerId, int idx) {
    return new PeerId(PREFIX + Integer.toString(brokerId), 0, idx);
  }

  public static PeerId parse(String text) {
    PeerId peer = new PeerId();
    if (!peer.parse(text)) {
      throw new IllegalArgumentException(
          "'" + text + "' is no peer id; expected b<broker>:0:<idx>");
    }
    brokerOf(peer.getEndpoint());
    return peer;
  }

  /** Broker id of an endpoint that {@link #of} made; 0 for the empty peer. */
  public static int brokerOf(PeerId peer) {
    return peer == null || peer.isEmpty() ? 0 : brokerOf(peer.getEndpoint());
  }

  /**
   * @throws IllegalArgumentException if the endpoint is not one of ours
   */
  public static int brokerOf(Endpoint endpoint) {
    String host = endpoint.getIp();
    try {
      if (host.charAt(0) == PREFIX && endpoint.getPort() == 0) {
        return Integer.parseInt(host, 1, host.length(), 10);
      }
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("'" + endpoint + "' is no symbolic broker name", e);
    }
    throw new IllegalArgumentException("'" + endpoint + "' is no symbolic broker name");
  }
}
