package io.millrace.tools.local;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Who runs a broker: two lines, the pid and the start of that process. A file left over from a
 * process that is gone does no harm, because the start does not match.
 */
record PidFile(Path path) {
  void write(ProcessIdentity process) throws IOException {
    SafeFiles.replace(path, process.pid() + "\n" + process.start() + "\n");
  }

  Optional<ProcessIdentity> read() throws IOException {
    List<String> lines;
    try {
      lines = Files.readAllLines(path);
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
    if (lines.size() < 2 || !lines.get(0).matches("\\d{1,18}")) {
      return Optional.empty();
    }
    return Optional.of(new ProcessIdentity(Long.parseLong(lines.get(0)), lines.get(1)));
  }
}
