package io.millrace.tools.bench.failover;

import io.millrace.tools.load.LoadVerifier;
import io.millrace.tools.load.Violation;
import io.millrace.tools.records.Outcomes;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What one run of {@link FailoverBench} showed.
 *
 * @param broker the one that led and was hurt
 * @param metadataLeader it led the metadata group too
 * @param newLeader who led when acknowledgements were steady again, 0 = nobody was known
 * @param recovered acknowledgements came steadily again within the limit
 * @param maxAckNanos the longest time from the sending of a record to its receipt
 * @param records how many were read back
 * @param syncNanos from the end of the traffic, when a killed broker is started, until all replicas
 *     were in sync again
 * @param traffic without what was sent to the old leader alone
 * @param counts of the whole run
 * @param stale what the old leader did after a pause; null without one
 */
record FailoverRun(
    int number,
    int broker,
    boolean metadataLeader,
    int newLeader,
    AckGaps gaps,
    boolean recovered,
    long maxAckNanos,
    long records,
    long syncNanos,
    Traffic traffic,
    LoadVerifier.Counts counts,
    List<Outcomes.Failure> errors,
    List<String> examples,
    StaleCheck.Result stale) {

  /** How the records of the traffic ended. */
  record Traffic(long sent, long acked, long notDone, long unknown) {}

  /** Each distinct error with its outcome and count, as "NOT_LEADER not done 12". */
  List<String> errorTexts() {
    return errors.stream()
        .map(
            error ->
                error.code()
                    + " "
                    + error.outcome().name().toLowerCase(Locale.ROOT).replace('_', ' ')
                    + " "
                    + error.records())
        .toList();
  }

  /** What must not be, in words; empty: nothing. */
  List<String> violations() {
    var found = new ArrayList<String>();
    for (Map.Entry<Violation, Long> each : counts.violations().entrySet()) {
      found.add(
          each.getValue()
              + " "
              + each.getKey().name().toLowerCase(Locale.ROOT)
              + " ("
              + each.getKey().meaning()
              + ")");
    }
    if (stale != null && stale.violations() > 0) {
      found.add(
          stale.violations()
              + " acknowledged by the old leader in its old term after the new leader's first"
              + " acknowledgement");
    }
    return found;
  }

  /** What keeps this run from proving that nothing was lost; empty: nothing. */
  List<String> doubts() {
    var doubts = new ArrayList<String>();
    if (!recovered) {
      doubts.add("acknowledgements did not come steadily again");
    }
    if (counts.acked() == 0) {
      doubts.add("no record was acknowledged");
    }
    if (counts.undecided() > 0) {
      doubts.add(counts.undecided() + " records got no answer");
    }
    if (counts.unread() > 0 || !counts.readToEnd()) {
      doubts.add(counts.unread() + " acknowledged records were not read back");
    }
    return doubts;
  }

  boolean good() {
    return violations().isEmpty() && doubts().isEmpty();
  }
}
