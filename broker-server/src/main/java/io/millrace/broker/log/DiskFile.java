package io.millrace.broker.log;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;

/**
 * One open file, read and written at positions.
 *
 * <p>Threads: any number of readers beside one writer. Durability: {@link #sync} returns when all
 * that was written and truncated before is on the device (fdatasync). Errors: {@link IOException};
 * after a failed {@link #sync} nothing is known about what was written since the last one.
 */
public interface DiskFile extends Closeable {

  long size() throws IOException;

  /** Writes all that remains in {@code source} at {@code position}. */
  void write(ByteBuffer source, long position) throws IOException;

  /** Returns the bytes read, perhaps fewer than asked for, or -1 at the end of the file. */
  int read(ByteBuffer target, long position) throws IOException;

  void sync() throws IOException;

  void truncate(long size) throws IOException;

  /** Sends bytes to a channel without copying them through the process; may send fewer. */
  long transferTo(long position, long count, WritableByteChannel target) throws IOException;

  /** The channel behind the file, for zero-copy sends; null if there is none. */
  FileChannel channelOrNull();

  /** Fills {@code target}; false if the file ends before. */
  default boolean readFully(ByteBuffer target, long position) throws IOException {
    long at = position;
    while (target.hasRemaining()) {
      int count = read(target, at);
      if (count < 0) {
        return false;
      }
      at += count;
    }
    return true;
  }
}
