package io.millrace.broker;

import io.millrace.broker.log.Disk;
import io.millrace.broker.log.DiskFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * A small text file that is replaced as a whole:
 *
 * <pre>
 * format=1
 * key=value            any number of such lines
 * crc32c=1a2b3c4d      of every byte before this line, the last line
 * </pre>
 *
 * <p>Durability: {@link #write} returns when the new content is on disk under the final name; a
 * crash at any point leaves the old content or the new one. Errors: {@link DataDirectoryException}
 * for a damaged file or a format newer than known, which is never changed.
 */
final class CheckedTextFile {

  static final String TEMPORARY_SUFFIX = ".tmp";

  /** The version of every file of this kind so far. */
  static final int FIRST_FORMAT = 1;

  private static final String FORMAT = "format=";
  private static final String CRC = "crc32c=";
  private static final int MAX_BYTES = 64 * 1024;
  private static final int MAX_FIRST_LINE_BYTES = 64;

  private final Disk disk;
  private final Path path;
  private final int format;

  CheckedTextFile(Disk disk, Path path, int format) {
    this.disk = disk;
    this.path = path;
    this.format = format;
  }

  boolean exists() {
    return disk.exists(path);
  }

  void write(Map<String, String> values) throws IOException {
    StringBuilder text = new StringBuilder(FORMAT).append(format).append('\n');
    values.forEach((key, value) -> text.append(key).append('=').append(value).append('\n'));
    String crc = crc(text.toString());
    text.append(CRC).append(crc).append('\n');
    Path temporary = path.resolveSibling(path.getFileName() + TEMPORARY_SUFFIX);
    try (DiskFile file = disk.open(temporary, true)) {
      file.truncate(0);
      file.write(ByteBuffer.wrap(text.toString().getBytes(StandardCharsets.UTF_8)), 0);
      file.sync();
    }
    disk.rename(temporary, path);
    disk.syncDirectory(path.toAbsolutePath().getParent());
  }

  /** Refuses a file of a newer version, and judges nothing else. */
  void refuseNewer() throws IOException {
    try (DiskFile file = disk.open(path, false)) {
      ByteBuffer start = ByteBuffer.allocate((int) Math.min(file.size(), MAX_FIRST_LINE_BYTES));
      file.readFully(start, 0); // A file that became shorter has no first line.
      refuseNewer(firstLine(StandardCharsets.UTF_8.decode(start.flip()).toString()));
    }
  }

  Map<String, String> read() throws IOException {
    String text = text();
    String first = firstLine(text);
    // Before the CRC: a newer version may check its files in another way.
    refuseNewer(first);
    int crcStart = text.lastIndexOf("\n" + CRC) + 1;
    if (!first.equals(FORMAT + format) || crcStart == 0) {
      throw damaged("it does not begin with " + FORMAT + format + " and end with " + CRC);
    }
    String body = text.substring(0, crcStart);
    String stored = text.substring(crcStart + CRC.length()).trim();
    if (!stored.equals(crc(body))) {
      throw damaged("its crc32c is " + crc(body) + ", the stored one " + stored);
    }
    Map<String, String> values = new LinkedHashMap<>();
    body.lines()
        .skip(1)
        .forEach(
            line -> {
              int equals = line.indexOf('=');
              values.put(line.substring(0, Math.max(equals, 0)), line.substring(equals + 1));
            });
    return values;
  }

  private static String firstLine(String text) {
    int end = text.indexOf('\n');
    return end < 0 ? text : text.substring(0, end);
  }

  private void refuseNewer(String first) {
    if (first.startsWith(FORMAT) && isNewer(first.substring(FORMAT.length()))) {
      throw new DataDirectoryException(
          path
              + " has format "
              + first.substring(FORMAT.length())
              + ", written by a newer version; this one knows up to "
              + format
              + ". Nothing was changed; start that version instead");
    }
  }

  private String text() throws IOException {
    try (DiskFile file = disk.open(path, false)) {
      long size = file.size();
      if (size > MAX_BYTES) {
        throw damaged("it has " + size + " bytes, the limit is " + MAX_BYTES);
      }
      ByteBuffer bytes = ByteBuffer.allocate((int) size);
      if (!file.readFully(bytes, 0)) {
        throw damaged("it ends before its size of " + size + " bytes");
      }
      bytes.flip();
      return StandardCharsets.UTF_8.decode(bytes).toString();
    }
  }

  private boolean isNewer(String stored) {
    try {
      return Integer.parseInt(stored.trim()) > format;
    } catch (NumberFormatException notANumber) {
      return false;
    }
  }

  private DataDirectoryException damaged(String why) {
    return new DataDirectoryException(
        path + " is damaged: " + why + ". Nothing was changed; restore it from a copy");
  }

  private static String crc(String body) {
    CRC32C crc = new CRC32C();
    crc.update(body.getBytes(StandardCharsets.UTF_8));
    return String.format("%08x", crc.getValue());
  }
}
