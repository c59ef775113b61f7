package io.millrace.protocol.batch;

import static io.millrace.protocol.batch.TestBatches.bytes;
import static io.millrace.protocol.batch.TestBatches.copy;
import static io.millrace.protocol.batch.TestBatches.random;
import static io.millrace.protocol.batch.TestBatches.views;
import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.batch.TestBatches.Input;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.ShortRange;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.utils.Utils;

/** Kafka's own classes read what we write, and we read what they write. */
class RecordBatchCompatTest {

  @Property(tries = 400)
  void kafkaReadsWhatWeWrite(
      @ForAll Compression codec,
      @ForAll @IntRange(min = 1, max = 60) int count,
      @ForAll @IntRange(max = 3000) int maxValueBytes,
      @ForAll @LongRange(min = 0) long producerId,
      @ForAll @ShortRange(min = 0) short epoch,
      @ForAll @IntRange(min = 0) int sequence,
      @ForAll @LongRange(min = 0, max = Long.MAX_VALUE / 2) long baseOffset,
      @ForAll @IntRange(min = 0) int term,
      @ForAll long seed) {
    List<Input> inputs = random(new Random(seed), count, maxValueBytes);
    ByteBuffer batch = TestBatches.build(codec, inputs, producerId, epoch, sequence);
    BatchHeader.patch(batch, baseOffset, term);

    MutableRecordBatch kafka = single(batch);
    kafka.ensureValid();
    BatchHeader header = BatchHeader.read(batch, 0);
    assertThat(kafka.magic()).isEqualTo((byte) 2);
    assertThat(kafka.baseOffset()).isEqualTo(baseOffset).isEqualTo(header.baseOffset());
    assertThat(kafka.lastOffset()).isEqualTo(header.lastOffset());
    assertThat(kafka.nextOffset()).isEqualTo(header.nextOffset());
    assertThat(kafka.partitionLeaderEpoch()).isEqualTo(term);
    assertThat(kafka.producerId()).isEqualTo(producerId).isEqualTo(header.producerId());
    assertThat(kafka.producerEpoch()).isEqualTo(epoch).isEqualTo(header.producerEpoch());
    assertThat(kafka.baseSequence()).isEqualTo(sequence).isEqualTo(header.baseSequence());
    assertThat(kafka.lastSequence()).isEqualTo(header.lastSequence());
    assertThat(kafka.countOrNull()).isEqualTo(count).isEqualTo(header.recordCount());
    assertThat(kafka.maxTimestamp()).isEqualTo(header.maxTimestamp());
    assertThat(kafka.timestampType()).isEqualTo(TimestampType.CREATE_TIME);
    assertThat(kafka.isControlBatch()).isFalse();
    assertThat(kafka.isTransactional()).isFalse();
    assertThat(kafka.sizeInBytes()).isEqualTo(batch.remaining());
    assertThat(kafka.compressionType().id).isEqualTo((byte) header.compression().id());
    assertThat(kafkaViews(kafka)).isEqualTo(views(baseOffset, inputs));
  }

  @Property(tries = 400)
  void weReadWhatKafkaWrites(
      @ForAll CompressionType codec,
      @ForAll @IntRange(min = 1, max = 60) int count,
      @ForAll @IntRange(max = 3000) int maxValueBytes,
      @ForAll @LongRange(min = 0) long producerId,
      @ForAll @ShortRange(min = 0) short epoch,
      @ForAll @IntRange(min = 0) int sequence,
      @ForAll @LongRange(min = 0, max = Long.MAX_VALUE / 2) long baseOffset,
      @ForAll long seed)
      throws InvalidBatchException {
    List<Input> inputs = random(new Random(seed), count, maxValueBytes);
    ByteBuffer batch =
        kafkaBatch(
            codec, TimestampType.CREATE_TIME, inputs, baseOffset, producerId, epoch, sequence);

    BatchHeader header =
        BatchValidator.validate(
            batch, Integer.MAX_VALUE, new BatchValidator.Limits(Long.MAX_VALUE, 1000));
    MutableRecordBatch kafka = single(batch);
    assertThat(header.maxTimestamp()).isEqualTo(kafka.maxTimestamp());
    assertThat(header.baseTimestamp()).isEqualTo(((DefaultRecordBatch) kafka).baseTimestamp());
    assertThat(Integer.toUnsignedLong(header.crc())).isEqualTo(kafka.checksum());
    assertThat(header.producerId()).isEqualTo(producerId);
    assertThat(header.baseSequence()).isEqualTo(sequence);
    assertThat(BatchReader.records(batch, TestBatches.MIB)).isEqualTo(views(baseOffset, inputs));
  }

  /** Uncompressed, the same records make the same bytes. */
  @Property(tries = 200)
  void bytesAreThoseOfKafka(
      @ForAll @IntRange(min = 1, max = 40) int count,
      @ForAll @LongRange(min = 0) long producerId,
      @ForAll @IntRange(min = 0) int sequence,
      @ForAll long seed) {
    List<Input> inputs = random(new Random(seed), count, 300);
    ByteBuffer ours = TestBatches.build(Compression.NONE, inputs, producerId, (short) 3, sequence);
    ByteBuffer theirs =
        kafkaBatch(
            CompressionType.NONE,
            TimestampType.CREATE_TIME,
            inputs,
            0,
            producerId,
            (short) 3,
            sequence);
    assertThat(bytes(ours)).isEqualTo(bytes(theirs));
  }

  @Example
  void appendTimeOfKafkaIsTheTimeOfEveryRecord() throws InvalidBatchException {
    List<Input> inputs = TestBatches.sample();
    ByteBuffer batch =
        kafkaBatch(
            CompressionType.LZ4, TimestampType.LOG_APPEND_TIME, inputs, 5, -1, (short) -1, -1);
    assertThat(BatchReader.records(batch, TestBatches.MIB))
        .extracting(RecordView::timestamp)
        .containsExactly(4242L, 4242L, 4242L);
  }

  @Example
  void compactedBatchOfKafkaKeepsItsGaps() throws InvalidBatchException {
    MemoryRecordsBuilder builder =
        MemoryRecords.builder(
            ByteBuffer.allocate(1024),
            org.apache.kafka.common.compress.Compression.NONE,
            TimestampType.CREATE_TIME,
            10);
    builder.appendWithOffset(12, 1L, new byte[] {1}, new byte[] {2});
    builder.appendWithOffset(17, 2L, new byte[] {3}, null);
    ByteBuffer batch = builder.build().buffer();
    assertThat(BatchReader.records(batch, TestBatches.MIB))
        .extracting(RecordView::offset)
        .containsExactly(12L, 17L);
    assertThat(BatchHeader.read(batch, 0).nextOffset()).isEqualTo(18);
  }

  @Example
  void kafkaSeesAControlBatchAsEmptyAndNeutral() {
    ByteBuffer batch = ControlBatch.encode(ControlType.COMMIT.code(), new byte[] {1, 2, 3});
    BatchHeader.patch(batch, 77, 5);
    MutableRecordBatch kafka = single(batch);
    kafka.ensureValid();
    assertThat(kafka.isControlBatch()).isTrue();
    assertThat(kafka.baseOffset()).isEqualTo(77);
    assertThat(kafka.nextOffset()).isEqualTo(77);
    assertThat(kafka.countOrNull()).isZero();
    assertThat(kafka.hasProducerId()).isFalse();
    assertThat(kafka.iterator().hasNext()).isFalse();
  }

  @Example
  void controlBodyIsARecordOfTheFormat() throws InvalidBatchException {
    byte[] value = {9, 8, 7};
    ByteBuffer control = ControlBatch.encode(ControlType.METADATA.code(), value);
    // The same body, counted as one record, is read by Kafka and by us.
    ByteBuffer asRecord = copy(control);
    asRecord.putShort(BatchHeader.ATTRIBUTES_OFFSET, (short) 0);
    asRecord.putInt(BatchHeader.LAST_OFFSET_DELTA_OFFSET, 0);
    asRecord.putInt(BatchHeader.RECORD_COUNT_OFFSET, 1);
    TestBatches.sealed(asRecord);
    RecordView expected =
        new RecordView(0, -1, new byte[] {0, 0, 0x03, (byte) 0xF2}, value, List.of());
    assertThat(kafkaViews(single(asRecord))).containsExactly(expected);
    assertThat(BatchReader.records(asRecord, 0)).containsExactly(expected);
  }

  private static MutableRecordBatch single(ByteBuffer batch) {
    List<MutableRecordBatch> batches = new ArrayList<>();
    MemoryRecords.readableRecords(copy(batch)).batches().forEach(batches::add);
    assertThat(batches).hasSize(1);
    return batches.get(0);
  }

  private static List<RecordView> kafkaViews(MutableRecordBatch batch) {
    List<RecordView> views = new ArrayList<>();
    for (Record record : batch) {
      record.ensureValid();
      List<io.millrace.protocol.batch.RecordHeader> headers = new ArrayList<>();
      for (Header header : record.headers()) {
        headers.add(new io.millrace.protocol.batch.RecordHeader(header.key(), header.value()));
      }
      views.add(
          new RecordView(
              record.offset(),
              record.timestamp(),
              record.hasKey() ? Utils.toArray(record.key()) : null,
              record.hasValue() ? Utils.toArray(record.value()) : null,
              headers));
    }
    return views;
  }

  private static ByteBuffer kafkaBatch(
      CompressionType codec,
      TimestampType type,
      List<Input> inputs,
      long baseOffset,
      long producerId,
      short epoch,
      int sequence) {
    MemoryRecordsBuilder builder =
        MemoryRecords.builder(
            ByteBuffer.allocate(1024),
            (byte) 2,
            org.apache.kafka.common.compress.Compression.of(codec).build(),
            type,
            baseOffset,
            4242L,
            producerId,
            epoch,
            sequence);
    for (Input in : inputs) {
      Header[] headers =
          in.headers().stream()
              .map(h -> new RecordHeader(h.key(), h.value()))
              .toArray(Header[]::new);
      builder.append(in.timestamp(), in.key(), in.value(), headers);
    }
    return builder.build().buffer();
  }
}
