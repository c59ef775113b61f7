package io.millrace.broker.log;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.BatchReader;
import io.millrace.protocol.batch.BatchWriter;
import io.millrace.protocol.batch.Compression;
import io.millrace.protocol.batch.Crc32c;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is on disk: bytes that must never change, and Kafka's own reader on our files. */
class SegmentFormatCompatTest {

  @TempDir Path directory;

  private static String hex(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.remaining()];
    buffer.duplicate().get(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  @Test
  void segmentHeadOfVersion1() throws Exception {
    LogIdentity identity =
        new LogIdentity("cluster", new UUID(0x0102030405060708L, 0x090a0b0c0d0e0f10L), 5);
    SegmentHead head = new SegmentHead(identity, new SegmentName(258, 772), 1234567890123L);
    assertThat(hex(head.encode()))
        .isEqualTo(
            "000000000000010200000076ffffffff02839b8af70020ffffffffffffffffffffffffffffffffff"
                + "ffffffffffffffffffffffffffffffffff00000000860100000008000003e9720001000000000005"
                + "0102030405060708090a0b0c0d0e0f10000000000000030400000000000001020000011f71fb04cb"
                + "0007636c757374657200");
    assertThat(SegmentHead.decode(head.encode())).isEqualTo(head);
  }

  @Test
  void segmentFootOfVersion1() throws Exception {
    EpochTable epochs = EpochTable.EMPTY.with(3, 772, 258).with(9, 800, 270);
    SegmentFoot foot =
        new SegmentFoot(1000, 515, 1234567890123L, 111, 222, 333, 0x01020304, epochs);
    assertThat(hex(foot.encode()))
        .isEqualTo(
            "0000000000000203000000b2ffffffff027076ac2f0020ffffffffffffffffffffffffffffffffff"
                + "ffffffffffffffffffffffffffffffffff00000000fe0100000008000003eae80100010000010203"
                + "0400000000000003e800000000000002030000011f71fb04cb000000000000006f00000000000000"
                + "de000000000000014d00000002000000000000000300000000000003040000000000000102000000"
                + "00000000090000000000000320000000000000010e000000be4d52465400");
    assertThat(SegmentFoot.decode(foot.encode())).isEqualTo(foot);
  }

  @Test
  void indexEntryOfVersion1() {
    IndexEntry entry = new IndexEntry(1, 2, 3, 4, 5, 6, 7, 8, 9, IndexEntry.CONTROL);
    ByteBuffer bytes = ByteBuffer.allocate(IndexEntry.BYTES);
    entry.write(bytes);
    assertThat(hex(bytes.flip()))
        .isEqualTo(
            "00000000000000010000000000000002000000000000000300000000000000040000000000000005"
                + "00000006000000070000000800000009020000000ff7c5d3");
    assertThat(IndexEntry.isIntact(bytes, 0)).isTrue();
    assertThat(IndexEntry.read(bytes, 0)).isEqualTo(entry);
    IndexMark mark = new IndexMark(1, 2, 3, 4, true);
    assertThat(hex(mark.encode()))
        .isEqualTo("000000000000000100000000000000020000000000000003000000040000000110ed7413");
    assertThat(IndexMark.decode(mark.encode(), 0)).isEqualTo(mark);
  }

  /** The chain of the footer, computed from the bytes of the file alone. */
  @Test
  void crcChainCoversTheHeadersAsStored() throws IOException {
    LogConfig config = new LogConfig(FsyncPolicy.OS, 0, 1024);
    DirectDisk disk = new DirectDisk();
    PartitionLog log =
        PartitionLog.open(
            disk, directory, LogScript.IDENTITY, config, RecoveryHint.NONE, LogListener.NONE);
    for (int i = 1; i <= 5; i++) {
      ByteBuffer batch = i == 2 ? TestBatches.control(9, i) : TestBatches.records(2, 300, i, i);
      log.append(List.of(new LogEntry(i, i, batch)));
    }
    log.close();
    try (DiskFile file = disk.open(new SegmentName(0, 1).log(directory), false)) {
      SegmentFoot.At end = SegmentFoot.find(file, file.size());
      ByteBuffer all = ByteBuffer.allocate(end.position());
      file.readFully(all, 0);
      int chain = 0;
      for (int at = (int) BatchHeader.sizeInBytes(all, 0); at < all.capacity(); ) {
        ByteBuffer part = ByteBuffer.allocate(65).putInt(0, chain).put(4, all, at, 61);
        chain = Crc32c.of(part, 0, 65);
        at += (int) BatchHeader.sizeInBytes(all, at);
      }
      assertThat(end.foot().chain()).isEqualTo(chain);
      assertThat(end.foot().lastIndex()).isEqualTo(3);
    }
  }

  /** Kafka's file reader, which its DumpLogSegments uses, on whole segment files. */
  @Test
  void kafkaReadsTheSegments() throws IOException {
    List<String> written = new ArrayList<>();
    LogConfig config = new LogConfig(FsyncPolicy.OS, 0, 20_000);
    try (PartitionLog log =
        PartitionLog.open(
            new DirectDisk(),
            directory,
            LogScript.IDENTITY,
            config,
            RecoveryHint.NONE,
            LogListener.NONE)) {
      for (int i = 0; i < 200; i++) {
        ByteBuffer batch = TestBatches.control(20, i);
        if (i % 4 != 0) {
          Compression codec = Compression.values()[i % Compression.values().length];
          BatchWriter writer = new BatchWriter(codec, 10_000);
          for (int r = 0; r <= i % 5; r++) {
            String value = "record " + i + "." + r + " ".repeat(i);
            writer.tryAppend(1000 + i, key(r), value.getBytes(StandardCharsets.UTF_8), List.of());
            written.add(written.size() + " " + value);
          }
          batch = writer.build(-1, (short) -1, -1);
        }
        log.append(List.of(new LogEntry(i + 1, 1 + i / 50, batch)));
      }
      assertThat(log.segmentCount()).isGreaterThan(1);
    }
    List<String> read = new ArrayList<>();
    int footers = 0;
    for (Path file : new DirectDisk().list(directory)) {
      if (!SegmentName.isLog(file)) {
        continue;
      }
      try (FileRecords records = FileRecords.open(file.toFile(), false)) {
        for (RecordBatch batch : records.batches()) {
          batch.ensureValid();
          if (batch.isControlBatch()) {
            assertThat(batch.lastOffset()).isEqualTo(batch.baseOffset() - 1);
            assertThat(batch.iterator().hasNext()).isFalse();
            footers += batch.partitionLeaderEpoch() == SegmentHead.NO_TERM ? 1 : 0;
            continue;
          }
          assertThat(batch.partitionLeaderEpoch()).isBetween(1, 4);
          for (Record record : batch) {
            assertThat(record.offset()).isEqualTo(read.size());
            byte[] value = new byte[record.valueSize()];
            record.value().get(value);
            read.add(record.offset() + " " + new String(value, StandardCharsets.UTF_8));
          }
        }
        assertThat(records.sizeInBytes()).isEqualTo((int) file.toFile().length());
      }
    }
    assertThat(read).isEqualTo(written);
    assertThat(footers).as("heads and footers").isGreaterThan(2);
  }

  private static byte[] key(int number) {
    return number == 0 ? null : ("key" + number).getBytes(StandardCharsets.UTF_8);
  }

  /** Ours reads the records that Kafka's reader saw. */
  @Test
  void weReadWhatWeStored() throws Exception {
    LogConfig config = new LogConfig(FsyncPolicy.OS, 0, 20_000);
    try (PartitionLog log =
        PartitionLog.open(
            new DirectDisk(),
            directory,
            LogScript.IDENTITY,
            config,
            RecoveryHint.NONE,
            LogListener.NONE)) {
      BatchWriter writer = new BatchWriter(Compression.ZSTD, 10_000);
      writer.tryAppend(5, key(1), key(2), List.of());
      writer.tryAppend(6, key(1), key(3), List.of());
      log.append(List.of(new LogEntry(1, 1, TestBatches.control(1, 1))));
      log.append(List.of(new LogEntry(2, 1, writer.build(7, (short) 1, 0))));
      var records = BatchReader.records(log.read(2), 1 << 20);
      assertThat(records).extracting(r -> r.offset()).containsExactly(0L, 1L);
      assertThat(records.get(1).value()).isEqualTo(key(3));
    }
  }
}
