package io.millrace.broker;

import io.millrace.broker.log.Disk;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/**
 * How the last run of this directory ended: the boot id of the machine while data was last written,
 * and whether the broker stopped cleanly. Recovery uses both to tell a killed process (the page
 * cache survived) from a lost machine (unsynced bytes are gone).
 *
 * <p>Owns: the file {@code last-run}. Durability: {@link #begin}, {@link #recovered} and {@link
 * #stopped} return when the state is on disk.
 *
 * <p>After an unclean end the old boot id stays until {@link #recovered}: a broker that is killed
 * in the middle of its recovery must come to the same conclusion again.
 */
final class LifecycleFile {

  static final String FILE_NAME = "last-run";

  private static final int FORMAT = 1;
  private static final String BOOT = "boot";
  private static final String CLEAN = "clean";

  private final CheckedTextFile file;
  private final String currentBootId;
  private final State previous;
  private boolean recovered;

  /** What a run left behind; an empty boot id is unknown and equals none. */
  record State(String bootId, boolean clean) {}

  LifecycleFile(Disk disk, Path dataDir, boolean neverStarted) throws IOException {
    this.file = new CheckedTextFile(disk, dataDir.resolve(FILE_NAME), FORMAT);
    this.currentBootId = disk.bootId();
    if (file.exists()) {
      Map<String, String> values = file.read();
      previous = new State(values.getOrDefault(BOOT, ""), Boolean.parseBoolean(values.get(CLEAN)));
    } else {
      // A directory with data and without this file: nothing is known, so assume the worst.
      previous = new State("", neverStarted);
    }
  }

  State previous() {
    return previous;
  }

  /** Bytes that were not synced may be gone: the machine went down under a running broker. */
  boolean unsyncedBytesMayBeLost() {
    return !previous.clean() && !previous.bootId().equals(currentBootId);
  }

  /** Before anything else of the directory is written. */
  void begin() throws IOException {
    write(previous.clean() ? currentBootId : previous.bootId(), false);
  }

  /** After every replica has recovered and durably noted what it concluded. */
  void recovered() throws IOException {
    write(currentBootId, false);
    recovered = true;
  }

  /**
   * After everything is synced and closed. A start that never recovered leaves a clean mark only if
   * it found one: then there was nothing to recover.
   */
  void stopped() throws IOException {
    if (recovered || previous.clean()) {
      write(currentBootId, true);
    }
  }

  private void write(String bootId, boolean clean) throws IOException {
    file.write(Map.of(BOOT, bootId, CLEAN, Boolean.toString(clean)));
  }
}
