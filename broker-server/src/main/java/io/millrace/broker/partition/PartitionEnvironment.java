package io.millrace.broker.partition;

import java.time.Clock;
import java.util.Objects;

/**
 * What all partitions of a broker share.
 *
 * @param clock of the leader's TIME entries and of the timestamp bounds; never used when applying
 */
public record PartitionEnvironment(
    Clock clock, AppendBudget appendBudget, PartitionCounters counters, FaultHandler faults) {

  public PartitionEnvironment {
    Objects.requireNonNull(clock, "clock");
    Objects.requireNonNull(appendBudget, "appendBudget");
    Objects.requireNonNull(counters, "counters");
    Objects.requireNonNull(faults, "faults");
  }

  void fault(String what) {
    counters.increment(PartitionCounters.Counter.FAULTS);
    faults.fault(what);
  }
}
