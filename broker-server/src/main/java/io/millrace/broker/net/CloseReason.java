package io.millrace.broker.net;

import java.util.Locale;

/** Why the broker itself closed a connection; each is a counter {@code net.closed.<name>}. */
public enum CloseReason {
  /** Bytes that are no frame: another protocol, or a broken client. */
  GARBAGE,
  /** A frame of a version that is not spoken here. */
  UNSUPPORTED_VERSION,
  /** A length over the limit of the connection. */
  FRAME_TOO_LARGE,
  /** A frame whose fields contradict each other, or one with the response flag. */
  MALFORMED_FRAME,
  /**
   * A request that needs a handshake first, a request between brokers from a client, or a broker
   * without the right proof or certificate.
   */
  UNAUTHENTICATED,
  /** The TLS handshake failed, or what was said inside TLS was no TLS. */
  TLS,
  /** HELLO, PEER_HELLO or PEER_PROOF was refused for another reason. */
  REFUSED,
  /** More connections than max.connections. */
  TOO_MANY_CONNECTIONS,
  /** No handshake in time. */
  HANDSHAKE_TIMEOUT,
  /** Half a frame, and nothing more for too long. */
  STALLED_REQUEST,
  /** Responses that the other side does not take. */
  STALLED_RESPONSE,
  /** Reading or writing failed. */
  IO_ERROR,
  /** The broker stops. */
  SHUTDOWN;

  String counterName() {
    return "net.closed." + name().toLowerCase(Locale.ROOT);
  }
}
