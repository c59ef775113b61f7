package io.millrace.broker.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How much room is left on the disk of a broker's data, as a state that everybody asks before it
 * writes much:
 *
 * <pre>
 * ROOMY     everything goes
 * LOW       below {@code lowBytes}: no records from producers, no new topics
 * CRITICAL  below {@code criticalBytes}: followers take no records either, no checkpoints. What
 *           makes room again still works: deleting topics and records, elections, metadata
 * </pre>
 *
 * <p>Owns: the file {@code reserve}, which holds space that is given back to the file system in
 * CRITICAL, so that what makes room has room itself, and taken again when there is enough.
 *
 * <p>Threads: {@link #check} by one; the rest any, without blocking, except that {@link #admits}
 * asks the file system when much was written since the last look, which touches no disk.
 */
public final class DiskSpace {

  /** Ordered from good to bad. */
  public enum Level {
    ROOMY,
    LOW,
    CRITICAL
  }

  /**
   * @param reserveBytes size of the reserve, 0 = none
   */
  public record Limits(long lowBytes, long criticalBytes, long reserveBytes) {

    private static final long MOST_LOW_BYTES = 1L << 30;
    private static final long MOST_RESERVE_BYTES = 64L << 20;

    public Limits {
      if (criticalBytes < 1 || lowBytes < criticalBytes || reserveBytes < 0) {
        throw new IllegalArgumentException(
            "disk limits of "
                + lowBytes
                + " (low), "
                + criticalBytes
                + " (critical) and "
                + reserveBytes
                + " bytes (reserve): low must be at least critical, critical at least 1");
      }
    }

    /** A tenth of the disk and at most a gibibyte is little. */
    public static Limits forDiskOf(long totalBytes) {
      return withLow(Math.max(4, Math.min(MOST_LOW_BYTES, totalBytes / 10)));
    }

    /** With the other limits in proportion. */
    public static Limits withLow(long low) {
      return new Limits(low, low / 4, Math.min(MOST_RESERVE_BYTES, low / 4));
    }
  }

  public static final String RESERVE_FILE = "reserve";

  private static final Logger LOG = LoggerFactory.getLogger(DiskSpace.class);

  private static final int CHUNK_BYTES = 1 << 20;

  private final Disk disk;
  private final Path directory;
  private final Limits limits;
  private final AtomicLong admittedSinceLook = new AtomicLong();
  private volatile long freeBytes = Long.MAX_VALUE;
  private volatile Level level = Level.ROOMY;
  private boolean reserved; // of the one that calls check

  public DiskSpace(Disk disk, Path directory, Limits limits) {
    this.disk = disk;
    this.directory = directory;
    this.limits = limits;
  }

  /**
   * Gives the reserve back if there is hardly a byte left, so that a broker can start; only by the
   * one that holds the directory's lock.
   */
  public static void makeRoomToStart(Disk disk, Path directory) throws IOException {
    Path reserve = directory.resolve(RESERVE_FILE);
    if (disk.exists(reserve) && disk.usableBytes(directory) < CHUNK_BYTES) {
      disk.delete(reserve);
      LOG.warn("{}: the disk is full; the reserve was given back to start", directory);
    }
  }

  public Limits limits() {
    return limits;
  }

  public Level level() {
    return level;
  }

  /** At the last look; what was admitted since is not subtracted. */
  public long freeBytes() {
    return freeBytes;
  }

  /** True if records may be appended; they count as written from now on. */
  public boolean admits(int bytes) {
    if (level != Level.ROOMY) {
      return false;
    }
    long since = admittedSinceLook.addAndGet(bytes);
    // Other brokers may write to the same disk: look again long before our own share is used up.
    if (since > (freeBytes - limits.lowBytes()) / 8) {
      look();
    }
    return level == Level.ROOMY;
  }

  /** Looks at the disk and takes or gives back the reserve. Call it every second or so. */
  public void check() {
    look();
    try {
      if (level == Level.CRITICAL) {
        giveBack();
      } else if (!reserved && level == Level.ROOMY && freeBytes - limits.reserveBytes() >= back()) {
        take();
      }
    } catch (IOException e) {
      LOG.warn("{}: the disk reserve cannot be changed: {}", directory, e.getMessage());
    }
  }

  private synchronized void look() {
    try {
      admittedSinceLook.set(0);
      freeBytes = disk.usableBytes(directory);
    } catch (IOException e) {
      LOG.warn("{}: free space cannot be read: {}", directory, e.getMessage());
      return;
    }
    Level now = levelOf(freeBytes);
    if (now != level) {
      LOG.warn("{}: disk space is {}: {} bytes are free", directory, now, freeBytes);
      level = now;
    }
  }

  /** Somewhat more room is needed to get better than to stay so: it must not flap. */
  private Level levelOf(long free) {
    // The reserve is part of what is free then; with it alone nothing is better.
    long betterAt =
        limits.criticalBytes() + Math.max(limits.criticalBytes() / 2, limits.reserveBytes());
    if (free < limits.criticalBytes() || level == Level.CRITICAL && free < betterAt) {
      return Level.CRITICAL;
    }
    if (free < limits.lowBytes() || level != Level.ROOMY && free < back()) {
      return Level.LOW;
    }
    return Level.ROOMY;
  }

  private long back() {
    return limits.lowBytes() + limits.lowBytes() / 4;
  }

  private Path reserve() {
    return directory.resolve(RESERVE_FILE);
  }

  private void giveBack() throws IOException {
    reserved = false;
    if (disk.exists(reserve())) {
      disk.delete(reserve());
      LOG.warn("{}: the disk is full; the reserve was given back", directory);
      freeBytes = disk.usableBytes(directory);
    }
  }

  /** Written in full, since a file with holes reserves nothing. A half one is made longer. */
  private void take() throws IOException {
    try (DiskFile file = disk.open(reserve(), true)) {
      long size = file.size();
      ByteBuffer zeros = ByteBuffer.allocate(CHUNK_BYTES);
      while (size < limits.reserveBytes()) {
        zeros.clear().limit((int) Math.min(CHUNK_BYTES, limits.reserveBytes() - size));
        int length = zeros.remaining();
        file.write(zeros, size);
        size += length;
      }
      file.sync();
    }
    disk.syncDirectory(directory);
    reserved = true;
  }
}
