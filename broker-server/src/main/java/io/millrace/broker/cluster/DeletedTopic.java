package io.millrace.broker.cluster;

import java.util.Comparator;
import java.util.List;
import java.util.UUID;

/**
 * A deleted topic of which some broker may still have a directory. It is the proof that such a
 * directory may be deleted; a directory of a topic that is merely unknown is only set aside.
 *
 * @param remaining replicas whose brokers have not yet reported that nothing is left; never empty
 */
public record DeletedTopic(UUID id, String name, List<Remaining> remaining) {

  /** One replica that may still have a directory. */
  public record Remaining(int partition, ReplicaEntry replica) {
    static final Comparator<Remaining> ORDER =
        Comparator.comparingInt(Remaining::partition)
            .thenComparingInt(r -> r.replica().broker())
            .thenComparingInt(r -> r.replica().idx());
  }

  public DeletedTopic {
    remaining = remaining.stream().sorted(Remaining.ORDER).toList();
  }
}
