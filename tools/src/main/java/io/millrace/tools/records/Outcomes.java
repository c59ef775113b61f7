package io.millrace.tools.records;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import io.millrace.tools.Output.Rows;
import io.millrace.tools.Waits;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * How records ended: counts by outcome, and for each distinct error its count and its first case.
 *
 * <p>Threads: any; {@link #succeeded} takes no lock.
 */
public final class Outcomes {
  /**
   * One distinct error.
   *
   * @param firstRecord number of the first record that it hit, as given by the caller
   */
  public record Failure(
      ErrorCode code, Outcome outcome, long records, long firstRecord, String text) {}

  /** The same error can leave one record certainly not done and another unknown. */
  private record Kind(ErrorCode code, Outcome outcome) {
    static final Comparator<Kind> ORDER =
        Comparator.comparing(Kind::code).thenComparing(Kind::outcome);
  }

  private static final class Tally {
    final String text;
    long firstRecord;
    long records;

    Tally(long firstRecord, String text) {
      this.firstRecord = firstRecord;
      this.text = text;
    }
  }

  private final LongAdder done = new LongAdder();
  private final LongAdder notDone = new LongAdder();
  private final LongAdder unknown = new LongAdder();
  private final Map<Kind, Tally> failures = new TreeMap<>(Kind.ORDER);

  public void succeeded() {
    done.increment();
  }

  public void failed(long recordNumber, Throwable failure) {
    Outcome outcome = outcomeOf(failure);
    (outcome == Outcome.NOT_DONE ? notDone : unknown).increment();
    ErrorCode code =
        failure instanceof MillraceException typed ? typed.code() : ErrorCode.SERVER_ERROR;
    synchronized (failures) {
      Tally tally =
          failures.computeIfAbsent(
              new Kind(code, outcome),
              each -> new Tally(recordNumber, String.valueOf(failure.getMessage())));
      tally.records++;
      tally.firstRecord = Math.min(tally.firstRecord, recordNumber);
    }
  }

  /** A failure that carries no outcome tells nothing: unknown, never "not done". */
  public static Outcome outcomeOf(Throwable failure) {
    return failure instanceof MillraceException typed ? typed.outcome() : Outcome.UNKNOWN;
  }

  public long done() {
    return done.sum();
  }

  public long notDone() {
    return notDone.sum();
  }

  public long unknown() {
    return unknown.sum();
  }

  public long failed() {
    return notDone() + unknown();
  }

  /**
   * Waits until so many records have ended. A producer's flush returns when futures are complete,
   * which can be before the callbacks on them, and so these counts, have run.
   *
   * @return false: some have not ended in time
   */
  public boolean awaitEnded(long records, Duration limit) throws InterruptedException {
    return Waits.until(limit, () -> done() + failed() >= records);
  }

  public List<Failure> failures() {
    synchronized (failures) {
      return failures.entrySet().stream()
          .map(
              entry ->
                  new Failure(
                      entry.getKey().code(),
                      entry.getKey().outcome(),
                      entry.getValue().records,
                      entry.getValue().firstRecord,
                      entry.getValue().text))
          .toList();
    }
  }

  public Rows failureRows() {
    var rows = new Rows(List.of("error", "outcome", "records", "firstRecord", "text"));
    for (Failure failure : failures()) {
      rows.add(
          failure.code().name(),
          failure.outcome().name(),
          failure.records(),
          failure.firstRecord(),
          failure.text());
    }
    return rows;
  }
}
