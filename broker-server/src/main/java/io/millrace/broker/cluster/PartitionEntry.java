package io.millrace.broker.cluster;

import java.util.ArrayList;
import java.util.List;

/**
 * The target of one partition.
 *
 * @param replicas the first one is the preferred leader; never empty
 */
public record PartitionEntry(List<ReplicaEntry> replicas) {

  public PartitionEntry {
    replicas = List.copyOf(replicas);
  }

  /** The replica on a broker, or null. */
  public ReplicaEntry onBroker(int broker) {
    for (ReplicaEntry replica : replicas) {
      if (replica.broker() == broker) {
        return replica;
      }
    }
    return null;
  }

  PartitionEntry with(ReplicaEntry changed) {
    List<ReplicaEntry> copy = new ArrayList<>(replicas);
    copy.replaceAll(r -> r.broker() == changed.broker() && r.idx() == changed.idx() ? changed : r);
    return new PartitionEntry(copy);
  }
}
