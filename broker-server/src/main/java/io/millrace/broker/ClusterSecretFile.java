package io.millrace.broker;

import io.millrace.broker.log.DirectDisk;
import io.millrace.broker.raft.transport.ClusterSecret;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.Set;
import java.util.UUID;

/**
 * The file that holds a cluster's secret: one line, mode 600.
 *
 * <p>Durability: a made file is on disk, whole, when {@link #makeIfMissing} returns. Errors: {@link
 * ConfigException}, one line that never holds the secret.
 */
public final class ClusterSecretFile {

  private static final Set<PosixFilePermission> OWNER_ONLY =
      PosixFilePermissions.fromString("rw-------");
  private static final Set<PosixFilePermission> OF_OTHERS =
      PosixFilePermissions.fromString("---rwxrwx");

  /** Beyond any secret; a wrong file is not read whole. */
  private static final int MAX_BYTES = 4096;

  private ClusterSecretFile() {}

  /** Makes a secret unless there is one. True if it was made; then other brokers need a copy. */
  public static boolean makeIfMissing(Path file) throws IOException {
    if (Files.exists(file)) {
      read(file);
      return false;
    }
    Path directory = file.toAbsolutePath().getParent();
    Files.createDirectories(directory);
    // Under another name first, so that no broker ever reads half a secret.
    Path draft = file.resolveSibling(file.getFileName() + "." + UUID.randomUUID() + ".new");
    try {
      Set<StandardOpenOption> options =
          EnumSet.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
      try (FileChannel channel = FileChannel.open(draft, options, ownerOnly(directory))) {
        ByteBuffer line =
            StandardCharsets.UTF_8.encode(ClusterSecret.random().print() + System.lineSeparator());
        while (line.hasRemaining()) {
          channel.write(line);
        }
        channel.force(true);
      }
      Files.move(draft, file);
      new DirectDisk().syncDirectory(directory);
      return true;
    } catch (FileAlreadyExistsException another) {
      read(file); // Made by somebody else meanwhile: that one counts.
      return false;
    } finally {
      Files.deleteIfExists(draft);
    }
  }

  public static ClusterSecret read(Path file) {
    try {
      requireOwnerOnly(file);
      if (Files.size(file) > MAX_BYTES) {
        throw new ConfigException(
            file + " has " + Files.size(file) + " bytes, so it holds no cluster secret");
      }
      return ClusterSecret.parse(Files.readString(file));
    } catch (NoSuchFileException missing) {
      throw new ConfigException(
          file
              + " does not exist; copy it from another broker of the cluster, or let broker format"
              + " make it for a new cluster",
          missing);
    } catch (IOException unreadable) {
      throw new ConfigException(text(unreadable), unreadable);
    } catch (IllegalArgumentException wrong) {
      throw new ConfigException(file + ": " + wrong.getMessage(), wrong);
    }
  }

  /** Java names only the file in some of its failures. */
  static String text(IOException failure) {
    return failure instanceof FileSystemException named && named.getReason() == null
        ? named.getFile() + " cannot be read: " + failure.getClass().getSimpleName()
        : failure.getMessage();
  }

  /** Refuses a file that others than its owner may use. */
  static void requireOwnerOnly(Path file) throws IOException {
    if (!hasModes(file)) {
      return;
    }
    Set<PosixFilePermission> mode = Files.getPosixFilePermissions(file);
    if (mode.stream().anyMatch(OF_OTHERS::contains)) {
      throw new ConfigException(
          file
              + " has the mode "
              + PosixFilePermissions.toString(mode)
              + ", so others than its owner may use it; chmod 600 it");
    }
  }

  private static FileAttribute<?>[] ownerOnly(Path directory) {
    return hasModes(directory)
        ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(OWNER_ONLY)}
        : new FileAttribute<?>[0];
  }

  private static boolean hasModes(Path path) {
    return path.getFileSystem().supportedFileAttributeViews().contains("posix");
  }
}
