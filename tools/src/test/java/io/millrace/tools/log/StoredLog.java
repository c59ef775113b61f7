package io.millrace.tools.log;

import io.millrace.broker.ControlContents;
import io.millrace.broker.log.DirectDisk;
import io.millrace.broker.log.FsyncPolicy;
import io.millrace.broker.log.LogConfig;
import io.millrace.broker.log.LogEntry;
import io.millrace.broker.log.LogIdentity;
import io.millrace.broker.log.LogListener;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.log.RecoveryHint;
import io.millrace.broker.log.SyncMark;
import io.millrace.broker.raft.message.GroupConfiguration;
import io.millrace.broker.state.message.TimeEntry;
import io.millrace.protocol.batch.BatchWriter;
import io.millrace.protocol.batch.Compression;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.batch.RecordHeader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;

/** Writes logs as a broker does, with contents that a test can name. */
final class StoredLog implements AutoCloseable, LogListener {
  static final UUID TOPIC = UUID.fromString("6ba7b810-9dad-11d1-80b4-00c04fd430c8");
  static final long TIME = 1_800_000_000_000L;

  private final PartitionLog log;

  private StoredLog(Path directory, long segmentBytes) throws IOException {
    log =
        PartitionLog.open(
            new DirectDisk(),
            directory,
            new LogIdentity("shop", TOPIC, 0),
            new LogConfig(FsyncPolicy.ALWAYS, 0, segmentBytes),
            RecoveryHint.NONE,
            this);
  }

  static StoredLog open(Path directory, long segmentBytes) throws IOException {
    return new StoredLog(directory, segmentBytes);
  }

  /** A configuration, a log time, two records, and one compressed batch. */
  static void writeTiny(Path directory) throws IOException {
    try (StoredLog log = open(directory, LogConfig.DEFAULT_SEGMENT_BYTES)) {
      log.append(1, ControlBatch.encode(ControlType.CONF, members()));
      log.append(
          1,
          ControlBatch.encode(
              ControlType.TIME, TimeEntry.newBuilder().setLogTimeMillis(TIME).build()));
      BatchWriter plain = new BatchWriter(Compression.NONE, 1000);
      plain.tryAppend(
          TIME, bytes("anna"), bytes("bread"), List.of(new RecordHeader("shop", bytes("7"))));
      plain.tryAppend(TIME + 5, null, bytes("salt\n"), List.of());
      log.append(1, plain.build(1001, (short) 0, 0));
      BatchWriter packed = new BatchWriter(Compression.ZSTD, 10_000);
      packed.tryAppend(TIME + 9, bytes("bert"), bytes("milk".repeat(50)), List.of());
      log.append(2, packed.build(-1, (short) -1, -1));
    }
  }

  private static GroupConfiguration members() {
    return GroupConfiguration.newBuilder().addPeers("b1:0:0").addPeers("b2:0:0").build();
  }

  /** Batches of one record each, in several segments if they are small. */
  static void writeMany(Path directory, int count, long segmentBytes) throws IOException {
    try (StoredLog log = open(directory, segmentBytes)) {
      for (int i = 0; i < count; i++) {
        BatchWriter writer = new BatchWriter(Compression.NONE, 1000);
        writer.tryAppend(TIME + i, null, bytes("value " + i + " ".repeat(100)), List.of());
        log.append(1 + i / 10, writer.build(-1, (short) -1, -1));
      }
    }
  }

  private void append(long term, ByteBuffer batch) throws IOException {
    log.append(List.of(new LogEntry(log.lastIndex() + 1, term, batch)));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public void failed(String reason, Throwable cause) {
    throw new AssertionError(reason, cause);
  }

  @Override
  public void lowerDurableMark(SyncMark mark) {}

  @Override
  public long logTimeOf(ByteBuffer timeBatch) {
    return ControlContents.logTimeOf(timeBatch);
  }

  @Override
  public void close() throws IOException {
    log.close();
  }
}
