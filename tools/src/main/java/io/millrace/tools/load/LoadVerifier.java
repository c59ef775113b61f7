package io.millrace.tools.load;

import io.millrace.tools.load.KeyHistory.Answer;
import io.millrace.tools.load.KeyHistory.Place;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Compares what was acknowledged with what is read back.
 *
 * <p>Every record of a key is a number that counts up. A record is lost when its receipt names an
 * offset that the reader has passed without seeing it; doubled, reordered and so on as {@link
 * Violation} says. Offsets must follow each other without a gap. A record with an unknown outcome
 * may be there once or not at all.
 *
 * <p>Threads: any; one lock, held for a few map operations.
 */
public final class LoadVerifier {
  private static final int EXAMPLES = 20;

  /**
   * Where things stand.
   *
   * @param unread acknowledged and not yet read because the reader is not that far
   * @param undecided sent and without an answer
   * @param unknownAppeared unknown ones that are there
   * @param unknownAbsent unknown ones that the reader, at the end of every partition, has not met
   * @param unknownUnchecked unknown ones of which nothing is known, for the reader is not that far
   * @param readToEnd every partition was read to the end that it had after the last answer
   */
  public record Counts(
      long sent,
      long acked,
      long refused,
      long unknown,
      long undecided,
      long unknownAppeared,
      long unknownAbsent,
      long unknownUnchecked,
      long read,
      long unread,
      boolean readToEnd,
      Map<Violation, Long> violations) {
    public long violations(Violation violation) {
      return violations.getOrDefault(violation, 0L);
    }

    public long allViolations() {
      return violations.values().stream().mapToLong(Long::longValue).sum();
    }

    /** Nothing wrong, and nothing left that was not looked at. */
    public boolean provesEverything() {
      return allViolations() == 0 && readToEnd && unread == 0 && undecided == 0 && acked > 0;
    }
  }

  private final List<KeyHistory> keys = new ArrayList<>();
  private final Map<Integer, Long> nextOffsets = new HashMap<>();
  private final Set<Integer> readToEnd = new HashSet<>();
  private final Map<Violation, Long> violations = new EnumMap<>(Violation.class);
  private final List<String> examples = new ArrayList<>();
  private long sent;
  private long acked;
  private long refused;
  private long unknown;
  private long unknownAppeared;
  private long read;

  public LoadVerifier(int keyCount) {
    for (int i = 0; i < keyCount; i++) {
      keys.add(new KeyHistory());
    }
  }

  /** Reading of the partition begins here. */
  public synchronized void startsAt(int partition, long offset) {
    nextOffsets.put(partition, offset);
  }

  /** The number of the key's next record. */
  public synchronized long send(int key) {
    sent++;
    return keys.get(key).send();
  }

  public synchronized void acked(int key, long number, int partition, long offset) {
    acked++;
    keys.get(key).acked(number, new Place(partition, offset), findings(key));
  }

  public synchronized void refused(int key, long number) {
    refused++;
    keys.get(key).refused(number, findings(key));
  }

  public synchronized void unknown(int key, long number) {
    unknown++;
    keys.get(key).unknown(number, findings(key));
  }

  /** A record of this run was read. */
  public synchronized void seen(int key, long number, int partition, long offset) {
    if (!advance(partition, offset)) {
      return;
    }
    read++;
    if (key < 0 || key >= keys.size()) {
      found(
          Violation.FOREIGN,
          "key " + key + ", read at partition " + partition + " offset " + offset);
      return;
    }
    keys.get(key).seen(number, new Place(partition, offset), findings(key));
  }

  /** A record of somebody else was read: only its offset matters. */
  public synchronized void passed(int partition, long offset) {
    advance(partition, offset);
  }

  /** A record of this run was read whose bytes are not those sent. */
  public synchronized void changed(int partition, long offset, String facts) {
    if (advance(partition, offset)) {
      read++;
      found(Violation.CHANGED, "partition " + partition + " offset " + offset + ": " + facts);
    }
  }

  public synchronized void unreadable(String facts) {
    found(Violation.UNREADABLE, facts);
  }

  /**
   * The reader has reached the committed end that the partition had after the last answer: a
   * receipt beyond it names a record that is gone.
   */
  public synchronized void readToEnd(int partition) {
    readToEnd.add(partition);
  }

  /** False when the offset was handed out before: the record itself was looked at then. */
  private boolean advance(int partition, long offset) {
    Long expected = nextOffsets.get(partition);
    if (expected == null) {
      throw new IllegalStateException("partition " + partition + " has no start offset");
    }
    if (offset < expected) {
      found(
          Violation.REREAD,
          "partition " + partition + " offset " + offset + ", expected was " + expected);
      return false;
    }
    if (offset > expected) {
      found(
          Violation.GAP, "partition " + partition + " offsets " + expected + " to " + (offset - 1));
    }
    nextOffsets.put(partition, offset + 1);
    return true;
  }

  private KeyHistory.Findings findings(int key) {
    return new KeyHistory.Findings() {
      @Override
      public void found(Violation violation, long number, String facts) {
        LoadVerifier.this.found(violation, "key " + key + " record " + number + " " + facts);
      }

      @Override
      public void unknownAppeared() {
        unknownAppeared++;
      }
    };
  }

  private void found(Violation violation, String facts) {
    violations.merge(violation, 1L, Long::sum);
    example(violation, facts);
  }

  private void example(Violation violation, String facts) {
    if (examples.size() < EXAMPLES) {
      examples.add(violation + ": " + facts);
    }
  }

  /** Lost ones are counted afresh each time: a late record turns from lost into reordered. */
  public synchronized Counts counts() {
    long[] lost = {0};
    long[] unread = {0};
    long[] undecided = {0};
    for (KeyHistory key : keys) {
      key.forEachOpen(
          (number, answer, receipt, seen) -> {
            if (answer == Answer.NONE) {
              undecided[0]++;
            } else if (answer == Answer.ACKED) {
              (isPassed(receipt) ? lost : unread)[0]++;
            }
          });
    }
    boolean allRead = readToEnd.containsAll(nextOffsets.keySet());
    long notMet = unknown - unknownAppeared;
    var found = new EnumMap<>(violations);
    if (lost[0] > 0) {
      found.put(Violation.LOST, lost[0]);
    }
    return new Counts(
        sent,
        acked,
        refused,
        unknown,
        undecided[0],
        unknownAppeared,
        allRead ? notMet : 0,
        allRead ? 0 : notMet,
        read,
        unread[0],
        allRead,
        Map.copyOf(found));
  }

  private boolean isPassed(Place place) {
    if (readToEnd.contains(place.partition())) {
      return true;
    }
    Long next = nextOffsets.get(place.partition());
    return next != null && place.offset() < next;
  }

  /** Some of what was found, in words; lost ones last. */
  public synchronized List<String> examples() {
    var all = new ArrayList<>(examples);
    for (int i = 0; i < keys.size(); i++) {
      int key = i;
      keys.get(i)
          .forEachOpen(
              (number, answer, receipt, seen) -> {
                if (answer == Answer.ACKED && isPassed(receipt) && all.size() < 2 * EXAMPLES) {
                  all.add(
                      Violation.LOST
                          + ": key "
                          + key
                          + " record "
                          + number
                          + ", receipt "
                          + receipt);
                }
              });
    }
    return all;
  }
}
