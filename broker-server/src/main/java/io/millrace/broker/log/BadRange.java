package io.millrace.broker.log;

/**
 * A part of a segment that holds no batches which can be believed.
 *
 * @param index of the entry that has to begin here
 * @param offset of the record that has to be next here
 * @param position where it begins
 * @param endPosition where the next good batch begins, or the end of the file
 * @param fileEndsInside the file ends inside a batch: what a process leaves that is killed while it
 *     writes
 */
public record BadRange(
    long index,
    long offset,
    long position,
    long endPosition,
    boolean fileEndsInside,
    String reason) {

  @Override
  public String toString() {
    return "position " + position + " to " + endPosition + ", entry " + index + ": " + reason;
  }
}
