package io.millrace.broker.log;

import java.nio.file.Path;
import java.util.List;

/**
 * What the log in a directory holds.
 *
 * @param segments ascending; without those that nothing can be told of
 * @param epochs terms of all that is readable
 */
public record LogReport(
    Path directory, List<SegmentReport> segments, List<LogProblem> problems, EpochTable epochs) {

  public LogReport {
    segments = List.copyOf(segments);
    problems = List.copyOf(problems);
  }

  public boolean isDamaged() {
    return problems.stream().anyMatch(LogProblem::isDamage);
  }

  /** 0 if there is no segment. */
  public long firstIndex() {
    return segments.isEmpty() ? 0 : segments.get(0).name().firstIndex();
  }

  /** Behind the last entry; 0 if there is no segment. */
  public long nextIndex() {
    return segments.isEmpty() ? 0 : segments.get(segments.size() - 1).nextIndex();
  }

  /** Term of an entry; 0 if the log does not have it. */
  public long termAt(long index) {
    return index >= firstIndex() && index < nextIndex() ? epochs.termAt(index) : 0;
  }
}
