package io.millrace.protocol.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

class BatchHeaderTest {

  private static ByteBuffer counting(int position) {
    ByteBuffer buf = ByteBuffer.allocate(position + BatchHeader.SIZE);
    for (int i = 0; i < BatchHeader.SIZE; i++) {
      buf.put(position + i, (byte) i);
    }
    return buf;
  }

  @Test
  void everyFieldIsReadAtItsOffset() {
    BatchHeader header = BatchHeader.read(counting(9), 9);
    assertThat(header)
        .isEqualTo(
            new BatchHeader(
                0x0001020304050607L,
                0x08090A0B,
                0x0C0D0E0F,
                (byte) 0x10,
                0x11121314,
                (short) 0x1516,
                0x1718191A,
                0x1B1C1D1E1F202122L,
                0x232425262728292AL,
                0x2B2C2D2E2F303132L,
                (short) 0x3334,
                0x35363738,
                0x393A3B3C));
  }

  @Test
  void hotFieldsAreThoseOfTheHeader() {
    ByteBuffer buf = counting(3);
    BatchHeader header = BatchHeader.read(buf, 3);
    assertThat(BatchHeader.baseOffset(buf, 3)).isEqualTo(header.baseOffset());
    assertThat(BatchHeader.sizeInBytes(buf, 3)).isEqualTo(header.sizeInBytes());
    assertThat(BatchHeader.partitionLeaderEpoch(buf, 3)).isEqualTo(header.partitionLeaderEpoch());
    assertThat(BatchHeader.magic(buf, 3)).isEqualTo(header.magic());
    assertThat(BatchHeader.crc(buf, 3)).isEqualTo(header.crc());
    assertThat(BatchHeader.attributes(buf, 3)).isEqualTo(header.attributes());
    assertThat(BatchHeader.lastOffsetDelta(buf, 3)).isEqualTo(header.lastOffsetDelta());
    assertThat(BatchHeader.maxTimestamp(buf, 3)).isEqualTo(header.maxTimestamp());
    assertThat(BatchHeader.producerId(buf, 3)).isEqualTo(header.producerId());
    assertThat(BatchHeader.recordCount(buf, 3)).isEqualTo(header.recordCount());
    assertThat(BatchHeader.nextOffset(buf, 3)).isEqualTo(header.nextOffset());
    assertThat(BatchHeader.isControl(buf, 3)).isEqualTo(header.isControl());
    assertThat(header.isTransactional()).isTrue();
  }

  @Test
  void patchChangesNothingThatTheChecksumCovers() {
    ByteBuffer batch = TestBatches.build(Compression.NONE, TestBatches.sample());
    ByteBuffer before = TestBatches.copy(batch);
    BatchHeader.patch(batch, 123456789012L, 42);
    assertThat(BatchHeader.isIntact(batch, 0)).isTrue();
    assertThat(BatchHeader.baseOffset(batch, 0)).isEqualTo(123456789012L);
    assertThat(BatchHeader.partitionLeaderEpoch(batch, 0)).isEqualTo(42);
    assertThat(batch.position()).isZero();
    assertThat(BatchHeader.read(batch, 0).nextOffset()).isEqualTo(123456789015L);
    before.putLong(0, 123456789012L).putInt(12, 42);
    assertThat(batch).isEqualTo(before);
  }

  @Test
  void intactNeedsTheWholeBatchInsideTheLimit() {
    ByteBuffer batch = TestBatches.build(Compression.NONE, TestBatches.sample());
    ByteBuffer twice = ByteBuffer.allocate(batch.remaining() * 2);
    twice.put(batch.duplicate()).put(batch.duplicate()).flip();
    assertThat(BatchHeader.isIntact(twice, 0)).isTrue();
    assertThat(BatchHeader.isIntact(twice, batch.remaining())).isTrue();
    assertThat(BatchHeader.isIntact(twice, 1)).isFalse();
    twice.limit(twice.limit() - 1);
    assertThat(BatchHeader.isIntact(twice, 0)).isTrue();
    assertThat(BatchHeader.isIntact(twice, batch.remaining())).isFalse();
    assertThat(BatchHeader.isIntact(ByteBuffer.allocate(200), 0)).isFalse();
  }

  @Test
  void lengthIsNotBelievedIntoOverflow() {
    ByteBuffer buf = ByteBuffer.allocate(100);
    buf.putInt(BatchHeader.BATCH_LENGTH_OFFSET, Integer.MAX_VALUE);
    assertThat(BatchHeader.sizeInBytes(buf, 0)).isEqualTo(2147483659L);
    assertThat(BatchHeader.read(buf, 0).sizeInBytes()).isEqualTo(2147483659L);
    assertThat(BatchHeader.isIntact(buf, 0)).isFalse();
  }

  @Test
  void crcIsCastagnoli() {
    // Check value of CRC-32C.
    byte[] digits = TestBatches.utf8("123456789");
    assertThat(Crc32c.of(digits, 0, 9)).isEqualTo(0xE3069283);
    ByteBuffer direct = ByteBuffer.allocateDirect(12).put(3, digits);
    assertThat(Crc32c.of(direct, 3, 9)).isEqualTo(0xE3069283);
    assertThat(direct.position()).isZero();
    assertThat(Crc32c.of(ByteBuffer.wrap(digits).asReadOnlyBuffer(), 0, 9)).isEqualTo(0xE3069283);
    assertThat(Crc32c.of(ByteBuffer.wrap(digits, 2, 7).slice(), 1, 3))
        .isEqualTo(Crc32c.of(digits, 3, 3));
  }

  @Test
  void codecsAreFoundByIdAndByName() {
    for (Compression codec : Compression.values()) {
      assertThat(Compression.of(codec.id())).isSameAs(codec);
      assertThat(Compression.of(codec.toString())).isSameAs(codec);
      assertThat(Compression.of(codec.name())).isSameAs(codec);
    }
    assertThat(Compression.of(5)).isNull();
    assertThat(Compression.of(-1)).isNull();
    assertThatThrownBy(() -> Compression.of("brotli"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("compression 'brotli' is not known; use one of none, gzip, snappy, lz4, zstd");
  }
}
