package io.millrace.protocol.batch;

import static io.millrace.protocol.batch.TestBatches.copy;
import static io.millrace.protocol.batch.TestBatches.sealed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.millrace.protocol.batch.BatchValidator.Limits;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.Outcome;
import java.nio.ByteBuffer;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class BatchValidatorTest {

  private static final long NOW = 1_700_000_000_000L;
  private static final Limits LIMITS = Limits.at(NOW);
  private static final int MAX_BYTES = 100_000;

  private static ByteBuffer good(Compression codec) {
    return copy(TestBatches.build(codec, TestBatches.sample(), 7, (short) 1, 100));
  }

  @ParameterizedTest
  @EnumSource(Compression.class)
  void goodBatchIsAcceptedAndItsHeaderReturned(Compression codec) throws InvalidBatchException {
    ByteBuffer batch = good(codec);
    BatchHeader header = BatchValidator.validate(batch, batch.remaining(), LIMITS);
    assertThat(header)
        .isEqualTo(
            new BatchHeader(
                0,
                batch.remaining() - 12,
                -1,
                (byte) 2,
                BatchHeader.crc(batch, 0),
                (short) codec.id(),
                2,
                1000,
                1005,
                7,
                (short) 1,
                100,
                3));
    assertThat(header.compression()).isEqualTo(codec);
    assertThat(header.lastSequence()).isEqualTo(102);
  }

  static Stream<Arguments> forged() {
    return Stream.of(
        forged("magic 0", b -> b.put(16, (byte) 0), ErrorCode.UNSUPPORTED_MAGIC, "magic 0"),
        forged("magic 1", b -> b.put(16, (byte) 1), ErrorCode.UNSUPPORTED_MAGIC, "magic 1"),
        forged("magic 3", b -> b.put(16, (byte) 3), ErrorCode.UNSUPPORTED_MAGIC, "supported: 2"),
        attributes("timestamp type", 0x08, "attributes 0x0008"),
        attributes("transactional bit", 0x10, "attributes 0x0010"),
        attributes("control bit", 0x20, "attributes 0x0020 hold bits that clients must not set"),
        attributes("delete horizon", 0x40, "attributes 0x0040"),
        attributes("unused bit 7", 0x80, "attributes 0x0080"),
        attributes("unused bit 15", 0x8000, "attributes 0x8000"),
        attributes("codec 5", 5, "codec 5 is not known; known: 0 to 4"),
        attributes("codec 7", 7, "codec 7"),
        count("no record", 0, -1, "record count 0 is not in 1..1000000"),
        count("negative count", -1, -2, "record count -1"),
        count("over the limit", 1_000_001, 1_000_000, "record count 1000001 is not in"),
        count("count above the delta", 4, 2, "last offset delta 2 must be record count - 1 = 3"),
        count("count below the delta", 2, 2, "last offset delta 2 must be record count - 1 = 1"),
        count("delta -1", 3, -1, "last offset delta -1"),
        count("delta of all bits", 3, Integer.MAX_VALUE, "last offset delta 2147483647"),
        count("more than the bytes hold", 200, 199, "200 records do not fit into"),
        timestamps("base below -1", -2, 5, "base timestamp -2 must be -1 or in 0.."),
        timestamps("base of the year 3000", 32503680000000L, 32503680000000L, "base timestamp 32"),
        timestamps("max of the year 3000", 0, 32503680000000L, "max timestamp 32503680000000"),
        timestamps("max of all bits", 0, Long.MAX_VALUE, "max timestamp 9223372036854775807"),
        timestamps("lowest max", -1, Long.MIN_VALUE, "max timestamp -9223372036854775808"),
        timestamps("a day and 1 ms ahead", 0, NOW + Limits.DAY_MILLIS + 1, "check the clock"),
        timestamps("max below base", 10, 9, "max timestamp 9 is below base timestamp 10"),
        producer("id without epoch", 7, -1, 0, "must all be -1 or all be 0 or more"),
        producer("id without sequence", 7, 0, -1, "base sequence -1"),
        producer("sequence without id", -1, -1, 3, "producer id -1"),
        producer("epoch without id", -1, 0, -1, "epoch 0"),
        producer("negative id", -2, 0, 0, "producer id -2"),
        producer("negative epoch", 7, -2, 0, "epoch -2"),
        producer("negative sequence", 7, 0, -5, "base sequence -5"));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("forged")
  void forgedBatchIsRefused(String name, Consumer<ByteBuffer> change, ErrorCode code, String text) {
    ByteBuffer batch = good(Compression.NONE);
    change.accept(batch);
    InvalidBatchException e = refused(sealed(batch), MAX_BYTES);
    assertThat(e.code()).isEqualTo(code);
    assertThat(e.code().outcome()).isEqualTo(Outcome.NOT_DONE);
    assertThat(e).hasMessageContaining(text);
  }

  @Test
  void controlBatchOfOurOwnIsRefusedFromAClient() {
    ByteBuffer batch = ControlBatch.encode(ControlType.CONF.code(), new byte[] {1});
    assertThat(refused(batch, MAX_BYTES).code()).isEqualTo(ErrorCode.INVALID_BATCH);
  }

  @Test
  void boundsThemselvesAreAccepted() throws InvalidBatchException {
    ByteBuffer batch = good(Compression.NONE);
    batch.putLong(BatchHeader.BASE_TIMESTAMP_OFFSET, -1);
    batch.putLong(BatchHeader.MAX_TIMESTAMP_OFFSET, NOW + Limits.DAY_MILLIS);
    batch.putLong(BatchHeader.PRODUCER_ID_OFFSET, Long.MAX_VALUE);
    batch.putShort(BatchHeader.PRODUCER_EPOCH_OFFSET, Short.MAX_VALUE);
    batch.putInt(BatchHeader.BASE_SEQUENCE_OFFSET, Integer.MAX_VALUE);
    BatchHeader header = BatchValidator.validate(sealed(batch), batch.remaining(), LIMITS);
    assertThat(header.lastSequence()).isEqualTo(1);
  }

  @Test
  void baseOffsetAndTermOfAClientMeanNothing() throws InvalidBatchException {
    ByteBuffer batch = good(Compression.NONE);
    BatchHeader.patch(batch, Long.MIN_VALUE, Integer.MIN_VALUE);
    assertThat(BatchValidator.validate(batch, MAX_BYTES, LIMITS).recordCount()).isEqualTo(3);
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 1, 100, -700, Integer.MAX_VALUE, Integer.MIN_VALUE})
  void lengthThatIsNotTheBuffersIsRefused(int more) {
    ByteBuffer batch = good(Compression.NONE);
    int length = batch.getInt(BatchHeader.BATCH_LENGTH_OFFSET);
    batch.putInt(
        BatchHeader.BATCH_LENGTH_OFFSET, more > 1000 || more < -1000 ? more : length + more);
    InvalidBatchException e = refused(batch, MAX_BYTES);
    assertThat(e.code()).isEqualTo(ErrorCode.INVALID_BATCH);
    assertThat(e).hasMessageContaining("but " + batch.remaining() + " are there");
  }

  @Test
  void everyTruncationAndAnyAdditionIsRefused() {
    ByteBuffer batch = good(Compression.LZ4);
    for (int size = 0; size < batch.capacity(); size++) {
      ByteBuffer cut = batch.duplicate().limit(size);
      assertThat(refused(cut, MAX_BYTES).code()).isEqualTo(ErrorCode.INVALID_BATCH);
    }
    ByteBuffer longer = ByteBuffer.allocate(batch.capacity() + 1).put(batch.duplicate()).clear();
    assertThat(refused(longer, MAX_BYTES).code()).isEqualTo(ErrorCode.INVALID_BATCH);
  }

  @Test
  void batchOverTheTopicsLimitIsRefusedBeforeAnythingElse() {
    ByteBuffer batch = good(Compression.NONE);
    InvalidBatchException e = refused(batch, batch.remaining() - 1);
    assertThat(e.code()).isEqualTo(ErrorCode.RECORD_TOO_LARGE);
    assertThat(e)
        .hasMessage(
            "batch of %d bytes is over the limit of %d for this topic: send smaller batches, or raise"
                + " its max record bytes",
            batch.remaining(), batch.remaining() - 1);
  }

  private static InvalidBatchException refused(ByteBuffer batch, int maxBytes) {
    InvalidBatchException e =
        catchThrowableOfType(
            InvalidBatchException.class, () -> BatchValidator.validate(batch, maxBytes, LIMITS));
    assertThat(e).isNotNull();
    return e;
  }

  private static Arguments forged(
      String name, Consumer<ByteBuffer> change, ErrorCode code, String text) {
    return Arguments.of(name, change, code, text);
  }

  private static Arguments invalid(String name, Consumer<ByteBuffer> change, String text) {
    return forged(name, change, ErrorCode.INVALID_BATCH, text);
  }

  private static Arguments attributes(String name, int attributes, String text) {
    return invalid(name, b -> b.putShort(BatchHeader.ATTRIBUTES_OFFSET, (short) attributes), text);
  }

  private static Arguments count(String name, int count, int delta, String text) {
    return invalid(
        name,
        b ->
            b.putInt(BatchHeader.RECORD_COUNT_OFFSET, count)
                .putInt(BatchHeader.LAST_OFFSET_DELTA_OFFSET, delta),
        text);
  }

  private static Arguments timestamps(String name, long base, long max, String text) {
    return invalid(
        name,
        b ->
            b.putLong(BatchHeader.BASE_TIMESTAMP_OFFSET, base)
                .putLong(BatchHeader.MAX_TIMESTAMP_OFFSET, max),
        text);
  }

  private static Arguments producer(String name, long id, int epoch, int sequence, String text) {
    return invalid(
        name,
        b ->
            b.putLong(BatchHeader.PRODUCER_ID_OFFSET, id)
                .putShort(BatchHeader.PRODUCER_EPOCH_OFFSET, (short) epoch)
                .putInt(BatchHeader.BASE_SEQUENCE_OFFSET, sequence),
        text);
  }
}
