package io.millrace.protocol.batch;

import static io.millrace.protocol.batch.TestBatches.MIB;
import static io.millrace.protocol.batch.TestBatches.utf8;
import static io.millrace.protocol.batch.TestBatches.views;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.protocol.batch.TestBatches.Input;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class BatchWriterTest {

  @Test
  void emptyWriterHasOnlyTheHeader() {
    BatchWriter writer = new BatchWriter(Compression.LZ4, 1000);
    assertThat(writer.recordCount()).isZero();
    assertThat(writer.estimatedBytes()).isEqualTo(61);
    assertThat(writer.maxTimestamp()).isEqualTo(-1);
    assertThat(writer.compression()).isEqualTo(Compression.LZ4);
    assertThatThrownBy(() -> writer.build(-1, (short) -1, -1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("a batch needs at least one record");
  }

  @Test
  void recordThatFillsTheBatchExactlyIsTaken() {
    // 9 bytes: length, attributes, two deltas, key length, value length, 2 bytes, headers.
    BatchWriter writer = new BatchWriter(Compression.NONE, 61 + 18);
    byte[] value = {1, 2};
    assertThat(writer.tryAppend(5, null, value, List.of())).isTrue();
    assertThat(writer.tryAppend(5, null, value, List.of())).isTrue();
    assertThat(writer.tryAppend(5, null, null, List.of())).isFalse();
    assertThat(writer.recordCount()).isEqualTo(2);
    assertThat(writer.build(-1, (short) -1, -1).remaining()).isEqualTo(79);
  }

  @Test
  void firstRecordIsTakenHoweverLarge() throws InvalidBatchException {
    BatchWriter writer = new BatchWriter(Compression.NONE, 100);
    List<Input> inputs = List.of(new Input(5, null, new byte[MIB], List.of()));
    assertThat(writer.tryAppend(5, null, inputs.get(0).value(), List.of())).isTrue();
    assertThat(writer.tryAppend(5, null, null, List.of())).isFalse();
    ByteBuffer batch = writer.build(-1, (short) -1, -1);
    assertThat(batch.remaining())
        .isLessThanOrEqualTo(
            (int) BatchWriter.singleRecordBatchBytes(null, inputs.get(0).value(), List.of()));
    assertThat(BatchReader.records(batch, 0)).isEqualTo(views(0, inputs));
  }

  @Test
  void arrayGrowsWithTheRecordsAndNotBeyondTheLimit() {
    BatchWriter writer = new BatchWriter(Compression.NONE, 131_072);
    assertThat(writer.bufferBytes()).isEqualTo(4096);
    byte[] value = new byte[1000];
    while (writer.tryAppend(0, null, value, List.of())) {
      assertThat(writer.bufferBytes()).isLessThanOrEqualTo(131_072);
    }
    assertThat(writer.estimatedBytes()).isGreaterThan(130_000);
    assertThat(writer.bufferBytes()).isEqualTo(131_072);
    ByteBuffer batch = writer.build(-1, (short) -1, -1);
    assertThat(batch.array()).hasSize(131_072);
    assertThat(batch.arrayOffset()).isZero();
    assertThat(writer.bufferBytes()).isZero();
  }

  @Test
  void uncompressedBatchIsTheCollectingArrayAndNoLongerTheWriters() {
    byte[] buffer = new byte[5000];
    BatchWriter writer = new BatchWriter(Compression.NONE, 5000, buffer);
    writer.tryAppend(0, utf8("k"), utf8("v"), List.of());
    ByteBuffer batch = writer.build(-1, (short) -1, -1);
    assertThat(batch.array()).isSameAs(buffer);
    assertThat(batch.capacity()).isEqualTo(batch.limit());
    assertThat(writer.takeBuffer()).isNull();
    assertThatThrownBy(() -> writer.tryAppend(0, null, null, List.of()))
        .isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> writer.build(-1, (short) -1, -1))
        .isInstanceOf(IllegalStateException.class);
  }

  @ParameterizedTest
  @EnumSource(
      value = Compression.class,
      names = {"NONE"},
      mode = EnumSource.Mode.EXCLUDE)
  void compressedBatchLeavesTheArrayForTheNextWriter(Compression codec)
      throws InvalidBatchException {
    byte[] dirty = new byte[10_000];
    new Random(1).nextBytes(dirty);
    BatchWriter writer = new BatchWriter(codec, 10_000, dirty);
    assertThatThrownBy(writer::takeBuffer).isInstanceOf(IllegalStateException.class);
    List<Input> inputs = TestBatches.sample();
    inputs.forEach(in -> writer.tryAppend(in.timestamp(), in.key(), in.value(), in.headers()));
    ByteBuffer batch = writer.build(3, (short) 0, 0);
    assertThat(BatchHeader.read(batch, 0).compression()).isEqualTo(codec);
    assertThat(batch.array()).isNotSameAs(dirty);
    assertThat(batch.array().length).isLessThan(writer.estimatedBytes());
    byte[] taken = writer.takeBuffer();
    assertThat(taken).isSameAs(dirty);
    assertThat(writer.takeBuffer()).isNull();

    BatchWriter next = new BatchWriter(Compression.NONE, 10_000, taken);
    next.tryAppend(1, null, utf8("other"), List.of());
    ByteBuffer second = next.build(-1, (short) -1, -1);
    assertThat(BatchReader.records(batch, MIB)).isEqualTo(views(0, inputs));
    assertThat(BatchReader.records(second, MIB))
        .isEqualTo(views(0, List.of(new Input(1, null, utf8("other"), List.of()))));
  }

  @ParameterizedTest
  @EnumSource(Compression.class)
  void recordsThatDoNotGetSmallerAreSentAsTheyAre(Compression codec) throws InvalidBatchException {
    byte[] noise = new byte[50_000];
    new Random(7).nextBytes(noise);
    List<Input> inputs = List.of(new Input(0, null, noise, List.of()));
    BatchWriter writer = new BatchWriter(codec, 100_000);
    writer.tryAppend(0, null, noise, List.of());
    int estimate = writer.estimatedBytes();
    ByteBuffer batch = writer.build(-1, (short) -1, -1);
    assertThat(BatchHeader.read(batch, 0).compression()).isEqualTo(Compression.NONE);
    assertThat(batch.remaining()).isEqualTo(estimate);
    assertThat(BatchReader.records(batch, 0)).isEqualTo(views(0, inputs));
  }

  @ParameterizedTest
  @EnumSource(Compression.class)
  void batchesOfManyBlocksAreReadBack(Compression codec) throws InvalidBatchException {
    List<Input> inputs = TestBatches.random(new Random(11), 2000, 1500);
    ByteBuffer batch = TestBatches.build(codec, inputs);
    assertThat(BatchReader.records(batch, 16 * MIB)).isEqualTo(views(0, inputs));
  }

  @Test
  void batchNeverHoldsMoreRecordsThanTheBrokerTakes() {
    BatchWriter writer = new BatchWriter(Compression.NONE, 16 * MIB);
    while (writer.tryAppend(0, null, null, List.of())) {
      assertThat(writer.recordCount()).isLessThanOrEqualTo(BatchWriter.MAX_RECORDS);
    }
    assertThat(writer.recordCount()).isEqualTo(1_000_000);
  }

  @Test
  void restampedBatchIsTheBatchBuiltWithThatSequence() {
    ByteBuffer batch = TestBatches.build(Compression.LZ4, TestBatches.sample(), 1, (short) 2, 3);
    BatchWriter.restamp(batch, 9, (short) 0, 0);
    assertThat(batch)
        .isEqualTo(TestBatches.build(Compression.LZ4, TestBatches.sample(), 9, (short) 0, 0));
    ByteBuffer inside = ByteBuffer.allocate(1000).position(50);
    inside.put(batch.duplicate()).flip().position(50);
    BatchWriter.restamp(inside, 1, (short) 2, 3);
    assertThat(inside)
        .isEqualTo(TestBatches.build(Compression.LZ4, TestBatches.sample(), 1, (short) 2, 3));
  }

  @Test
  void impossibleArgumentsAreRefusedAndChangeNothing() {
    BatchWriter writer = new BatchWriter(Compression.NONE, 1000);
    assertThatThrownBy(() -> writer.tryAppend(-2, null, null, List.of()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("record timestamp -2 must be -1 (none) or 0 or more");
    assertThat(writer.recordCount()).isZero();
    assertThat(writer.estimatedBytes()).isEqualTo(61);
    assertThatThrownBy(() -> new BatchWriter(Compression.NONE, 60))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("batch limit of 60 bytes is below the header's 61");
    assertThatThrownBy(() -> new RecordHeader(null, null)).isInstanceOf(NullPointerException.class);
  }
}
