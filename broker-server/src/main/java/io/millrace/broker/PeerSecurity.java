package io.millrace.broker;

import io.millrace.broker.raft.transport.ClusterSecret;
import io.millrace.broker.raft.transport.PeerCredentials;
import io.millrace.broker.raft.transport.PeerTls;
import io.millrace.broker.raft.transport.PeerTlsFiles;
import java.io.IOException;
import java.util.Collection;
import java.util.List;

/**
 * Reads what a broker shows the others, and refuses to start without it when there are others.
 * Errors: {@link ConfigException}, one line.
 */
final class PeerSecurity {

  private PeerSecurity() {}

  static PeerCredentials load(BrokerConfig config) {
    ClusterSecret secret =
        config.secretFile() == null ? null : ClusterSecretFile.read(config.secretFile());
    PeerCredentials credentials =
        new PeerCredentials(secret, tls(config.peerTls(), config.brokerId()));
    requireSecret(credentials, config.brokerId(), config.clusterBrokers().keySet());
    return credentials;
  }

  private static PeerTls tls(PeerTlsFiles files, int brokerId) {
    if (files == null) {
      return null;
    }
    try {
      ClusterSecretFile.requireOwnerOnly(files.key());
      return PeerTls.load(files, brokerId);
    } catch (IOException unusable) {
      throw new ConfigException("peer.tls: " + ClusterSecretFile.text(unusable), unusable);
    }
  }

  /** Only a broker that is its whole cluster needs no secret. */
  static void requireSecret(
      PeerCredentials credentials, int brokerId, Collection<Integer> brokersOfCluster) {
    List<Integer> others = brokersOfCluster.stream().filter(id -> id != brokerId).sorted().toList();
    if (credentials.secret() == null && !others.isEmpty()) {
      throw new ConfigException(
          "cluster.secret.file is missing, but the cluster has other brokers "
              + others
              + ". Set it to the file with the secret that all of them share; broker format makes"
              + " one on the first broker, copy it to the others");
    }
  }
}
