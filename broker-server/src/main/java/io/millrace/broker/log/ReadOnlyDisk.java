package io.millrace.broker.log;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Stream;

/**
 * The real disk for whoever only looks: files are opened for reading and never created, and every
 * call that would change something is refused. What runs on it cannot harm the files of a running
 * broker, whatever its faults.
 *
 * <p>Threads: any. Errors: {@link UnsupportedOperationException} for a change, a defect of the
 * caller.
 */
public final class ReadOnlyDisk implements Disk {

  @Override
  public DiskFile open(Path path, boolean create) throws IOException {
    if (create) {
      throw refused("create " + path);
    }
    return new ReadOnlyFile(FileChannel.open(path, StandardOpenOption.READ));
  }

  @Override
  public List<Path> list(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.sorted().toList();
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  @Override
  public boolean exists(Path path) {
    return Files.exists(path);
  }

  @Override
  public boolean isDirectory(Path path) {
    return Files.isDirectory(path);
  }

  @Override
  public void createDirectory(Path directory) {
    throw refused("create " + directory);
  }

  @Override
  public void delete(Path path) {
    throw refused("delete " + path);
  }

  @Override
  public void rename(Path from, Path to) {
    throw refused("rename " + from);
  }

  @Override
  public void syncDirectory(Path directory) {
    throw refused("sync " + directory);
  }

  @Override
  public long usableBytes(Path path) throws IOException {
    return Files.getFileStore(path).getUsableSpace();
  }

  @Override
  public long totalBytes(Path path) throws IOException {
    return Files.getFileStore(path).getTotalSpace();
  }

  @Override
  public String bootId() {
    throw refused("compare boots");
  }

  @Override
  public WriteBuffers writeBuffers() {
    throw refused("write");
  }

  private static UnsupportedOperationException refused(String what) {
    return new UnsupportedOperationException("read-only: refused to " + what);
  }

  private record ReadOnlyFile(FileChannel channel) implements DiskFile {

    @Override
    public long size() throws IOException {
      return channel.size();
    }

    @Override
    public int read(ByteBuffer target, long position) throws IOException {
      return channel.read(target, position);
    }

    @Override
    public void write(ByteBuffer source, long position) {
      throw refused("write");
    }

    @Override
    public void sync() {
      throw refused("sync");
    }

    @Override
    public void truncate(long size) {
      throw refused("truncate");
    }

    @Override
    public long transferTo(long position, long count, WritableByteChannel target)
        throws IOException {
      return channel.transferTo(position, count, target);
    }

    @Override
    public FileChannel channelOrNull() {
      return channel;
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }
}
