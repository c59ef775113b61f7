package io.millrace.broker.api;

import io.millrace.protocol.message.PeerHelloRequest;

/**
 * Decides whether a broker that has proven the cluster's secret may take part: the metadata group's
 * registry of brokers and incarnations.
 *
 * <p>Threads: event loops; must not block. Errors: {@link RequestRefusedException} with the code
 * and text to answer, for instance INCARNATION_MISMATCH naming both incarnations.
 */
@FunctionalInterface
public interface PeerAuthenticator {

  /** Returns when the peer is accepted. Cluster, version, own id and proof were checked before. */
  void check(PeerHelloRequest hello, String remote);
}
