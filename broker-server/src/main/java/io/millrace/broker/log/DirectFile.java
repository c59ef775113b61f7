package io.millrace.broker.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * A file of the real disk.
 *
 * <p>Threads: any. A {@link FileChannel} closes itself for everybody when one of its users is
 * interrupted; reads and writes at a position can be repeated, so they go on with a new channel to
 * the same file and leave the interrupt to the caller. An interrupted fsync is not repeated: it may
 * hide a real error.
 */
final class DirectFile implements DiskFile {

  private interface Operation {
    long run(FileChannel channel) throws IOException;
  }

  private final Path path;
  private final Object fileKey;
  private volatile FileChannel channel;
  private boolean closed;

  DirectFile(Path path, boolean create) throws IOException {
    this.path = path;
    this.channel =
        create
            ? FileChannel.open(
                path, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE)
            : reopenedChannel(path);
    this.fileKey = fileKey(path);
  }

  private static FileChannel reopenedChannel(Path path) throws IOException {
    return FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
  }

  private static Object fileKey(Path path) throws IOException {
    return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
  }

  private long repeatable(Operation operation) throws IOException {
    boolean interrupted = false;
    try {
      while (true) {
        FileChannel current = channel;
        try {
          return operation.run(current);
        } catch (ClosedByInterruptException e) {
          interrupted |= Thread.interrupted();
          reopen(current, e);
        } catch (ClosedChannelException e) {
          reopen(current, e);
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private synchronized void reopen(FileChannel broken, ClosedChannelException cause)
      throws IOException {
    if (closed) {
      throw cause;
    }
    if (channel != broken) {
      return;
    }
    FileChannel fresh = reopenedChannel(path);
    // The name may belong to another file by now.
    if (fileKey != null && !fileKey.equals(fileKey(path))) {
      fresh.close();
      throw cause;
    }
    channel = fresh;
  }

  @Override
  public long size() throws IOException {
    return repeatable(FileChannel::size);
  }

  @Override
  public void write(ByteBuffer source, long position) throws IOException {
    int start = source.position();
    repeatable(
        current -> {
          source.position(start);
          long at = position;
          while (source.hasRemaining()) {
            at += current.write(source, at);
          }
          return at;
        });
  }

  @Override
  public int read(ByteBuffer target, long position) throws IOException {
    int start = target.position();
    return (int)
        repeatable(
            current -> {
              target.position(start);
              return current.read(target, position);
            });
  }

  @Override
  public void sync() throws IOException {
    boolean interrupted = Thread.interrupted();
    try {
      FileChannel current = channel;
      if (!current.isOpen()) {
        reopen(current, new ClosedChannelException());
      }
      channel.force(false);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public void truncate(long size) throws IOException {
    repeatable(
        current -> {
          current.truncate(size);
          return size;
        });
  }

  @Override
  public long transferTo(long position, long count, WritableByteChannel target) throws IOException {
    return channel.transferTo(position, count, target);
  }

  @Override
  public FileChannel channelOrNull() {
    return channel;
  }

  @Override
  public synchronized void close() throws IOException {
    closed = true;
    channel.close();
  }
}
