package io.millrace.broker.api;

import io.millrace.protocol.message.PeerChannel;

/** One connection, as request handlers see it. Threads: its event loop, unless stated. */
public interface Connection {

  /** Address of the other side, for texts. */
  String remote();

  /** What the other side has proven to be. */
  Role role();

  /** Id of the broker at the other side; 0 unless the role is PEER. */
  int peerBrokerId();

  /** After a good HELLO: every client request is admitted, up to the full frame limit. */
  void acceptClient(String clientName);

  /**
   * After a good PEER_HELLO: requests between brokers are admitted, and the connection moves to the
   * event loops of the peers. Its response is written there; nothing is read in between.
   */
  void acceptPeer(int brokerId, PeerChannel channel);

  /**
   * Runs the action when the connection is gone, or at once when it is gone already. The handle
   * returned forgets the action again; both may be called on any thread.
   */
  Runnable onClose(Runnable action);

  /** Stage of the handshake. */
  enum Role {
    /** Nothing said yet: only HELLO and PEER_HELLO are admitted. */
    NEW,
    CLIENT,
    PEER
  }
}
