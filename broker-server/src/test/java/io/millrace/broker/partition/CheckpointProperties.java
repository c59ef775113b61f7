package io.millrace.broker.partition;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.millrace.broker.log.SimulatedDisk;
import io.millrace.broker.state.BatchId;
import io.millrace.broker.state.Sequences;
import io.millrace.broker.state.message.LogStartEntry;
import io.millrace.broker.state.message.ProducerExpireEntry;
import io.millrace.broker.state.message.TimeEntry;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;
import net.jqwik.api.constraints.IntRange;

/** A checkpoint and the log behind it are worth as much as the whole log. */
class CheckpointProperties {

  @Provide
  Arbitrary<List<Integer>> entries() {
    return Arbitraries.integers()
        .between(0, 9999)
        .withDistribution(RandomDistribution.uniform())
        .list()
        .ofMinSize(1)
        .ofMaxSize(80);
  }

  @Property(tries = 300)
  void stateFromImageAndTailEqualsStateFromTheWholeLog(
      @ForAll("entries") List<Integer> script, @ForAll @IntRange(max = 99) int cutPercent) {
    List<ByteBuffer> log = log(script);
    int cut = log.size() * cutPercent / 100;
    try (PartitionFixture fixture =
        new PartitionFixture(new SimulatedDisk(1), Path.of("/data"), 0)) {
      Partition whole = fixture.newPartition();
      ByteString image = null;
      for (int i = 0; i < log.size(); i++) {
        if (i == cut) {
          image = whole.checkpoint();
        }
        apply(whole, i, log);
      }
      Partition restored = fixture.newPartition();
      restored.restore(image, cut, 1);
      assertThat(restored.checkpoint()).as("an image of the image").isEqualTo(image);
      for (int i = cut; i < log.size(); i++) {
        apply(restored, i, log);
      }
      assertThat(restored.checkpoint()).isEqualTo(whole.checkpoint());
      assertThat(restored.committedEnd()).isEqualTo(whole.committedEnd());
      assertThat(restored.logStart()).isEqualTo(whole.logStart());
    }
  }

  private static void apply(Partition partition, int position, List<ByteBuffer> log) {
    partition.apply(position + 1, 1 + position / 20, log.get(position).duplicate(), null);
  }

  private static List<ByteBuffer> log(List<Integer> script) {
    List<ByteBuffer> log = new ArrayList<>();
    long time = 1000;
    long end = 0;
    for (int step : script) {
      int value = step / 10;
      switch (step % 10) {
        case 0 -> {
          time += value - 100;
          log.add(
              ControlBatch.encode(
                  ControlType.TIME, TimeEntry.newBuilder().setLogTimeMillis(time).build()));
        }
        case 1 ->
            log.add(
                ControlBatch.encode(
                    ControlType.PRODUCER_EXPIRE,
                    ProducerExpireEntry.newBuilder()
                        .setIdleSinceBeforeMillis(time - value)
                        .build()));
        case 2 ->
            log.add(
                ControlBatch.encode(
                    ControlType.LOG_START,
                    LogStartEntry.newBuilder().setLogStart(end * (value % 10) / 10).build()));
        case 3 -> log.add(ControlBatch.encode(ControlType.NO_OP.code(), new byte[0]));
        case 4 -> {
          log.add(Batches.plain(1 + value % 3, 1));
          end += 1 + value % 3;
        }
        default -> {
          int records = 1 + value % 4;
          int first = Sequences.plus(Integer.MAX_VALUE - 20, value * 7);
          log.add(
              Batches.of(
                  new BatchId(
                      value % 6,
                      (short) (value % 5 / 4),
                      first,
                      Sequences.plus(first, records - 1)),
                  1));
          end += records;
        }
      }
    }
    return log;
  }
}
