package io.millrace.tools.bench.failover;

import io.millrace.tools.Output.Rows;
import io.millrace.tools.Words;
import io.millrace.tools.bench.Distribution;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** The figures of all runs as fields for output. Pure. */
final class FailoverReport {
  private FailoverReport() {}

  /**
   * @param fsync of the topic
   */
  static Map<String, Object> fields(FailoverBench.Plan plan, String fsync, List<FailoverRun> runs) {
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
    fields.put("runs", runRows(plan.fault(), runs));
    fields.put("figures", figures(runs));
    return fields;
  }

  private static Rows runRows(Fault fault, List<FailoverRun> runs) {
    var columns =
        new ArrayList<>(
            List.of(
                "run",
                "broker",
                "metadataLeader",
                "newLeader",
                "gapMillis",
                "gapBeganMillis",
                "beforeMillis",
                "maxAckMillis",
                "syncMillis",
                "sent",
                "acked",
                "notDone",
                "unknown",
                "unknownStored",
                "readBack"));
    if (fault == Fault.pause) {
      columns.addAll(
          List.of("probes", "probesRefused", "probesUnknown", "lateReceipts", "staleAcks"));
    }
    columns.addAll(List.of("errors", "violations"));
    var rows = new Rows(columns);
    for (FailoverRun run : runs) {
      var values = new ArrayList<Object>();
      values.add(run.number());
      values.add(run.broker());
      values.add(run.metadataLeader());
      values.add(run.newLeader() == 0 ? null : run.newLeader());
      values.add(tenths(run.gapMillis()));
      values.add(tenths(run.gaps().beganNanos() / FailoverRun.NANOS_PER_MILLI));
      values.add(tenths(run.gaps().longestBeforeNanos() / FailoverRun.NANOS_PER_MILLI));
      values.add(tenths(run.maxAckNanos() / FailoverRun.NANOS_PER_MILLI));
      values.add(tenths(run.syncNanos() / FailoverRun.NANOS_PER_MILLI));
      values.add(run.counts().sent());
      values.add(run.counts().acked());
      values.add(run.counts().refused());
      values.add(run.counts().unknown());
      values.add(run.counts().unknownAppeared());
      values.add(run.records());
      if (fault == Fault.pause) {
        StaleCheck.Result stale = run.stale();
        values.add(stale == null ? null : stale.probes());
        values.add(stale == null ? null : stale.probesRefused());
        values.add(stale == null ? null : stale.probesUnknown());
        values.add(stale == null ? null : stale.lateReceipts());
        values.add(stale == null ? null : stale.violations());
      }
      values.add(run.errorTexts());
      values.add(concerns(run));
      rows.add(values.toArray());
    }
    return rows;
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
    figure(rows, "gapMillis", runs, FailoverRun::gapMillis);
    figure(
        rows,
        "beforeMillis",
        runs,
        run -> run.gaps().longestBeforeNanos() / FailoverRun.NANOS_PER_MILLI);
    figure(
        rows, "maxAckMillis", runs, run -> run.maxAckNanos() / FailoverRun.NANOS_PER_MILLI);
    figure(rows, "syncMillis", runs, run -> run.syncNanos() / FailoverRun.NANOS_PER_MILLI);
    return rows;
  }

  private static void figure(
      Rows rows, String name, List<FailoverRun> runs, ToDoubleFunction<FailoverRun> value) {
    Distribution all = Distribution.of(runs.stream().map(value::applyAsDouble).toList());
    rows.add(name, tenths(all.min()), tenths(all.median()), tenths(all.p90()), tenths(all.max()));
  }

  /** Finer would be noise. */
  private static double tenths(double millis) {
    return Math.round(millis * 10) / 10.0;
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
        run.gapMillis(),
        run.gaps().longestBeforeNanos() / FailoverRun.NANOS_PER_MILLI,
        Words.count(run.counts().acked()),
        Words.count(run.counts().refused()),
        Words.count(run.counts().unknown()),
        Words.millis(run.syncNanos() / 1_000_000),
        run.good() ? "" : "; WRONG: " + String.join("; ", concerns(run)));
  }
}
