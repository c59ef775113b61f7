package io.millrace.broker.log;

import java.util.Objects;
import java.util.UUID;

/** Which log this is. Stands in the head of every segment, so that files cannot be mixed up. */
public record LogIdentity(String clusterId, UUID topicId, int partition) {

  public LogIdentity {
    Objects.requireNonNull(clusterId, "clusterId");
    Objects.requireNonNull(topicId, "topicId");
  }

  @Override
  public String toString() {
    return "cluster " + clusterId + ", topic " + topicId + ", partition " + partition;
  }
}
