package io.millrace.broker.api;

import io.millrace.broker.raft.transport.PeerTranscript;
import io.millrace.protocol.message.PeerChannel;
import java.util.Set;

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
   * The names in the certificate that the other side showed; null when the connection is in plain
   * text.
   */
  Set<String> certificateNames();

  /** After a good PEER_HELLO: only the proof that meets the challenge is admitted next. */
  void challengePeer(PeerTranscript challenge);

  /** What {@link #challengePeer} was given, once: a challenge can be tried once. */
  PeerTranscript takeChallenge();

  /**
   * After a good PEER_PROOF: requests between brokers are admitted, and the connection moves to the
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
    /** It says that it is a broker: only PEER_PROOF is admitted. */
    CHALLENGED,
    CLIENT,
    PEER;

    /** Past the handshake. */
    public boolean isAdmitted() {
      return this == CLIENT || this == PEER;
    }
  }
}
