package io.millrace.protocol.batch;

import static io.millrace.protocol.batch.TestBatches.MIB;
import static io.millrace.protocol.batch.TestBatches.copy;
import static io.millrace.protocol.batch.TestBatches.random;
import static io.millrace.protocol.batch.TestBatches.views;
import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.batch.TestBatches.Input;
import io.millrace.protocol.error.ErrorCode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

class RecordBatchProperties {

  /** A direct or read-only buffer reads like a heap buffer, at any position. */
  @Property(tries = 200)
  void readsFromAnyKindOfBuffer(
      @ForAll Compression codec,
      @ForAll @IntRange(max = 50) int position,
      @ForAll @IntRange(min = 1, max = 30) int count,
      @ForAll long seed)
      throws InvalidBatchException {
    List<Input> inputs = random(new Random(seed), count, 500);
    ByteBuffer batch = TestBatches.build(codec, inputs);
    ByteBuffer direct = ByteBuffer.allocateDirect(position + batch.remaining() + 7);
    direct.position(position).put(batch.duplicate()).flip().position(position);
    ByteBuffer heap = ByteBuffer.allocate(direct.capacity()).position(position);
    heap.put(batch.duplicate()).flip().position(position);
    for (ByteBuffer buffer : List.of(direct, heap, heap.asReadOnlyBuffer(), heap.slice())) {
      ByteBuffer before = buffer.duplicate();
      assertThat(BatchReader.records(buffer, MIB)).isEqualTo(views(0, inputs));
      assertThat(BatchValidator.validate(buffer, MIB, BatchValidator.Limits.at(Long.MAX_VALUE / 2)))
          .isEqualTo(BatchHeader.read(batch, 0));
      assertThat(BatchHeader.isIntact(buffer, buffer.position())).isTrue();
      assertThat(buffer.position()).isEqualTo(before.position());
      assertThat(buffer.limit()).isEqualTo(before.limit());
    }
  }

  /** The writer never passes its limit, refuses nothing that fits, and states the true size. */
  @Property(tries = 300)
  void writerFillsUpToItsLimit(
      @ForAll Compression codec,
      @ForAll @IntRange(min = BatchHeader.SIZE, max = 5000) int maxBytes,
      @ForAll long seed)
      throws InvalidBatchException {
    List<Input> inputs = random(new Random(seed), 100, 200);
    BatchWriter writer = new BatchWriter(codec, maxBytes);
    List<Input> accepted = new ArrayList<>();
    for (Input in : inputs) {
      int before = writer.estimatedBytes();
      boolean fits = writer.tryAppend(in.timestamp(), in.key(), in.value(), in.headers());
      if (!fits) {
        assertThat(writer.estimatedBytes()).isEqualTo(before);
        long most = BatchWriter.singleRecordBatchBytes(in.key(), in.value(), in.headers());
        assertThat(before + most - BatchHeader.SIZE).isGreaterThan(maxBytes);
        break;
      }
      accepted.add(in);
      assertThat(writer.estimatedBytes() <= maxBytes || accepted.size() == 1).isTrue();
    }
    int estimate = writer.estimatedBytes();
    ByteBuffer batch = writer.build(1, (short) 0, 0);
    assertThat(batch.remaining()).isLessThanOrEqualTo(estimate);
    if (BatchHeader.read(batch, 0).compression() == Compression.NONE) {
      assertThat(batch.remaining()).isEqualTo(estimate);
    }
    assertThat(BatchReader.records(batch, estimate)).isEqualTo(views(0, accepted));
  }

  /** Bytes changed under a checksum that matches: records or a typed error, nothing else. */
  @Property(tries = 3000)
  void forgedRecordsAreReadOrRefused(
      @ForAll Compression codec,
      @ForAll @IntRange(min = 1, max = 8) int changes,
      @ForAll long seed) {
    Random random = new Random(seed);
    ByteBuffer batch = copy(TestBatches.build(codec, random(random, 20, 200)));
    for (int i = 0; i < changes; i++) {
      int at = BatchHeader.SIZE + random.nextInt(batch.remaining() - BatchHeader.SIZE);
      batch.put(at, (byte) random.nextInt());
    }
    TestBatches.sealed(batch);
    readOrRefuse(batch);
  }

  /** Random bytes as the compressed records. */
  @Property(tries = 3000)
  void randomPayloadIsReadOrRefused(
      @ForAll Compression codec,
      @ForAll @IntRange(min = 0, max = 300) int payloadBytes,
      @ForAll @IntRange(min = 0, max = 40) int count,
      @ForAll long seed) {
    byte[] payload = new byte[payloadBytes];
    new Random(seed).nextBytes(payload);
    readOrRefuse(TestBatches.withPayload(codec, count, payload));
  }

  /** Any bytes at all. */
  @Property(tries = 2000)
  void randomBytesAreRefused(@ForAll @IntRange(max = 200) int size, @ForAll long seed) {
    byte[] bytes = new byte[size];
    new Random(seed).nextBytes(bytes);
    ByteBuffer batch = ByteBuffer.wrap(bytes);
    assertThat(BatchHeader.isIntact(batch, 0)).isFalse();
    assertThat(refusal(() -> BatchReader.records(batch, MIB))).isNotNull();
    assertThat(refusal(() -> ControlBatch.decode(batch))).isNotNull();
    assertThat(refusal(() -> BatchValidator.validate(batch, MIB, BatchValidator.Limits.at(0))))
        .isNotNull();
  }

  private static void readOrRefuse(ByteBuffer batch) {
    InvalidBatchException e = refusal(() -> BatchReader.records(batch, 64 << 10));
    if (e != null) {
      assertThat(e.code()).isEqualTo(ErrorCode.UNREADABLE_BATCH);
      assertThat(e.nextOffset()).isEqualTo(BatchHeader.read(batch, 0).nextOffset());
      assertThat(e.getMessage()).isNotBlank();
    }
  }

  private interface Step {
    void run() throws InvalidBatchException;
  }

  private static InvalidBatchException refusal(Step step) {
    try {
      step.run();
      return null;
    } catch (InvalidBatchException e) {
      return e;
    }
  }
}
