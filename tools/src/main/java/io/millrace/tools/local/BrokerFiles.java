package io.millrace.tools.local;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Set;

/** What a command may know of a data directory without being its broker. */
final class BrokerFiles {
  /** Names that a formatted directory has before its broker ever held a replica. */
  private static final Set<String> WITHOUT_REPLICAS = Set.of("broker.id", "lock");

  private BrokerFiles() {}

  /** Names in the directory that only a broker with replicas has; empty when there is none. */
  static List<String> replicaFiles(Path data) throws IOException {
    if (!Files.isDirectory(data)) {
      return List.of();
    }
    try (var entries = Files.list(data)) {
      return entries
          .map(entry -> entry.getFileName().toString())
          .filter(name -> !WITHOUT_REPLICAS.contains(name))
          .sorted()
          .toList();
    }
  }

  static void deleteRecursively(Path root) throws IOException {
    if (!Files.exists(root)) {
      return;
    }
    Files.walkFileTree(
        root,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.delete(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path directory, IOException failure)
              throws IOException {
            if (failure != null) {
              throw failure;
            }
            Files.delete(directory);
            return FileVisitResult.CONTINUE;
          }
        });
  }
}
