package io.millrace.broker.raft.refill;

import io.millrace.broker.log.EpochTable;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;

/**
 * Whom a replica may be refilled from, and from which entry on. Pure: it decides from what it is
 * given.
 *
 * <p>The replica may have acknowledged entries that it has no longer. It may vote again when it has
 * every entry that it can have acknowledged and that can be committed:
 *
 * <ol>
 *   <li>From a <b>leader</b> that has applied an entry of its own term, up to the leader's last
 *       index read after the refill began. That log has every committed entry (Raft, Leader
 *       Completeness), and all that this leader ever sent here, because nothing is accepted while
 *       the refill runs. But one that was replaced and does not know it yet, say after a pause,
 *       lacks what its successor sent here. So a leader of a term older than the newest one that
 *       this replica has seen counts only if a majority has followed it since this replica stopped:
 *       then nobody had been elected in a newer term by then.
 *   <li>When there is <b>no leader</b> and one cannot exist, because too few replicas vote: from
 *       the newest log, by Raft's order, once all other voters have answered. Whatever still exists
 *       of a committed entry is then in that log: a log whose tail was lost is still a prefix of
 *       what it was, and the newest last term wins for the same reason for which it wins elections.
 *       Not allowed while any replica's log has lost more than its tail: what is missing inside it
 *       could be the last copy, and only an operator can decide that.
 * </ol>
 */
final class RefillPlan {

  private RefillPlan() {}

  /**
   * What the replica itself has.
   *
   * @param term newest one that it has seen
   * @param longStopped for longer than a leader may count on having heard a majority
   */
  record Own(
      int broker,
      boolean whole,
      long term,
      boolean longStopped,
      long firstIndex,
      long lastIndex,
      long lastTerm,
      EpochTable terms) {}

  /**
   * @param source to copy from; null = none, see {@code reason}
   * @param complete the replica's own log is the newest: nothing has to be copied
   * @param reason what is waited for
   */
  record Choice(PeerLog source, boolean complete, String reason) {

    static Choice waitFor(String reason) {
      return new Choice(null, false, reason);
    }
  }

  /**
   * @param otherVoters all voters of the group but this one
   * @param answers of those that answered, each once
   */
  static Choice choose(Own own, Collection<Integer> otherVoters, List<PeerLog> answers) {
    PeerLog leader = null;
    for (PeerLog each : answers) {
      if (each.present() && each.leads() && (leader == null || each.term() > leader.term())) {
        leader = each;
      }
    }
    if (leader != null) {
      return leader.term() >= own.term() || own.longStopped()
          ? new Choice(leader, false, "")
          : Choice.waitFor(
              "broker "
                  + leader.broker()
                  + " leads in term "
                  + leader.term()
                  + ", and this replica has seen term "
                  + own.term());
    }
    int voting = (int) answers.stream().filter(each -> each.present() && each.votes()).count();
    int voters = otherVoters.size() + 1;
    if (voting > voters / 2) {
      return Choice.waitFor(
          "no leader yet; " + voting + " of " + voters + " replicas can elect one");
    }
    TreeSet<Integer> silent = new TreeSet<>(otherVoters);
    answers.forEach(each -> silent.remove(each.broker()));
    if (!silent.isEmpty()) {
      return Choice.waitFor(
          "there is no leader, and without one all replicas have to be compared: no answer from"
              + " broker "
              + text(silent));
    }
    TreeSet<Integer> damaged = new TreeSet<>();
    answers.stream()
        .filter(each -> !each.present() || !each.whole())
        .forEach(each -> damaged.add(each.broker()));
    if (!own.whole()) {
      damaged.add(own.broker());
    }
    if (!damaged.isEmpty()) {
      return Choice.waitFor(
          "no majority of the replicas is sound, and the one on broker "
              + text(damaged)
              + " has lost entries from inside its log, which may be the last copies: restore its"
              + " files, or decide what may be lost");
    }
    PeerLog best = null;
    for (PeerLog each : answers) {
      if (best == null || each.isNewerThan(best.lastTerm(), best.lastIndex())) {
        best = each;
      }
    }
    return best != null && best.isNewerThan(own.lastTerm(), own.lastIndex())
        ? new Choice(best, false, "")
        : new Choice(null, true, "");
  }

  private static String text(Collection<Integer> brokers) {
    return brokers.toString().replaceAll("[\\[\\]]", "");
  }

  /**
   * The last entry of the own log that the source has too; what is behind it has to go. Below
   * {@code source.firstIndex() - 1} nothing of the own log is of use.
   */
  static long keep(Own own, PeerLog source) {
    long first = Math.max(own.firstIndex(), source.firstIndex());
    long last = Math.min(own.lastIndex(), source.lastIndex());
    return own.terms().lastAgreement(source.terms(), first, last);
  }

  /** True if the own log cannot be continued and has to begin anew where the source begins. */
  static boolean beginsAnew(Own own, PeerLog source, long keep) {
    // One entry in common proves all before it. Without one the logs only fit if both begin at 1.
    boolean common = keep >= Math.max(own.firstIndex(), source.firstIndex());
    return !common && !(own.firstIndex() == 1 && source.firstIndex() == 1);
  }
}
