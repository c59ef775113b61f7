package io.millrace.broker.log;

/**
 * A part of a segment whose batches are whole and follow each other: what a salvage may keep. Ends
 * are exclusive.
 *
 * @param position of the first batch in the file
 */
public record ValidRange(
    long firstIndex,
    long nextIndex,
    long firstOffset,
    long nextOffset,
    long position,
    long endPosition) {

  /** What of it lies before a place inside it. */
  ValidRange before(long index, long offset, long end) {
    return new ValidRange(firstIndex, index, firstOffset, offset, position, end);
  }
}
