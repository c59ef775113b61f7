package io.millrace.broker.log;

import java.io.IOException;
import java.nio.file.Path;

/**
 * Where files go that the log cannot use and must not delete: {@code aside-<n>/} in its directory,
 * a new one for each occasion.
 *
 * <p>Durability: each move is durable before the next.
 */
final class Aside {

  private static final String PREFIX = "aside-";

  private final Disk disk;
  private final Path directory;
  private Path target;

  Aside(Disk disk, Path directory) {
    this.disk = disk;
    this.directory = directory;
  }

  /** Moves a file if it exists; its new place, or null. */
  Path move(Path file) throws IOException {
    if (!disk.exists(file)) {
      return null;
    }
    if (target == null) {
      target = directory.resolve(PREFIX + next());
      disk.createDirectory(target);
    }
    Path place = target.resolve(file.getFileName());
    disk.rename(file, place);
    // The new name first: a crash must not leave the file without any.
    disk.syncDirectory(target);
    disk.syncDirectory(directory);
    return place;
  }

  private int next() throws IOException {
    int next = 1;
    for (Path each : disk.list(directory)) {
      String name = each.getFileName().toString();
      if (name.startsWith(PREFIX)) {
        try {
          next = Math.max(next, Integer.parseInt(name.substring(PREFIX.length())) + 1);
        } catch (NumberFormatException e) {
          // Not one of ours, so its name cannot collide with the next number.
          continue;
        }
      }
    }
    return next;
  }
}
