package io.millrace.broker.raft.transport;

/** A request to another broker that got no response. */
public final class PeerRequestException extends Exception {

  private static final long serialVersionUID = 1L;

  private final boolean certainlyNotSent;
  private final boolean timeout;

  private PeerRequestException(String message, boolean certainlyNotSent, boolean timeout) {
    super(message, null, false, false);
    this.certainlyNotSent = certainlyNotSent;
    this.timeout = timeout;
  }

  static PeerRequestException notSent(String message) {
    return new PeerRequestException(message, true, false);
  }

  static PeerRequestException lost(String message) {
    return new PeerRequestException(message, false, false);
  }

  static PeerRequestException timedOut(String message) {
    return new PeerRequestException(message, false, true);
  }

  /** False: the peer may have received and executed the request. */
  public boolean certainlyNotSent() {
    return certainlyNotSent;
  }

  public boolean isTimeout() {
    return timeout;
  }
}
