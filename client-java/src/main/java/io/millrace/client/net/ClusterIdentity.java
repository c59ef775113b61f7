package io.millrace.client.net;

import java.util.concurrent.atomic.AtomicReference;

/** The cluster that the first broker named; brokers of another one are refused from then on. */
public final class ClusterIdentity {

  private final AtomicReference<String> clusterId = new AtomicReference<>("");

  /** Empty while no broker has answered. */
  public String get() {
    return clusterId.get();
  }

  boolean accept(String id) {
    return id.isEmpty() || clusterId.compareAndSet("", id) || clusterId.get().equals(id);
  }
}
