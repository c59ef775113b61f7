package io.millrace.broker.raft.transport;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Faults between this broker and its peers that a test commands: frames to or from an isolated peer
 * are dropped, as by a network that swallows packets; connections stay open.
 *
 * <p>Threads: any.
 */
public final class NetworkFaults {

  private final Set<Integer> isolated = ConcurrentHashMap.newKeySet();
  private volatile boolean all;

  /** Drops every frame to and from this peer until {@link #heal}. */
  public void isolateFrom(int brokerId) {
    isolated.add(brokerId);
  }

  /** Drops every frame to and from every peer until {@link #heal}. */
  public void isolateFromAll() {
    all = true;
  }

  public void heal() {
    all = false;
    isolated.clear();
  }

  public boolean drops(int brokerId) {
    return all || isolated.contains(brokerId);
  }
}
