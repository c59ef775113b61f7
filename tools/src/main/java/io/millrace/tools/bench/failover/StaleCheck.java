package io.millrace.tools.bench.failover;

import io.millrace.tools.bench.failover.AckLog.Ack;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Whether a leader that was frozen went on in its old term while a new one led.
 *
 * <p>Not every receipt of the old term that comes late is wrong: a record that a majority had when
 * the leader froze is committed, stays committed under the next leader, and its receipt is true
 * whenever it comes. Wrong is an acknowledgement in the old term of a record that was sent after
 * the new leader's first acknowledgement, or at an offset at which the new leader had written by
 * then: no majority can have stored it in the old term.
 */
final class StaleCheck {
  /**
   * @param probes records that were sent to the old leader alone, after the new leader's first
   *     acknowledgement
   * @param probesAcked of these, acknowledged in a newer term: it leads again
   * @param probesRefused of these, certainly not stored
   * @param probesUnknown of these, neither
   * @param lateReceipts receipts of the old term after the new leader's first, of records that were
   *     stored before
   * @param violations see above
   */
  record Result(
      int probes,
      int probesAcked,
      int probesRefused,
      int probesUnknown,
      long lateReceipts,
      long violations) {}

  private StaleCheck() {}

  /** The first record that the new leader took: not one that it found stored. */
  static Optional<Ack> firstOfNewLeader(List<Ack> acks, long oldTerm) {
    return acks.stream()
        .filter(ack -> ack.term() > oldTerm && !ack.duplicate())
        .min(Comparator.comparingLong(Ack::ackNanos));
  }

  /**
   * @param acks of the ordinary traffic
   * @param oldTerm the frozen leader's
   * @param probes what was sent to the old leader alone
   * @param answers its answers; fewer than probes when some have none
   */
  static Result judge(
      List<Ack> acks, long oldTerm, int probes, Collection<StaleLeaderProbe.Answer> answers) {
    long late = 0;
    long violations = 0;
    Optional<Ack> first = firstOfNewLeader(acks, oldTerm);
    if (first.isPresent()) {
      long sinceNanos = first.get().ackNanos();
      for (Ack ack : acks) {
        // The new leader repeats the term of the first attempt when it finds a record stored.
        if (ack.term() > oldTerm || ack.duplicate() || ack.ackNanos() - sinceNanos <= 0) {
          continue;
        }
        if (ack.sentNanos() - sinceNanos > 0 || ack.offset() >= first.get().offset()) {
          violations++;
        } else {
          late++;
        }
      }
    }
    int acked = 0;
    int refused = 0;
    int unknown = probes - answers.size();
    for (StaleLeaderProbe.Answer answer : answers) {
      if (answer.acked()) {
        if (answer.term() > oldTerm) {
          acked++;
        } else {
          violations++;
        }
      } else {
        switch (answer.error().outcome()) {
          case NOT_DONE -> refused++;
          default -> unknown++;
        }
      }
    }
    return new Result(probes, acked, refused, unknown, late, violations);
  }
}
