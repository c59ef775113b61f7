package io.millrace.broker.log;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * The files of one broker. Everything the broker stores goes through here, so that a test can take
 * the place of the disk and forget, tear, flip, fail or fill.
 *
 * <p>Threads: any. Durability: only what the synchronising calls say; a created, deleted or renamed
 * name is durable after {@link #syncDirectory}.
 */
public interface Disk {

  /** Opens for reading and writing; without {@code create} the file must exist. */
  DiskFile open(Path path, boolean create) throws IOException;

  /** Files and directories directly inside, in the order of their names. */
  List<Path> list(Path directory) throws IOException;

  boolean exists(Path path);

  boolean isDirectory(Path path);

  /** Creates the directory if it is not there and makes its name durable in its parent. */
  void createDirectory(Path directory) throws IOException;

  /** A file, or an empty directory. */
  void delete(Path path) throws IOException;

  /** Atomic; an existing target is replaced. */
  void rename(Path from, Path to) throws IOException;

  void syncDirectory(Path directory) throws IOException;

  long usableBytes(Path path) throws IOException;

  /** Size of the file system that a path is on. */
  long totalBytes(Path path) throws IOException;

  /** Differs after every start of the machine: what it names has lost its unsynced bytes. */
  String bootId();

  /** Buffers for writing, shared by all files of this disk. */
  WriteBuffers writeBuffers();
}
