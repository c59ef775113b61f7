package io.millrace.broker.raft.transport;

/**
 * How this broker shows its peers that it belongs to the cluster, and how they show it.
 *
 * @param secret of the cluster; null = none: this broker neither calls nor admits another one
 * @param tls for connections between brokers; null = they are in plain text
 */
public record PeerCredentials(ClusterSecret secret, PeerTls tls) {

  /** Of a broker that is its whole cluster. */
  public static final PeerCredentials NONE = new PeerCredentials(null, null);

  public boolean requiresTls() {
    return tls != null;
  }
}
