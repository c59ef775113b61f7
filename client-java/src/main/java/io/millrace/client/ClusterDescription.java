package io.millrace.client;

import java.util.List;

/**
 * The brokers of a cluster as one of them sees it.
 *
 * @param metadataLeader broker id, 0 = unknown
 */
public record ClusterDescription(
    String clusterId,
    int metadataLeader,
    int answeringBroker,
    long metadataIndex,
    List<Broker> brokers) {

  /**
   * @param reachable as seen by the answering broker
   */
  public record Broker(int id, String host, int port, String incarnation, boolean reachable) {}
}
