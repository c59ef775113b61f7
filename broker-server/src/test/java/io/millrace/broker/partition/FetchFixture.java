package io.millrace.broker.partition;

import io.millrace.broker.log.DirectDisk;
import io.millrace.broker.log.Disk;
import io.millrace.broker.log.FetchSlice;
import io.millrace.broker.log.FileRegion;
import io.millrace.broker.log.SimulatedDisk;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.FetchPartition;
import io.millrace.protocol.message.FetchRequest;
import io.millrace.protocol.message.FetchResult;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** Partitions, a coordinator that reads on the calling thread, and a timer that the test moves. */
final class FetchFixture implements AutoCloseable {

  /** One fetch and what became of it. */
  static final class Fetch {
    FetchHandle handle;
    FetchAnswer answer;

    boolean done() {
      return answer != null;
    }

    FetchResult result(int i) {
      return answer.header().getResults(i);
    }

    ErrorCode code(int i) {
      return result(i).hasError() ? ErrorCode.of(result(i).getError().getCode()) : ErrorCode.NONE;
    }

    ErrorCode requestCode() {
      return answer.header().getContext().hasError()
          ? ErrorCode.of(answer.header().getContext().getError().getCode())
          : ErrorCode.NONE;
    }
  }

  final ManualTimer timer = new ManualTimer();
  final PartitionCounters counters = new PartitionCounters();
  final FetchBudget budget;
  final FetchCoordinator coordinator;
  final List<PartitionFixture> partitions = new ArrayList<>();

  FetchFixture(Path directory, int count) {
    this(directory, count, new FetchBudget(1 << 26, 100));
  }

  /** With logs in memory. */
  FetchFixture(int count) {
    this(new SimulatedDisk(1), Path.of("/data"), count, new FetchBudget(1 << 26, 100));
  }

  FetchFixture(Path directory, int count, FetchBudget budget) {
    this(new DirectDisk(), directory, count, budget);
  }

  private FetchFixture(Disk disk, Path directory, int count, FetchBudget budget) {
    this.budget = budget;
    coordinator =
        new FetchCoordinator(
            new FetchCoordinator.Context(
                timer,
                Runnable::run,
                budget,
                new FetchLimits(16, 1 << 20, 60_000),
                counters,
                SliceInspector.EVERY_HEADER));
    for (int i = 0; i < count; i++) {
      PartitionFixture partition = new PartitionFixture(disk, directory, i);
      partition.raft.lead(1);
      partitions.add(partition);
    }
  }

  PartitionFixture get(int i) {
    return partitions.get(i);
  }

  private Partition find(UUID topicId, int partition) {
    return topicId.equals(PartitionFixture.TOPIC) && partition < partitions.size()
        ? partitions.get(partition).partition
        : null;
  }

  /** A request that waits long and has much credit; tests change what they are about. */
  static FetchRequest.Builder request(FetchPartition.Builder... wanted) {
    FetchRequest.Builder request =
        FetchRequest.newBuilder()
            .setMinBytes(1)
            .setMaxWaitMillis(500)
            .setMaxBytes(1 << 20)
            .setPrefetchRecords(1_000_000);
    for (FetchPartition.Builder each : wanted) {
      request.addPartitions(each);
    }
    return request;
  }

  Fetch fetch(FetchRequest.Builder request) {
    Fetch fetch = new Fetch();
    fetch.handle =
        coordinator.fetch(
            request.build(),
            this::find,
            answer -> {
              if (fetch.answer != null) {
                throw new AssertionError("answered twice");
              }
              fetch.answer = answer;
            });
    return fetch;
  }

  Fetch fetch(FetchPartition.Builder... wanted) {
    return fetch(request(wanted));
  }

  /** Base offsets of the batches in a slice; fails on a control batch or a cut batch. */
  static List<Long> baseOffsets(FetchSlice slice) {
    List<Long> offsets = new ArrayList<>();
    long expected = slice.baseOffset();
    for (FileRegion region : slice.regions()) {
      ByteBuffer bytes = ByteBuffer.allocate(region.length());
      try {
        while (bytes.hasRemaining()
            && region.file().read(bytes, region.position() + bytes.position()) > 0) {
          // Reads on.
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      for (int at = 0; at < bytes.capacity(); at += (int) BatchHeader.sizeInBytes(bytes, at)) {
        if (BatchHeader.isControl(bytes, at) || !BatchHeader.isIntact(bytes, at)) {
          throw new AssertionError("control or damaged batch at " + at + " of " + region);
        }
        if (BatchHeader.baseOffset(bytes, at) != expected) {
          throw new AssertionError(
              "batch at offset " + BatchHeader.baseOffset(bytes, at) + ", expected " + expected);
        }
        offsets.add(expected);
        expected = BatchHeader.nextOffset(bytes, at);
      }
    }
    if (expected != slice.nextOffset()) {
      throw new AssertionError("slice ends at " + expected + ", not " + slice.nextOffset());
    }
    return offsets;
  }

  @Override
  public void close() {
    coordinator.close();
    partitions.forEach(PartitionFixture::close);
    for (PartitionFixture partition : partitions) {
      if (!partition.faults.isEmpty()) {
        throw new AssertionError(partition.id + ": " + partition.faults);
      }
    }
  }
}
