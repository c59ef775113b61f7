package io.millrace.tools.load;

import java.util.HashMap;
import java.util.Map;

/**
 * What was sent, answered and read of one key, whose records are the numbers 0, 1, 2, ... in the
 * order of sending. Settled numbers are forgotten: memory follows what is under way.
 *
 * <p>Not safe for use by several threads.
 */
final class KeyHistory {
  /** The answer to a send. */
  enum Answer {
    NONE,
    ACKED,
    UNKNOWN
  }

  /** Where a record is. */
  record Place(int partition, long offset) {
    @Override
    public String toString() {
      return "partition " + partition + " offset " + offset;
    }
  }

  /** What {@link KeyHistory} finds wrong, told at once. */
  interface Findings {
    void found(Violation violation, long number, String facts);

    /** A record whose outcome was unknown turned out to be there. */
    void unknownAppeared();
  }

  private static final class Open {
    Answer answer = Answer.NONE;
    Place receipt;
    Place seen;
  }

  private static final long NONE_SEEN = -1;

  private final Map<Long, Open> open = new HashMap<>();
  private final SequenceRanges refused = new SequenceRanges();
  private long next;
  private long highestSeen = NONE_SEEN;

  /** Takes the next number; it counts as sent from here on. */
  long send() {
    open.put(next, new Open());
    return next++;
  }

  void acked(long number, Place receipt, Findings findings) {
    Open record = answered(number, Answer.ACKED);
    record.receipt = receipt;
    settle(number, record, findings);
  }

  void unknown(long number, Findings findings) {
    settle(number, answered(number, Answer.UNKNOWN), findings);
  }

  /** The record is certainly not stored. */
  void refused(long number, Findings findings) {
    Open record = answered(number, Answer.NONE);
    open.remove(number);
    if (record.seen != null) {
      findings.found(Violation.RESURRECTED, number, "read at " + record.seen);
    } else {
      refused.add(number);
    }
  }

  private Open answered(long number, Answer answer) {
    Open record = open.get(number);
    if (record == null || record.answer != Answer.NONE) {
      throw new IllegalStateException(
          "record " + number + " got a second answer " + answer + "; each gets exactly one");
    }
    record.answer = answer;
    return record;
  }

  void seen(long number, Place place, Findings findings) {
    if (number >= next || number < 0) {
      findings.found(
          Violation.FOREIGN, number, "read at " + place + ", sent are 0 to " + (next - 1));
      return;
    }
    boolean first = number > highestSeen;
    highestSeen = Math.max(highestSeen, number);
    if (refused.contains(number)) {
      refused.remove(number);
      findings.found(Violation.RESURRECTED, number, "read at " + place);
      return;
    }
    Open record = open.get(number);
    if (record == null || record.seen != null) {
      findings.found(Violation.DOUBLED, number, "read again at " + place);
      return;
    }
    if (!first) {
      findings.found(
          Violation.REORDERED, number, "read at " + place + " after record " + highestSeen);
    }
    record.seen = place;
    settle(number, record, findings);
  }

  private void settle(long number, Open record, Findings findings) {
    if (record.seen == null || record.answer == Answer.NONE) {
      return;
    }
    open.remove(number);
    if (record.answer == Answer.UNKNOWN) {
      findings.unknownAppeared();
    } else if (!record.seen.equals(record.receipt)) {
      findings.found(
          Violation.MISPLACED,
          number,
          "read at " + record.seen + ", receipt says " + record.receipt);
    }
  }

  /** Visits what is not settled. */
  void forEachOpen(OpenVisitor visitor) {
    open.forEach(
        (number, record) -> visitor.visit(number, record.answer, record.receipt, record.seen));
  }

  /** See {@link #forEachOpen}. */
  interface OpenVisitor {
    /**
     * @param receipt of an acknowledged record, else null
     * @param seen null: not read
     */
    void visit(long number, Answer answer, Place receipt, Place seen);
  }

  int openCount() {
    return open.size();
  }
}
