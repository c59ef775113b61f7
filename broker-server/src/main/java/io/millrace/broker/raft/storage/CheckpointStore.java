package io.millrace.broker.raft.storage;

import com.google.protobuf.InvalidProtocolBufferException;
import io.millrace.broker.log.Disk;
import io.millrace.broker.log.DiskFile;
import io.millrace.broker.raft.message.Checkpoint;
import io.millrace.protocol.batch.Crc32c;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * The two newest checkpoints of a replica: everything it needs of the log before their index.
 *
 * <pre>
 * offset size
 * 0      4    magic "MRCP"
 * 4      2    format version, 1
 * 6      2    zero
 * 8      4    length of the payload
 * 12     4    CRC-32C of the payload
 * 16     n    Checkpoint
 * </pre>
 *
 * <p>Durability: {@link #write} returns after the file is fsynced, renamed over the older of the
 * two generations, and the directory fsynced. A crash at any point leaves the newer one in place.
 * The caller makes the log durable up to the checkpoint's index first.
 *
 * <p>Threads: any.
 */
public final class CheckpointStore {

  private static final int MAGIC = 0x4D524350;
  public static final short FORMAT_VERSION = 1;
  public static final int NO_FORMAT = FormatField.NONE;
  private static final int HEADER_BYTES = 16;
  private static final String[] NAMES = {"checkpoint.0", "checkpoint.1"};
  private static final String TEMPORARY = "checkpoint.tmp";
  private static final String ASIDE = ".aside";

  /** A generation that exists and cannot be used, with the reason. */
  public record Damaged(Path file, String reason) {}

  private final Disk disk;
  private final Path directory;
  private final List<Checkpoint> valid = new ArrayList<>();
  private final List<Damaged> damaged = new ArrayList<>();
  private final long[] indexes = new long[NAMES.length];
  private int nextGeneration;

  private CheckpointStore(Disk disk, Path directory) {
    this.disk = disk;
    this.directory = directory;
  }

  /**
   * Reads both generations; changes nothing.
   *
   * @throws IOException if a file cannot be read, or was written by a newer version
   */
  public static CheckpointStore open(Disk disk, Path directory) throws IOException {
    CheckpointStore store = new CheckpointStore(disk, directory);
    long newest = -1;
    for (int generation = 0; generation < NAMES.length; generation++) {
      Path path = directory.resolve(NAMES[generation]);
      Checkpoint checkpoint = disk.exists(path) ? store.read(path) : null;
      if (checkpoint != null) {
        store.valid.add(checkpoint);
        store.indexes[generation] = checkpoint.getIndex();
        if (checkpoint.getIndex() > newest) {
          newest = checkpoint.getIndex();
          store.nextGeneration = 1 - generation;
        }
      }
    }
    store.valid.sort(Comparator.comparingLong(Checkpoint::getIndex).reversed());
    return store;
  }

  /** Where the two generations of a replica are, if they are there. */
  public static List<Path> files(Path directory) {
    return Stream.of(NAMES).map(directory::resolve).toList();
  }

  /** The format version in a file's header; {@link #NO_FORMAT} if it has none. */
  public static int formatOf(Disk disk, Path path) throws IOException {
    return FormatField.read(disk, path, MAGIC);
  }

  private Checkpoint read(Path path) throws IOException {
    ByteBuffer all;
    try (DiskFile file = disk.open(path, false)) {
      all = ByteBuffer.allocate(Math.toIntExact(file.size()));
      file.readFully(all, 0); // A file that became shorter fails the check of its length.
    }
    all.flip();
    if (all.remaining() < HEADER_BYTES || all.getInt(0) != MAGIC) {
      damaged.add(new Damaged(path, "it has no checkpoint header"));
      return null;
    }
    if (all.getShort(4) != FORMAT_VERSION) {
      throw new IOException(
          path
              + " has format version "
              + all.getShort(4)
              + "; this broker knows version "
              + FORMAT_VERSION
              + ": start it with the newer broker that wrote it");
    }
    int length = all.getInt(8);
    if (length != all.remaining() - HEADER_BYTES) {
      damaged.add(
          new Damaged(
              path, "it holds " + (all.remaining() - HEADER_BYTES) + " of " + length + " bytes"));
      return null;
    }
    ByteBuffer payload = all.slice(HEADER_BYTES, length);
    if (crc(payload) != all.getInt(12)) {
      damaged.add(new Damaged(path, "its CRC does not match"));
      return null;
    }
    try {
      return Checkpoint.parseFrom(payload);
    } catch (InvalidProtocolBufferException e) {
      damaged.add(new Damaged(path, "its content cannot be read: " + e.getMessage()));
      return null;
    }
  }

  /** The readable checkpoints, newest first. */
  public List<Checkpoint> checkpoints() {
    return List.copyOf(valid);
  }

  public synchronized List<Damaged> damaged() {
    return List.copyOf(damaged);
  }

  /** Index of the newest checkpoint, 0 if there is none. */
  public synchronized long newestIndex() {
    return Math.max(indexes[0], indexes[1]);
  }

  /** Index that both generations reach: with it, a start does well with either of them. */
  public synchronized long oldestIndex() {
    return Math.min(indexes[0], indexes[1]);
  }

  /**
   * Puts a copy of the newest checkpoint in the place of the older one, so that what the log holds
   * up to its index is needed by neither.
   *
   * @throws IOException also if the newest one cannot be read back
   */
  public synchronized void copyNewest() throws IOException {
    Path newest = directory.resolve(NAMES[1 - nextGeneration]);
    int knownDamaged = damaged.size();
    Checkpoint checkpoint = disk.exists(newest) ? read(newest) : null;
    if (checkpoint == null) {
      String reason =
          damaged.size() > knownDamaged ? damaged.get(knownDamaged).reason() : "it is missing";
      throw new IOException(newest + " cannot be read back: " + reason);
    }
    write(checkpoint);
  }

  /**
   * Moves the checkpoints above an index out of the way, durably: the log that they speak of is
   * about to be cut. A damaged one goes too, since nobody knows what it speaks of.
   */
  public synchronized void setAsideAbove(long index) throws IOException {
    for (int generation = 0; generation < NAMES.length; generation++) {
      Path path = directory.resolve(NAMES[generation]);
      Checkpoint checkpoint = disk.exists(path) ? read(path) : null;
      if (disk.exists(path) && (checkpoint == null || checkpoint.getIndex() > index)) {
        disk.rename(path, directory.resolve(NAMES[generation] + ASIDE));
        disk.syncDirectory(directory);
        valid.remove(checkpoint);
        indexes[generation] = 0;
      }
    }
    nextGeneration = indexes[0] <= indexes[1] ? 0 : 1;
  }

  public synchronized void write(Checkpoint checkpoint) throws IOException {
    byte[] payload = checkpoint.toByteArray();
    ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + payload.length);
    out.putInt(MAGIC).putShort(FORMAT_VERSION).putShort((short) 0);
    out.putInt(payload.length).putInt(crc(ByteBuffer.wrap(payload))).put(payload).flip();
    Path temporary = directory.resolve(TEMPORARY);
    try (DiskFile file = disk.open(temporary, true)) {
      file.truncate(0);
      file.write(out, 0);
      file.sync();
    }
    disk.rename(temporary, directory.resolve(NAMES[nextGeneration]));
    disk.syncDirectory(directory);
    indexes[nextGeneration] = checkpoint.getIndex();
    nextGeneration = 1 - nextGeneration;
  }

  private static int crc(ByteBuffer payload) {
    return Crc32c.of(payload, payload.position(), payload.remaining());
  }
}
