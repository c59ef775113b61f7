package io.millrace.broker.state;

/**
 * The newest batches of one producer: what a retry is recognised by. Five, because a client keeps
 * at most five in flight.
 */
final class BatchWindow {

  static final int CAPACITY = 5;

  private final int[] firstSequences = new int[CAPACITY];
  private final int[] lastSequences = new int[CAPACITY];
  private final long[] baseOffsets = new long[CAPACITY];
  private final long[] terms = new long[CAPACITY];
  private int oldest;
  private int size;

  void add(int firstSequence, int lastSequence, long baseOffset, long term) {
    int slot = (oldest + size) % CAPACITY;
    if (size == CAPACITY) {
      oldest = (oldest + 1) % CAPACITY;
    } else {
      size++;
    }
    firstSequences[slot] = firstSequence;
    lastSequences[slot] = lastSequence;
    baseOffsets[slot] = baseOffset;
    terms[slot] = term;
  }

  int size() {
    return size;
  }

  /** Age of the batch with exactly these sequences, 0 = oldest; -1 when it is not here. */
  int find(int firstSequence, int lastSequence) {
    for (int age = size - 1; age >= 0; age--) {
      if (firstSequence(age) == firstSequence && lastSequence(age) == lastSequence) {
        return age;
      }
    }
    return -1;
  }

  int firstSequence(int age) {
    return firstSequences[slot(age)];
  }

  int lastSequence(int age) {
    return lastSequences[slot(age)];
  }

  long baseOffset(int age) {
    return baseOffsets[slot(age)];
  }

  long term(int age) {
    return terms[slot(age)];
  }

  /** Of the newest batch; {@link Sequences#NONE} when empty. */
  int newestSequence() {
    return size == 0 ? Sequences.NONE : lastSequence(size - 1);
  }

  private int slot(int age) {
    return (oldest + age) % CAPACITY;
  }
}
