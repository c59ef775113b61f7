package io.millrace.tools.local;

import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.tools.Words;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Which brokers do not reach which, by their own words. Pure: made from reports, asks nobody. */
final class PeerReach {
  private final Map<Integer, Set<Integer>> unreached = new TreeMap<>();

  /**
   * @param reports by the broker that gave them
   */
  PeerReach(Map<Integer, BrokerStatusResponse> reports) {
    reports.forEach(
        (broker, report) -> unreached.put(broker, Set.copyOf(report.getUnreachedPeersList())));
  }

  /** In words who of the others does not reach this broker; empty when all do. */
  Optional<String> trouble(int broker) {
    Set<Integer> by = unreachedBy(broker);
    if (!isCutOff(broker)) {
      // That one reaches nobody is told at that one, not at everybody.
      by.removeIf(this::isCutOff);
    }
    return by.isEmpty()
        ? Optional.empty()
        : Optional.of(Words.brokers(by) + (by.size() == 1 ? " does" : " do") + " not reach it");
  }

  /** Of two nobody can say which one is cut off. */
  private boolean isCutOff(int broker) {
    Set<Integer> others = new TreeSet<>(unreached.keySet());
    others.remove(broker);
    return others.size() > 1 && unreachedBy(broker).equals(others);
  }

  private Set<Integer> unreachedBy(int broker) {
    var by = new TreeSet<Integer>();
    unreached.forEach(
        (asked, peers) -> {
          if (peers.contains(broker)) {
            by.add(asked);
          }
        });
    return by;
  }
}
