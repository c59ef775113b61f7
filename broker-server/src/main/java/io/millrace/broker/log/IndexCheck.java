package io.millrace.broker.log;

import java.io.IOException;

/**
 * Compares the entries of an index file with those that a walk says have to stand there. Since an
 * entry holds the CRC chain of all headers before it, this also finds a changed header, whose first
 * 21 bytes no checksum of a batch covers, to within two entries.
 *
 * <p>Threads: one.
 */
final class IndexCheck {

  private final StoredIndex index;
  private int next;
  private boolean comparing;
  private String problem;
  private IndexEntry lastAgreed;
  private IndexEntry firstMissing;
  private String conflict;

  IndexCheck(StoredIndex index) {
    this.index = index;
    this.problem = index.problem();
    this.comparing = problem == null;
  }

  /** An entry has to stand in front of the batch that was just passed. */
  void expect(IndexEntry due) throws IOException {
    if (!comparing) {
      return;
    }
    if (next >= index.count()) {
      firstMissing = due;
      comparing = false;
      return;
    }
    IndexEntry stored = index.entry(next);
    if (stored == null) {
      problem = "entry " + next + " has a wrong checksum";
      comparing = false;
    } else if (!stored.equals(due)) {
      conflict = "entry " + next + " is " + stored + ", the log has " + due;
      comparing = false;
    } else {
      lastAgreed = due;
      next++;
    }
  }

  /** What follows cannot be compared: the walk has passed damage. */
  void stop() {
    comparing = false;
  }

  /** The segment ended with its footer. */
  void expectEnd(IndexEntry end) throws IOException {
    if (firstMissing != null) {
      problem = "it lacks the entry for position " + firstMissing.position();
    }
    if (!comparing) {
      return;
    }
    if (next == index.count()) {
      problem = "it has no end entry";
    } else if (!end.equals(index.entry(next))) {
      problem = "its end entry is " + index.entry(next) + ", the log ends with " + end;
    } else if (index.count() > next + 1 || !index.endsBetweenEntries()) {
      problem = "something stands behind its end entry";
    }
  }

  /**
   * The last entry up to which log and index agree, in front of its batch; null if there is none.
   */
  IndexEntry lastAgreed() {
    return lastAgreed;
  }

  /**
   * Where log and index are not of one mind, so that a header or the entries were changed; null if
   * there is no such place.
   */
  String conflict() {
    return conflict;
  }

  /** It is clear that the log is right, so it is the index that is wrong. */
  void blameIndex() {
    if (conflict != null && problem == null) {
      problem = conflict;
    }
  }

  String problem() {
    return problem;
  }
}
