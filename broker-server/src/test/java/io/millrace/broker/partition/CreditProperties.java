package io.millrace.broker.partition;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;
import net.jqwik.api.constraints.IntRange;

/** CreditNeverExceeded, and its other half: credit is never the reason to stand still. */
class CreditProperties {

  @Provide
  Arbitrary<List<Integer>> steps() {
    return Arbitraries.integers()
        .between(0, 999)
        .withDistribution(RandomDistribution.uniform())
        .list()
        .ofMaxSize(60);
  }

  @Property(tries = 250)
  void recordsHandedOverNeverExceedThePrefetchAndAllArrive(
      @ForAll("steps") List<Integer> steps,
      @ForAll @IntRange(min = 1, max = 3) int partitions,
      @ForAll @IntRange(min = 1, max = 40) int prefetch,
      @ForAll @IntRange(max = 20) int cap) {
    try (FetchFixture fixture = new FetchFixture(partitions)) {
      ReaderModel reader = new ReaderModel(fixture, prefetch, cap);
      for (int step : steps) {
        step(step, fixture, reader);
        reader.handOver();
      }
      // Every round with data left makes progress.
      for (long left = reader.recordsLeft(); left > 0; left = reader.recordsLeft()) {
        reader.fetch(1 << 20);
        reader.handOver();
        reader.processAll();
        assertThat(reader.recordsLeft()).as("records left").isLessThan(left);
      }
      assertThat(reader.atEnd()).isTrue();
      assertThat(fixture.budget.responseBytes()).isZero();
      assertThat(fixture.counters.value(PartitionCounters.Counter.CONTROL_BATCHES_SERVED)).isZero();
    }
  }

  private static void step(int step, FetchFixture fixture, ReaderModel reader) {
    int value = step / 10;
    PartitionFixture partition = fixture.get(value % fixture.partitions.size());
    switch (step % 10) {
      // From one record to several times the prefetch.
      case 0, 1 -> partition.store(1 + value % 7);
      case 2 -> partition.store(1 + value);
      case 3 ->
          partition.raft.commitForeign(
              ControlBatch.encode(ControlType.NO_OP.code(), new byte[value]));
      case 4, 5, 6 -> reader.fetch(value % 5 == 0 ? 100 : 1 << 20);
      default -> reader.process(value, step % 3 == 0 ? 1 : value);
    }
  }
}
