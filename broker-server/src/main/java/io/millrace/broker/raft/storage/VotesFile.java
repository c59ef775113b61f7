package io.millrace.broker.raft.storage;

import com.google.protobuf.InvalidProtocolBufferException;
import io.millrace.broker.log.Disk;
import io.millrace.broker.log.DiskFile;
import io.millrace.broker.raft.message.GroupRecord;
import io.millrace.protocol.batch.Crc32c;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * One of the two copies of the votes.
 *
 * <pre>
 * offset size
 * 0      4    magic "MRVJ"
 * 4      2    format version, 1
 * 6      2    zero
 * 8      ...  records, then zeros to the end of the pre-allocated file
 *
 * record
 * 0      4    length of the payload, never 0
 * 4      4    CRC-32C of the payload
 * 8      n    GroupRecord
 * </pre>
 *
 * <p>Durability: {@link #append} returns after fdatasync. The file is written full of zeros when it
 * is made, so that votes need no space on a full disk.
 */
final class VotesFile implements AutoCloseable {

  static final int MAGIC = 0x4D52564A;
  static final short VERSION = 1;
  static final int FILE_HEADER_BYTES = 8;
  static final int RECORD_HEADER_BYTES = 8;
  static final int PREALLOCATED_BYTES = 1024 * 1024;
  private static final int MAX_RECORD_BYTES = 64 * 1024;

  /**
   * What a read found.
   *
   * @param records the valid records from the start on
   * @param end position after the last of them
   * @param clean false: something that is no valid record follows, torn by a crash or damaged
   * @param readable false: the file is missing, or its header is not ours
   */
  record Content(List<GroupRecord> records, long end, boolean clean, boolean readable) {
    static final Content UNREADABLE = new Content(List.of(), 0, false, false);

    long lastSequence() {
      return records.isEmpty() ? 0 : records.get(records.size() - 1).getSequence();
    }
  }

  private final DiskFile file;
  private long end;
  private long size;

  private VotesFile(DiskFile file, long end, long size) {
    this.file = file;
    this.end = end;
    this.size = size;
  }

  /** Makes a file with these records, on disk when this returns except for its directory entry. */
  static VotesFile create(Disk disk, Path path, List<GroupRecord> records) throws IOException {
    ByteBuffer body = encode(records);
    long size = Math.max(PREALLOCATED_BYTES, 4L * body.remaining());
    DiskFile file = disk.open(path, true);
    try {
      file.truncate(0);
      ByteBuffer zeros = ByteBuffer.allocate(64 * 1024);
      for (long at = 0; at < size; at += zeros.capacity()) {
        zeros.clear().limit((int) Math.min(zeros.capacity(), size - at));
        file.write(zeros, at);
      }
      ByteBuffer header = ByteBuffer.allocate(FILE_HEADER_BYTES);
      header.putInt(MAGIC).putShort(VERSION).putShort((short) 0).flip();
      file.write(header, 0);
      long end = FILE_HEADER_BYTES + (long) body.remaining();
      file.write(body, FILE_HEADER_BYTES);
      file.sync();
      return new VotesFile(file, end, size);
    } catch (IOException | RuntimeException e) {
      try (file) {
        throw e;
      }
    }
  }

  /** Opens a file that {@link #read} found whole, to append after its last record. */
  static VotesFile open(Disk disk, Path path, Content content) throws IOException {
    DiskFile file = disk.open(path, false);
    return new VotesFile(file, content.end(), file.size());
  }

  /**
   * Reads a file without changing it.
   *
   * @throws IOException also if the file was made by a newer version
   */
  static Content read(Disk disk, Path path) throws IOException {
    if (!disk.exists(path)) {
      return Content.UNREADABLE;
    }
    try (DiskFile file = disk.open(path, false)) {
      ByteBuffer all = ByteBuffer.allocate(Math.toIntExact(file.size()));
      file.readFully(all, 0);
      all.flip();
      return parse(path, all);
    }
  }

  private static Content parse(Path path, ByteBuffer all) throws IOException {
    if (all.remaining() < FILE_HEADER_BYTES || all.getInt(0) != MAGIC) {
      return Content.UNREADABLE;
    }
    if (all.getShort(4) != VERSION) {
      throw new IOException(
          path
              + " has format version "
              + all.getShort(4)
              + "; this broker knows version "
              + VERSION
              + ": start it with the newer broker that wrote it");
    }
    List<GroupRecord> records = new ArrayList<>();
    int at = FILE_HEADER_BYTES;
    while (at + RECORD_HEADER_BYTES <= all.limit()) {
      GroupRecord record = recordAt(all, at);
      if (record == null
          || (!records.isEmpty()
              && record.getSequence() != records.get(records.size() - 1).getSequence() + 1)) {
        break;
      }
      records.add(record);
      at += RECORD_HEADER_BYTES + all.getInt(at);
    }
    return new Content(records, at, onlyZeros(all, at), true);
  }

  private static GroupRecord recordAt(ByteBuffer all, int at) {
    int length = all.getInt(at);
    if (length <= 0
        || length > MAX_RECORD_BYTES
        || at + RECORD_HEADER_BYTES + length > all.limit()) {
      return null;
    }
    ByteBuffer payload = all.slice(at + RECORD_HEADER_BYTES, length);
    if (crc(payload) != all.getInt(at + 4)) {
      return null;
    }
    try {
      return GroupRecord.parseFrom(payload);
    } catch (InvalidProtocolBufferException e) {
      return null; // Counts as damage: the caller compares the two copies.
    }
  }

  private static boolean onlyZeros(ByteBuffer all, int from) {
    for (int i = from; i < all.limit(); i++) {
      if (all.get(i) != 0) {
        return false;
      }
    }
    return true;
  }

  static ByteBuffer encode(List<GroupRecord> records) {
    int bytes = 0;
    for (GroupRecord record : records) {
      bytes += RECORD_HEADER_BYTES + record.getSerializedSize();
    }
    ByteBuffer out = ByteBuffer.allocate(bytes);
    for (GroupRecord record : records) {
      byte[] payload = record.toByteArray();
      out.putInt(payload.length).putInt(crc(ByteBuffer.wrap(payload))).put(payload);
    }
    return out.flip();
  }

  private static int crc(ByteBuffer payload) {
    return Crc32c.of(payload, payload.position(), payload.remaining());
  }

  boolean hasRoomFor(int bytes) {
    return end + bytes <= size;
  }

  /** Appends encoded records and returns after fdatasync. */
  void append(ByteBuffer encoded) throws IOException {
    int bytes = encoded.remaining();
    file.write(encoded.duplicate(), end);
    file.sync();
    end += bytes;
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
