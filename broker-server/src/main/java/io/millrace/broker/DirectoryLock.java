package io.millrace.broker;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Keeps a second broker out of a data directory.
 *
 * <p>Owns: the open file {@code lock}, which holds the pid in text. The operating system drops the
 * lock when the process ends, however it ends; the file itself stays.
 *
 * <p>Threads: any. Errors: {@link DataDirectoryException} naming the pid that holds the lock.
 */
final class DirectoryLock implements AutoCloseable {

  static final String FILE_NAME = "lock";

  private static final int MAX_PID_BYTES = 32;

  /**
   * Directories locked by this JVM. The operating system's lock belongs to the process, and closing
   * any descriptor of the file drops it: a second attempt inside the JVM must be refused before it
   * opens the file, or it would unlock the first.
   */
  private static final Set<Path> HELD_BY_THIS_JVM = ConcurrentHashMap.newKeySet();

  private final Path directory;
  private final FileChannel channel;

  private DirectoryLock(Path directory, FileChannel channel) {
    this.directory = directory;
    this.channel = channel;
  }

  static DirectoryLock acquire(Path dataDir) throws IOException {
    Path directory = dataDir.toRealPath();
    if (!HELD_BY_THIS_JVM.add(directory)) {
      throw inUse(directory, Long.toString(ProcessHandle.current().pid()));
    }
    FileChannel channel = null;
    try {
      channel =
          FileChannel.open(
              directory.resolve(FILE_NAME),
              StandardOpenOption.CREATE,
              StandardOpenOption.READ,
              StandardOpenOption.WRITE);
      FileLock lock = channel.tryLock();
      if (lock == null) {
        throw inUse(directory, readPid(channel));
      }
      channel.truncate(0);
      byte[] pid = (ProcessHandle.current().pid() + "\n").getBytes(StandardCharsets.US_ASCII);
      channel.write(ByteBuffer.wrap(pid), 0);
      return new DirectoryLock(directory, channel);
    } catch (IOException | RuntimeException failed) {
      HELD_BY_THIS_JVM.remove(directory);
      if (channel != null) {
        try {
          channel.close();
        } catch (IOException alsoFailed) {
          failed.addSuppressed(alsoFailed);
        }
      }
      throw failed;
    }
  }

  @Override
  public void close() throws IOException {
    try {
      channel.close();
    } finally {
      HELD_BY_THIS_JVM.remove(directory);
    }
  }

  private static String readPid(FileChannel channel) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(MAX_PID_BYTES);
    channel.read(bytes, 0);
    String pid = StandardCharsets.US_ASCII.decode(bytes.flip()).toString().trim();
    return pid.isEmpty() ? "(unknown)" : pid;
  }

  private static DataDirectoryException inUse(Path directory, String pid) {
    return new DataDirectoryException(
        "data directory "
            + directory
            + " is in use by process "
            + pid
            + "; stop that broker first, or set another data.dir");
  }
}
