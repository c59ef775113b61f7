package io.millrace.broker.state;

import static org.assertj.core.api.Assertions.assertThat;

import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;

class SequencesProperties {

  @Property
  void plusIsKafkasIncrement(
      @ForAll @IntRange(min = 0) int sequence, @ForAll @IntRange(min = 0) int count) {
    assertThat(Sequences.plus(sequence, count))
        .isEqualTo(DefaultRecordBatch.incrementSequence(sequence, count));
  }

  @Property
  void distanceUndoesPlus(
      @ForAll @IntRange(min = 0) int sequence,
      @ForAll @IntRange(min = 0, max = (1 << 30) - 1) int count) {
    int later = Sequences.plus(sequence, count);
    assertThat(Sequences.distance(sequence, later)).isEqualTo(count);
    assertThat(Sequences.distance(later, sequence)).isEqualTo(-count);
  }

  @Example
  void sequencesWrapToZero() {
    assertThat(Sequences.next(Integer.MAX_VALUE)).isZero();
    assertThat(Sequences.distance(Integer.MAX_VALUE, 0)).isEqualTo(1);
    assertThat(Sequences.distance(0, Integer.MAX_VALUE)).isEqualTo(-1);
  }
}
