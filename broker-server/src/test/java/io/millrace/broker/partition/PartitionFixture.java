package io.millrace.broker.partition;

import io.millrace.broker.log.DirectDisk;
import io.millrace.broker.log.Disk;
import io.millrace.broker.log.FsyncPolicy;
import io.millrace.broker.log.LogConfig;
import io.millrace.broker.log.LogIdentity;
import io.millrace.broker.log.LogListener;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.log.RecoveryHint;
import io.millrace.broker.state.BatchId;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.FetchPartition;
import io.millrace.protocol.message.ListOffsetsPartition;
import io.millrace.protocol.message.ListOffsetsResult;
import io.millrace.protocol.message.OffsetKind;
import io.millrace.protocol.message.ProduceResult;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/** A partition over a {@link FakeRaft} and a real log in a directory. */
final class PartitionFixture implements AutoCloseable {

  static final UUID TOPIC = new UUID(1, 2);

  final TestClock clock = new TestClock();
  final FakeRaft raft = new FakeRaft();
  final PartitionCounters counters = new PartitionCounters();
  final List<String> faults = new ArrayList<>();
  final AppendBudget budget = new AppendBudget(1 << 28);
  final PartitionId id;
  final PartitionLog log;
  final Partition partition;

  PartitionFixture(Path directory) {
    this(directory, 0);
  }

  PartitionFixture(Path directory, int number) {
    this(new DirectDisk(), directory, number);
  }

  PartitionFixture(Disk disk, Path directory, int number) {
    id = new PartitionId(TOPIC, number, "orders");
    log = open(disk, directory.resolve("log-" + number), number);
    raft.log = log;
    partition = newPartition();
    raft.attach(partition);
  }

  private static PartitionLog open(Disk disk, Path directory, int number) {
    try {
      return PartitionLog.open(
          disk,
          directory,
          new LogIdentity("test", TOPIC, number),
          new LogConfig(FsyncPolicy.OS, 0, 1 << 20),
          RecoveryHint.NONE,
          LogListener.NONE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Another replica's state over the same log and group. */
  Partition newPartition() {
    return new Partition(
        id,
        new PartitionSettings(
            1 << 20,
            io.millrace.protocol.message.FsyncPolicy.FSYNC_ALWAYS,
            1 << 28,
            100_000,
            3_600_000,
            1000),
        new PartitionEnvironment(clock, budget, counters, faults::add),
        raft,
        log);
  }

  CompletableFuture<ProduceResult> produce(ByteBuffer batch) {
    CompletableFuture<ProduceResult> result = new CompletableFuture<>();
    partition.produce(Batches.request(id, batch).build(), batch, result::complete);
    return result;
  }

  CompletableFuture<ProduceResult> produce(BatchId batch) {
    return produce(Batches.of(batch, 20));
  }

  /** Appends and commits one batch of a producer without an id; returns its base offset. */
  long store(int records, int valueBytes) {
    CompletableFuture<ProduceResult> result = produce(Batches.plain(records, valueBytes));
    raft.commitAll();
    return result.join().getBaseOffset();
  }

  long store(int records) {
    return store(records, 20);
  }

  FetchPartition.Builder from(long position) {
    return FetchPartition.newBuilder()
        .setTopicId(id.topicIdBytes())
        .setPartition(id.partition())
        .setPosition(position);
  }

  ListOffsetsResult list(OffsetKind kind, long timestamp) {
    return partition.listOffsets(
        ListOffsetsPartition.newBuilder()
            .setTopicId(id.topicIdBytes())
            .setPartition(id.partition())
            .setKind(kind)
            .setTimestamp(timestamp)
            .build());
  }

  static ErrorCode code(ListOffsetsResult result) {
    return result.hasError() ? ErrorCode.of(result.getError().getCode()) : ErrorCode.NONE;
  }

  @Override
  public void close() {
    partition.shutDown();
    try {
      log.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
