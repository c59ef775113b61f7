package io.millrace.client.metadata;

import io.millrace.client.net.BrokerAddress;
import io.millrace.client.net.Connections;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Chooses a broker for requests that any broker can answer: one with an open connection if there is
 * one, not one that owes answers and is silent, in turn.
 *
 * <p>Threads: any.
 */
final class BrokerPicker {

  /** Only passed over while another one can be asked, so a wrong guess costs nothing. */
  private static final long SILENT_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  /** Of five brokers two can be cut off together; among three there is one that knows better. */
  private static final int ENOUGH_TO_ASK = 3;

  private final List<BrokerAddress> bootstrap;
  private final Supplier<ClusterView> view;
  private final Connections connections;
  private int turn;

  BrokerPicker(List<BrokerAddress> bootstrap, Supplier<ClusterView> view, Connections connections) {
    this.bootstrap = bootstrap;
    this.view = view;
    this.connections = connections;
  }

  /** Known brokers first, then the bootstrap list: addresses may have changed since. */
  Set<BrokerAddress> all() {
    Set<BrokerAddress> all = new LinkedHashSet<>(view.get().brokers().values());
    all.addAll(bootstrap);
    return all;
  }

  /**
   * Connects to further brokers in the background until there are some to take turns with. Nobody
   * waits for it: an address that does not answer costs no request its time.
   */
  void openMore() {
    List<BrokerAddress> others = new ArrayList<>();
    int usable = 0;
    for (BrokerAddress address : all()) {
      if (!connections.isReady(address)) {
        others.add(address);
      } else if (!connections.isSilent(address, SILENT_NANOS)) {
        usable++;
      }
    }
    if (usable < ENOUGH_TO_ASK) {
      others.forEach(connections::open);
    }
  }

  /** Null when all were tried. */
  synchronized BrokerAddress next(Set<BrokerAddress> tried) {
    List<BrokerAddress> candidates = all().stream().filter(a -> !tried.contains(a)).toList();
    if (candidates.isEmpty()) {
      return null;
    }
    turn = turn + 1 & Integer.MAX_VALUE;
    for (int i = 0; i < candidates.size(); i++) {
      BrokerAddress address = candidates.get((turn + i) % candidates.size());
      if (connections.isReady(address) && !connections.isSilent(address, SILENT_NANOS)) {
        return address;
      }
    }
    for (int i = 0; i < candidates.size(); i++) {
      BrokerAddress address = candidates.get((turn + i) % candidates.size());
      if (!connections.isSilent(address, SILENT_NANOS)) {
        return address;
      }
    }
    return candidates.get(turn % candidates.size());
  }
}
