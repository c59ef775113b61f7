package io.millrace.tools.bench.failover;

import io.millrace.tools.Output.Rows;
import io.millrace.tools.Words;
import io.millrace.tools.bench.Distribution;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.ToLongFunction;

/** The figures of all runs as fields for output. Pure. */
final class FailoverReport {
  private static final double NANOS_PER_MILLI = 1e6;

  private static final Set<String> DETAILS =
      Set.of(
          "metadataLeader",
          "sent",
          "unknownStored",
          "readBack",
          "probesAckedInNewTerm",
          "probesRefused",
          "probesUnknown",
          "lateReceipts");

  private FailoverReport() {}

  /**
   * @param fsync of the topic
   * @param forPeople only what one looks at first, of each run
   */
  static Map<String, Object> fields(
      FailoverBench.Plan plan, String fsync, List<FailoverRun> runs, boolean forPeople) {
    var fields = new LinkedHashMap<String, Object>();
    fields.put("bench", "failover");
    fields.put("fault", plan.fault().name());
    fields.put("fsync", fsync);
    fields.put("rate", plan.rate());
    fields.put("valueBytes", FailoverBench.VALUE_BYTES);
    if (plan.fault() == Fault.pause) {
      fields.put("pausedMillis", plan.pauseFor().toMillis());
    }
    fields.put("runsDone", runs.size());
    fields.put("violations", runs.stream().mapToInt(run -> run.violations().size()).sum());
    fields.put("runs", runRows(runs, forPeople));
    fields.put("figures", figures(runs));
    return fields;
  }

  private static Rows runRows(List<FailoverRun> runs, boolean forPeople) {
    var rows = new Rows(new ArrayList<>());
    for (FailoverRun run : runs) {
      Map<String, Object> values = values(run);
      if (forPeople) {
        values.keySet().removeAll(DETAILS);
      }
      if (rows.columns().isEmpty()) {
        rows.columns().addAll(values.keySet());
      }
      rows.add(values.values().toArray());
    }
    return rows;
  }

  private static Map<String, Object> values(FailoverRun run) {
    var values = new LinkedHashMap<String, Object>();
    values.put("run", run.number());
    values.put("broker", run.broker());
    values.put("metadataLeader", run.metadataLeader());
    values.put("newLeader", run.newLeader() == 0 ? null : run.newLeader());
    values.put("gapMillis", millis(run.gaps().longestNanos()));
    values.put("gapBeganMillis", millis(run.gaps().beganNanos()));
    values.put("beforeMillis", millis(run.gaps().longestBeforeNanos()));
    values.put("maxAckMillis", millis(run.maxAckNanos()));
    values.put("syncMillis", millis(run.syncNanos()));
    values.put("sent", run.traffic().sent());
    values.put("acked", run.traffic().acked());
    values.put("notDone", run.traffic().notDone());
    values.put("unknown", run.traffic().unknown());
    values.put("unknownStored", run.counts().unknownAppeared());
    values.put("readBack", run.records());
    if (run.stale() != null) {
      values.put("probes", run.stale().probes());
      values.put("probesAckedInNewTerm", run.stale().probesAcked());
      values.put("probesRefused", run.stale().probesRefused());
      values.put("probesUnknown", run.stale().probesUnknown());
      values.put("lateReceipts", run.stale().lateReceipts());
      values.put("staleAcks", run.stale().violations());
    }
    values.put("errors", run.errorTexts());
    values.put("violations", concerns(run));
    return values;
  }

  private static List<String> concerns(FailoverRun run) {
    var concerns = new ArrayList<>(run.violations());
    concerns.addAll(run.doubts());
    return concerns;
  }

  private static Rows figures(List<FailoverRun> runs) {
    var rows = new Rows(List.of("figure", "min", "median", "p90", "max"));
    if (runs.isEmpty()) {
      return rows;
    }
    figure(rows, "gapMillis", runs, run -> run.gaps().longestNanos());
    figure(rows, "beforeMillis", runs, run -> run.gaps().longestBeforeNanos());
    figure(rows, "maxAckMillis", runs, FailoverRun::maxAckNanos);
    figure(rows, "syncMillis", runs, FailoverRun::syncNanos);
    return rows;
  }

  private static void figure(
      Rows rows, String name, List<FailoverRun> runs, ToLongFunction<FailoverRun> nanos) {
    Distribution all = Distribution.of(runs.stream().map(nanos::applyAsLong).toList());
    rows.add(name, millis(all.min()), millis(all.median()), millis(all.p90()), millis(all.max()));
  }

  /** To the tenth: finer would be noise. */
  private static double millis(double nanos) {
    return Math.round(nanos / 1e5) / 10.0;
  }

  /** One line for the live report. */
  static String line(FailoverRun run, int of) {
    return String.format(
        Locale.ROOT,
        "run %d of %d: broker %d%s, longest gap %.0f ms (before the fault %.0f ms), "
            + "%s acked, %s not done, %s unknown, in sync after %s%s",
        run.number(),
        of,
        run.broker(),
        run.metadataLeader() ? " (led the metadata too)" : "",
        run.gaps().longestNanos() / NANOS_PER_MILLI,
        run.gaps().longestBeforeNanos() / NANOS_PER_MILLI,
        Words.count(run.traffic().acked()),
        Words.count(run.traffic().notDone()),
        Words.count(run.traffic().unknown()),
        Words.millis(run.syncNanos() / 1_000_000),
        run.good() ? "" : "; WRONG: " + String.join("; ", concerns(run)));
  }
}
