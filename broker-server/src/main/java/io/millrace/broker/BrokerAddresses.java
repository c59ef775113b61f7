package io.millrace.broker;

import io.millrace.broker.cluster.BrokerEntry;
import io.millrace.broker.raft.transport.PeerNetwork;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Where the other brokers are. What a broker itself said at its last handshake here is newest; then
 * the cluster's registry; then the configuration, which is needed before either is known.
 *
 * <p>Threads: any.
 */
final class BrokerAddresses implements PeerNetwork.AddressBook {

  private final Map<Integer, HostPort> configured;
  private final Map<Integer, HostPort> registered = new ConcurrentHashMap<>();
  private final Map<Integer, HostPort> said = new ConcurrentHashMap<>();

  BrokerAddresses(Map<Integer, HostPort> configured) {
    this.configured = Map.copyOf(configured);
  }

  @Override
  public InetSocketAddress addressOf(int brokerId) {
    HostPort address = said.get(brokerId);
    if (address == null) {
      address = registered.get(brokerId);
    }
    if (address == null) {
      address = configured.get(brokerId);
    }
    return address == null || address.port() == 0
        ? null
        : new InetSocketAddress(address.host(), address.port());
  }

  /** True if the address is news. */
  boolean saidBy(int brokerId, String host, int port) {
    HostPort address = new HostPort(host, port);
    return !address.equals(said.put(brokerId, address));
  }

  /** The registry's entry; it replaces an older word of the broker itself if it changed. */
  boolean registered(BrokerEntry broker) {
    HostPort address = new HostPort(broker.host(), broker.port());
    boolean news = !address.equals(registered.put(broker.id(), address));
    if (news) {
      said.remove(broker.id());
    }
    return news;
  }
}
