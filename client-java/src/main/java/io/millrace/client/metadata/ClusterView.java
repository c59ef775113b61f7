package io.millrace.client.metadata;

import io.millrace.client.net.BrokerAddress;
import java.util.Map;

/**
 * What the client knows of brokers and topics. Immutable.
 *
 * @param index of the metadata log that it shows at least
 * @param topics by name; only those that were asked for
 */
public record ClusterView(
    long index, Map<Integer, BrokerAddress> brokers, Map<String, TopicView> topics) {

  static final ClusterView EMPTY = new ClusterView(0, Map.of(), Map.of());

  /** Null when not known. */
  public TopicView topic(String name) {
    return topics.get(name);
  }

  /** Null when not known. */
  public BrokerAddress broker(int id) {
    return brokers.get(id);
  }
}
