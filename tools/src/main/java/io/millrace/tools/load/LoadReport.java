package io.millrace.tools.load;

import io.millrace.tools.BrokerWatch;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.Output.Rows;
import io.millrace.tools.Words;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;

/** The live line and the final table of a load. Threads: one. */
final class LoadReport {
  private static final int SECONDS_PER_MINUTE = 60;

  private final MillraceCommand root;
  private final LoadRun run;
  private final LoadVerifier verifier;
  private final BrokerWatch watch;
  private final boolean verify;
  private final long startNanos = System.nanoTime();
  private long lastNanos = startNanos;
  private long lastAcked;
  private String phase = "";

  LoadReport(
      MillraceCommand root, LoadRun run, LoadVerifier verifier, BrokerWatch watch, boolean verify) {
    this.root = root;
    this.run = run;
    this.verifier = verifier;
    this.watch = watch;
    this.verify = verify;
  }

  /** What is going on now, for the live line; empty: sending. */
  void phase(String words) {
    phase = words;
  }

  /** Printed as lines, not overwritten: the history of a failure is what one wants to see. */
  void live() {
    long now = System.nanoTime();
    LoadVerifier.Counts counts = verifier.counts();
    double seconds = Math.max((now - lastNanos) / 1e9, 1e-3);
    long perSecond = Math.round((counts.acked() - lastAcked) / seconds);
    lastNanos = now;
    lastAcked = counts.acked();
    var line = new StringBuilder();
    line.append(clock(now))
        .append(phase.isEmpty() ? "" : "  " + phase)
        .append("  acked ")
        .append(Words.count(counts.acked()))
        .append(" (")
        .append(Words.count(perSecond))
        .append("/s)  waiting ")
        .append(Words.count(counts.undecided()))
        .append("  not done ")
        .append(Words.count(counts.refused()))
        .append("  unknown ")
        .append(Words.count(counts.unknown()));
    if (verify) {
      line.append("  |  read ")
          .append(Words.count(counts.read()))
          .append("  behind ")
          .append(Words.count(counts.unread()));
      for (Violation always : List.of(Violation.LOST, Violation.DOUBLED, Violation.REORDERED)) {
        append(line, always, counts.violations(always));
      }
      counts
          .violations()
          .forEach(
              (violation, count) -> {
                if (violation.compareTo(Violation.REORDERED) > 0) {
                  append(line, violation, count);
                }
              });
      if (!run.readerTrouble().isEmpty()) {
        line.append("  reader: ").append(run.readerTrouble());
      }
    }
    watch.look();
    if (!watch.silence().isEmpty()) {
      line.append("  |  ").append(watch.silence());
    }
    root.progress().step(line.toString());
  }

  private static void append(StringBuilder line, Violation violation, long count) {
    line.append("  ").append(violation.name().toLowerCase(java.util.Locale.ROOT)).append(' ');
    line.append(Words.count(count));
  }

  void trouble(String text) {
    root.progress().step(clock(System.nanoTime()) + "  " + text);
  }

  private String clock(long now) {
    long seconds = (now - startNanos) / 1_000_000_000L;
    return String.format("%02d:%02d", seconds / SECONDS_PER_MINUTE, seconds % SECONDS_PER_MINUTE);
  }

  boolean good() {
    LoadVerifier.Counts counts = verifier.counts();
    if (!verify) {
      return counts.acked() > 0 && counts.undecided() == 0;
    }
    return counts.provesEverything();
  }

  void end() {
    LoadVerifier.Counts counts = verifier.counts();
    AckTimes.Summary times = run.ackTimes().summary();
    double seconds = (System.nanoTime() - startNanos) / 1e9;
    var fields = new LinkedHashMap<String, Object>();
    fields.put("seconds", seconds);
    fields.put("sent", counts.sent());
    fields.put("acked", counts.acked());
    fields.put("notDone", counts.refused());
    fields.put("unknown", counts.unknown());
    fields.put("undecided", counts.undecided());
    if (verify) {
      fields.put("unknownAppeared", counts.unknownAppeared());
      fields.put("unknownAbsent", counts.unknownAbsent());
      fields.put("unknownUnchecked", counts.unknownUnchecked());
      fields.put("read", counts.read());
      fields.put("unread", counts.unread());
      for (Violation violation : Violation.values()) {
        fields.put(
            violation.name().toLowerCase(java.util.Locale.ROOT), counts.violations(violation));
      }
    }
    fields.put("longestAckGapMillis", times.longestGapMillis());
    fields.put("longestPartitionAckGapMillis", times.partitionGapMillis());
    fields.put(
        "longestGapPartition",
        times.partition() == AckTimes.NO_PARTITION ? null : times.partition());
    fields.put("ackP50Millis", times.p50Micros() / 1e3);
    fields.put("ackP99Millis", times.p99Micros() / 1e3);
    fields.put("ackMaxMillis", times.maxMicros() / 1e3);
    fields.put("verdict", verdict(counts));
    fields.put("errors", run.outcomes().failureRows());
    if (verify && counts.allViolations() > 0) {
      var rows = new Rows(List.of("violation"));
      verifier.examples().forEach(rows::add);
      fields.put("examples", rows);
    }
    root.output().fields(fields);
  }

  private String verdict(LoadVerifier.Counts counts) {
    return verdict(counts, verify, cause(counts));
  }

  /** Why the check is not whole, as far as it is known; may be empty. */
  private String cause(LoadVerifier.Counts counts) {
    var causes = new ArrayList<String>();
    if (run.interrupted()) {
      causes.add("interrupted");
    }
    if (!watch.silence().isEmpty()) {
      causes.add(watch.silence());
    } else if (verify && !counts.readToEnd() && !run.readerTrouble().isEmpty()) {
      causes.add("the reader: " + run.readerTrouble());
    }
    return String.join(", ", causes);
  }

  static String verdict(LoadVerifier.Counts counts, boolean verify, String cause) {
    String because = cause.isEmpty() ? "" : " (" + cause + ")";
    if (verify && counts.allViolations() > 0) {
      var kinds =
          counts.violations().keySet().stream()
              .sorted()
              .map(violation -> violation + " = " + violation.meaning())
              .toList();
      return "VIOLATED: " + String.join("; ", kinds);
    }
    if (counts.acked() == 0) {
      return "FAILED: nothing was acknowledged, so nothing was checked" + because;
    }
    if (!verify) {
      return counts.undecided() == 0
          ? "sent, not verified"
          : "INCOMPLETE: " + Words.count(counts.undecided()) + " without an answer" + because;
    }
    if (!counts.provesEverything()) {
      return "COULD NOT BE CHECKED"
          + because
          + ": nothing wrong found so far; "
          + Words.count(counts.unread(), "acknowledged record")
          + " not read, "
          + Words.count(counts.undecided())
          + " without an answer, "
          + Words.count(counts.unknownUnchecked())
          + " unknown not looked for"
          + (counts.readToEnd() ? "" : "; the partitions were not read to their ends");
    }
    return "ok: every acknowledged record is there once, at its offset, in order";
  }
}
