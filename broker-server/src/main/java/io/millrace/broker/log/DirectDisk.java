package io.millrace.broker.log;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The real disk.
 *
 * <p>Owns: the shared write buffers. Threads: any.
 */
public final class DirectDisk implements Disk {

  private static final Path LINUX_BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
  private static final int BOOT_ID_WAIT_SECONDS = 5;

  private final WriteBuffers writeBuffers =
      new WriteBuffers(WriteBuffers.DEFAULT_COUNT, WriteBuffers.DEFAULT_BYTES);
  private final String bootId;

  public DirectDisk() {
    try {
      bootId =
          Files.isReadable(LINUX_BOOT_ID)
              ? Files.readString(LINUX_BOOT_ID).strip()
              : bootTimeOfMac();
    } catch (IOException e) {
      throw new UncheckedIOException("the boot id of this machine cannot be read", e);
    }
  }

  /** macOS names no boot, but the time of it does as well. */
  private static String bootTimeOfMac() throws IOException {
    Process process = new ProcessBuilder("sysctl", "-n", "kern.bootsessionuuid").start();
    try {
      if (!process.waitFor(BOOT_ID_WAIT_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        throw new IOException("sysctl did not answer in " + BOOT_ID_WAIT_SECONDS + " s");
      }
      String answer = new String(process.getInputStream().readAllBytes()).strip();
      if (process.exitValue() != 0 || answer.isEmpty()) {
        throw new IOException("sysctl kern.bootsessionuuid ended with " + process.exitValue());
      }
      return answer;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while asking for the boot id", e);
    }
  }

  @Override
  public DiskFile open(Path path, boolean create) throws IOException {
    return new DirectFile(path, create);
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
  public void createDirectory(Path directory) throws IOException {
    Path parent = directory.toAbsolutePath().getParent();
    if (parent != null && !Files.isDirectory(parent)) {
      createDirectory(parent);
    }
    Files.createDirectories(directory);
    if (parent != null) {
      syncDirectory(parent);
    }
  }

  @Override
  public void delete(Path path) throws IOException {
    Files.delete(path);
  }

  @Override
  public void rename(Path from, Path to) throws IOException {
    Files.move(from, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  @Override
  public void syncDirectory(Path directory) throws IOException {
    try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
      channel.force(true);
    }
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
    return bootId;
  }

  @Override
  public WriteBuffers writeBuffers() {
    return writeBuffers;
  }
}
