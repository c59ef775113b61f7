package io.millrace.broker.api;

import io.millrace.protocol.message.PeerHelloRequest;

/**
 * Decides whether the other side of a connection is the broker that it says it is. The seam for
 * certificates or secrets; today the metadata group's registry of brokers and incarnations.
 *
 * <p>Threads: event loops; must not block. Errors: {@link RequestRefusedException} with the code
 * and text to answer, for instance INCARNATION_MISMATCH naming both incarnations.
 */
@FunctionalInterface
public interface PeerAuthenticator {

  /** Returns when the peer is accepted. Cluster, version and own id were checked before. */
  void check(PeerHelloRequest hello, String remote);
}
