package io.millrace.broker.log;

import java.util.Arrays;

/**
 * Where each term begins. Immutable: a new term makes a new table, which happens once per election.
 */
public final class EpochTable {

  static final EpochTable EMPTY = new EpochTable(new long[0], new long[0], new long[0]);

  private final long[] terms;
  private final long[] firstIndexes;
  private final long[] firstOffsets;

  private EpochTable(long[] terms, long[] firstIndexes, long[] firstOffsets) {
    this.terms = terms;
    this.firstIndexes = firstIndexes;
    this.firstOffsets = firstOffsets;
  }

  /** A table of terms and the indexes where they begin, both ascending, without offsets. */
  public static EpochTable of(long[] terms, long[] firstIndexes) {
    return new EpochTable(terms.clone(), firstIndexes.clone(), new long[terms.length]);
  }

  /**
   * The last index from {@code first} to {@code last} at which both tables name the same term;
   * {@code first - 1} if there is none. Two logs that agree there agree on all before it (Raft, Log
   * Matching).
   */
  public long lastAgreement(EpochTable other, long first, long last) {
    long index = last;
    while (index >= first && termAt(index) != other.termAt(index)) {
      index = Math.max(beginOfTermAt(index), other.beginOfTermAt(index)) - 1;
    }
    return Math.max(index, first - 1);
  }

  /** Where the term of an entry begins; 0 before the first. */
  private long beginOfTermAt(long index) {
    int i = floor(firstIndexes, index);
    return i < 0 ? 0 : firstIndexes[i];
  }

  public int size() {
    return terms.length;
  }

  public long term(int i) {
    return terms[i];
  }

  /** Index of the term's first entry. */
  public long firstIndex(int i) {
    return firstIndexes[i];
  }

  /** Offset of the first record at or after the term's first entry. */
  public long firstOffset(int i) {
    return firstOffsets[i];
  }

  /** 0 if there is none. */
  public long lastTerm() {
    return terms.length == 0 ? 0 : terms[terms.length - 1];
  }

  /** With the entry of a term at an index; the same table if the term has begun already. */
  EpochTable with(long term, long index, long offset) {
    int size = terms.length;
    if (size > 0 && terms[size - 1] >= term) {
      return this;
    }
    long[] newTerms = Arrays.copyOf(terms, size + 1);
    long[] newIndexes = Arrays.copyOf(firstIndexes, size + 1);
    long[] newOffsets = Arrays.copyOf(firstOffsets, size + 1);
    newTerms[size] = term;
    newIndexes[size] = index;
    newOffsets[size] = offset;
    return new EpochTable(newTerms, newIndexes, newOffsets);
  }

  EpochTable withAll(EpochTable later) {
    EpochTable all = this;
    for (int i = 0; i < later.size(); i++) {
      all = all.with(later.terms[i], later.firstIndexes[i], later.firstOffsets[i]);
    }
    return all;
  }

  /** Without the terms that begin behind an index. */
  EpochTable upTo(long lastIndex) {
    int keep = floor(firstIndexes, lastIndex) + 1;
    return keep == terms.length
        ? this
        : new EpochTable(
            Arrays.copyOf(terms, keep),
            Arrays.copyOf(firstIndexes, keep),
            Arrays.copyOf(firstOffsets, keep));
  }

  /** The terms of the entries from an index on, as if the log began there. */
  EpochTable from(long index, long offset) {
    EpochTable part = EMPTY;
    for (int i = 0; i < terms.length; i++) {
      boolean reachesIn = i + 1 == terms.length || firstIndexes[i + 1] > index;
      if (firstIndexes[i] >= index) {
        part = part.with(terms[i], firstIndexes[i], firstOffsets[i]);
      } else if (reachesIn) {
        part = part.with(terms[i], index, offset);
      }
    }
    return part;
  }

  /** Term of the entry at an index; 0 before the first. */
  public long termAt(long index) {
    int i = floor(firstIndexes, index);
    return i < 0 ? 0 : terms[i];
  }

  /** Term of the record at an offset; 0 before the first. */
  long termOfOffset(long offset) {
    int i = floor(firstOffsets, offset);
    return i < 0 ? 0 : terms[i];
  }

  /** First offset of the terms above the given one, {@code logEnd} if there is none. */
  long endOffsetOfTerm(long term, long logEnd) {
    int i = floor(terms, term);
    return i + 1 < terms.length ? firstOffsets[i + 1] : logEnd;
  }

  /** The last position whose value is at most {@code key}, -1 if none. */
  private static int floor(long[] ascending, long key) {
    int low = 0;
    int high = ascending.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (ascending[middle] <= key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - 1;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof EpochTable that
        && Arrays.equals(terms, that.terms)
        && Arrays.equals(firstIndexes, that.firstIndexes)
        && Arrays.equals(firstOffsets, that.firstOffsets);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(terms);
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("[");
    for (int i = 0; i < terms.length; i++) {
      text.append(i == 0 ? "term " : ", term ").append(terms[i]);
      text.append(" from index ").append(firstIndexes[i]);
      text.append(" offset ").append(firstOffsets[i]);
    }
    return text.append(']').toString();
  }
}
