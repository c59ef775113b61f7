package io.millrace.broker.cluster;

import java.util.UUID;

/**
 * The target of one replica.
 *
 * @param started false = NEW: nobody has reported its directory, so it may begin empty; true: an
 *     empty directory means that data was lost
 */
public record ReplicaEntry(int broker, UUID incarnation, int idx, boolean started) {

  ReplicaEntry asStarted() {
    return new ReplicaEntry(broker, incarnation, idx, true);
  }
}
