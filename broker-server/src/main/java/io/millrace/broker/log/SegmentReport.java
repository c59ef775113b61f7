package io.millrace.broker.log;

import java.nio.file.Path;
import java.util.List;

/**
 * What a segment file holds, read from its first byte to its last.
 *
 * @param name of the segment as its head says; as the file is named if the head cannot be read
 * @param head null if it cannot be read
 * @param foot null if there is none that can be believed
 * @param nextIndex behind the last entry, as far as that could be followed
 * @param nextOffset behind the last record
 * @param valid ranges of good batches, ascending; one if all is well, none if there are no batches
 * @param bad what lies between them, ascending
 * @param epochs terms of the good batches
 * @param sums over the good batches
 * @param mark the sync mark in the index; null = none
 * @param syncFailed the index notes that an fsync failed after the mark
 * @param indexProblem why the index cannot be used as it is, or what of it is wrong; null = nothing
 */
public record SegmentReport(
    Path log,
    long fileBytes,
    SegmentName name,
    SegmentHead head,
    SegmentFoot foot,
    long nextIndex,
    long nextOffset,
    List<ValidRange> valid,
    List<BadRange> bad,
    EpochTable epochs,
    Sums sums,
    SyncMark mark,
    boolean syncFailed,
    String indexProblem) {

  /**
   * @param minTimestamp the least base timestamp of a record batch, -1 = none
   * @param maxTimestamp of any record, -1 = none
   * @param logTime in force at the end, -1 = none
   */
  public record Sums(
      long batches,
      long controlBatches,
      long records,
      long recordBytes,
      long minTimestamp,
      long maxTimestamp,
      long firstLogTime,
      long logTime) {}

  public SegmentReport {
    valid = List.copyOf(valid);
    bad = List.copyOf(bad);
  }

  /** True if the only bad place is a batch that was not written to its end. */
  public boolean isCutShort() {
    return bad.size() == 1 && bad.get(0).fileEndsInside() && bad.get(0).endPosition() == fileBytes;
  }
}
