package io.millrace.protocol.batch;

import static io.millrace.protocol.batch.TestBatches.copy;
import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.error.ErrorCode;
import java.nio.ByteBuffer;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every single flipped bit is noticed, except in the two fields that replicas set themselves. */
class BatchCorruptionTest {

  private static final Set<ErrorCode> REFUSALS =
      EnumSet.of(ErrorCode.CORRUPT_BATCH, ErrorCode.INVALID_BATCH, ErrorCode.UNSUPPORTED_MAGIC);

  @ParameterizedTest
  @EnumSource(Compression.class)
  void everyFlippedBitOfARecordBatchIsRefused(Compression codec) {
    ByteBuffer good = TestBatches.build(codec, TestBatches.sample(), 7, (short) 1, 100);
    for (int bit = 0; bit < good.remaining() * 8; bit++) {
      if (outsideTheChecks(bit / 8)) {
        continue;
      }
      ByteBuffer batch = flipped(good, bit);
      assertThat(codeOf(() -> BatchReader.records(batch, TestBatches.MIB)))
          .as("reader, bit %d", bit)
          .isIn(REFUSALS);
      assertThat(
              codeOf(
                  () ->
                      BatchValidator.validate(
                          batch, TestBatches.MIB, BatchValidator.Limits.at(2000))))
          .as("validator, bit %d", bit)
          .isIn(REFUSALS);
      assertThat(BatchHeader.isIntact(batch, 0) && BatchHeader.magic(batch, 0) == 2)
          .as("intact, bit %d", bit)
          .isFalse();
    }
  }

  @Test
  void everyFlippedBitOfAControlBatchIsRefused() {
    ByteBuffer good = ControlBatch.encode(ControlType.COMMIT.code(), new byte[] {1, 2, 3, 4});
    for (int bit = 0; bit < good.remaining() * 8; bit++) {
      if (outsideTheChecks(bit / 8)) {
        continue;
      }
      ByteBuffer batch = flipped(good, bit);
      assertThat(codeOf(() -> ControlBatch.decode(batch))).as("bit %d", bit).isIn(REFUSALS);
    }
  }

  @Test
  void flippedBitInsideTheChecksumIsNamedAsCorruption() {
    ByteBuffer good = TestBatches.build(Compression.NONE, TestBatches.sample());
    for (int at = BatchHeader.CRC_OFFSET; at < good.remaining(); at++) {
      ByteBuffer batch = flipped(good, at * 8 + 5);
      assertThat(codeOf(() -> BatchReader.records(batch, TestBatches.MIB)))
          .isEqualTo(ErrorCode.CORRUPT_BATCH);
    }
  }

  private static boolean outsideTheChecks(int at) {
    return at < BatchHeader.BATCH_LENGTH_OFFSET
        || at >= BatchHeader.PARTITION_LEADER_EPOCH_OFFSET && at < BatchHeader.MAGIC_OFFSET;
  }

  private static ByteBuffer flipped(ByteBuffer good, int bit) {
    ByteBuffer batch = copy(good);
    return batch.put(bit / 8, (byte) (batch.get(bit / 8) ^ 1 << bit % 8));
  }

  private interface Step {
    void run() throws InvalidBatchException;
  }

  private static ErrorCode codeOf(Step step) {
    try {
      step.run();
      return null;
    } catch (InvalidBatchException e) {
      return e.code();
    }
  }
}
