package io.millrace.broker.log;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * What opening a log did.
 *
 * @param bytesCut removed from the end: torn or incomplete, never confirmed to anybody
 * @param firstIndexCut index of the first batch that was cut, 0 = nothing was
 * @param batchesChecked batches whose checksum was verified
 * @param batchesIndexed index entries written anew
 * @param setAside files moved out of the log because they do not continue it
 * @param notes what else was found or repaired, a sentence each
 * @param cutToMark an fsync had failed before this start, so everything above the sync mark was
 *     dropped: with another policy than always, entries that others count on may be among it
 */
public record RecoveryReport(
    long bytesCut,
    long firstIndexCut,
    long batchesChecked,
    long batchesIndexed,
    List<Path> setAside,
    List<String> notes,
    boolean cutToMark,
    long durationMillis) {

  /** For the log and the status command. */
  public String oneLine() {
    StringBuilder line =
        new StringBuilder(
            String.format(
                Locale.ROOT,
                "checked %d batches, wrote %d index entries, %d ms",
                batchesChecked,
                batchesIndexed,
                durationMillis));
    if (bytesCut > 0) {
      line.append("; cut ").append(bytesCut).append(" bytes from index ").append(firstIndexCut);
      line.append(" on that were not synced");
    }
    if (!setAside.isEmpty()) {
      line.append("; set aside ").append(setAside);
    }
    notes.forEach(note -> line.append("; ").append(note));
    return line.toString();
  }
}
