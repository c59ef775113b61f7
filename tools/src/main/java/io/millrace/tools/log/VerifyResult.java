package io.millrace.tools.log;

import io.millrace.broker.log.EpochTable;
import io.millrace.broker.log.LogProblem;
import io.millrace.broker.log.LogReport;
import io.millrace.broker.log.SegmentReport;
import io.millrace.broker.log.ValidRange;
import io.millrace.tools.Output.Rows;
import io.millrace.tools.Words;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What {@code log verify} found, put together for printing. */
final class VerifyResult {
  private final Path path;
  private final Rows segments =
      new Rows(
          List.of(
              "log",
              "segment",
              "bytes",
              "state",
              "entries",
              "offsets",
              "terms",
              "batches",
              "records",
              "readable"));
  private final Rows problems = new Rows(List.of("severity", "file", "problem"));
  private int logs;
  private int damages;
  private int warnings;
  private Integer groups;
  private long batches;
  private long records;
  private long bytes;

  VerifyResult(Path path) {
    this.path = path;
  }

  void add(LogReport log, List<LogProblem> all) {
    logs++;
    log.segments().forEach(segment -> add(log.directory(), segment));
    add(all);
  }

  void add(List<LogProblem> all) {
    for (LogProblem problem : all) {
      if (problem.isDamage()) {
        damages++;
      } else {
        warnings++;
      }
      problems.add(
          problem.severity().name().toLowerCase(Locale.ROOT).replace('_', ' '),
          problem.file().toString(),
          problem.text());
    }
  }

  void groups(int count) {
    groups = count;
  }

  int damages() {
    return damages;
  }

  private void add(Path directory, SegmentReport segment) {
    batches += segment.sums().batches();
    records += segment.sums().records();
    bytes += segment.fileBytes();
    segments.add(
        directory.toAbsolutePath().normalize().getFileName().toString(),
        segment.log().getFileName().toString(),
        segment.fileBytes(),
        state(segment),
        range(segment.name().firstIndex(), segment.nextIndex()),
        range(segment.name().baseOffset(), segment.nextOffset()),
        terms(segment.epochs()),
        segment.sums().batches(),
        segment.sums().records(),
        segment.valid().stream().map(VerifyResult::entries).toList());
  }

  private static String state(SegmentReport segment) {
    if (!segment.bad().isEmpty()) {
      return segment.isCutShort() ? "cut short" : "damaged";
    }
    return segment.foot() == null ? "open" : "closed";
  }

  /** From the first to the last, both included, as people count. */
  private static String range(long first, long next) {
    return next <= first ? "none" : next == first + 1 ? "" + first : first + "-" + (next - 1);
  }

  private static String entries(ValidRange range) {
    return range(range.firstIndex(), range.nextIndex());
  }

  private static String terms(EpochTable epochs) {
    return epochs.size() == 0 ? "none" : range(epochs.term(0), epochs.term(epochs.size() - 1) + 1);
  }

  Map<String, Object> fields() {
    var fields = new LinkedHashMap<String, Object>();
    fields.put("segments", segments);
    fields.put("problems", problems);
    fields.put("path", path.toString());
    fields.put("logs", logs);
    if (groups != null) {
      fields.put("groupsInVotes", groups);
    }
    fields.put("batches", batches);
    fields.put("records", records);
    fields.put("bytes", bytes);
    fields.put("damages", damages);
    fields.put("warnings", warnings);
    fields.put("verdict", verdict());
    return fields;
  }

  private String verdict() {
    if (damages > 0) {
      return "DAMAGED: " + Words.count(damages, "problem");
    }
    return warnings > 0 ? "ok, with " + Words.count(warnings, "warning") : "ok";
  }
}
