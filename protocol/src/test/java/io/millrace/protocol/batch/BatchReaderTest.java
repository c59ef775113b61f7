package io.millrace.protocol.batch;

import static io.millrace.protocol.batch.TestBatches.MIB;
import static io.millrace.protocol.batch.TestBatches.copy;
import static io.millrace.protocol.batch.TestBatches.input;
import static io.millrace.protocol.batch.TestBatches.sealed;
import static io.millrace.protocol.batch.TestBatches.views;
import static io.millrace.protocol.batch.TestBatches.withPayload;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdOutputStream;
import io.millrace.protocol.batch.TestBatches.Input;
import io.millrace.protocol.error.ErrorCode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import net.jpountz.lz4.LZ4FrameOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.xerial.snappy.Snappy;
import org.xerial.snappy.SnappyOutputStream;

@Timeout(60)
class BatchReaderTest {

  /** One record of 8 MiB zeros: some kilobytes on the wire. */
  private static final List<Input> BOMB = List.of(new Input(0, null, new byte[8 * MIB], List.of()));

  @ParameterizedTest
  @EnumSource(
      value = Compression.class,
      names = {"NONE"},
      mode = EnumSource.Mode.EXCLUDE)
  void decompressionStopsAtItsLimitAndTheBatchCanBeSkipped(Compression codec)
      throws InvalidBatchException {
    ByteBuffer batch = TestBatches.build(codec, BOMB);
    BatchHeader.patch(batch, 41, 1);
    assertThat(batch.remaining()).isLessThan(MIB);

    InvalidBatchException e = unreadable(batch, MIB);
    assertThat(e).hasMessageContaining("(" + codec + ") are over the limit of 1048576 bytes after");
    assertThat(e.nextOffset()).isEqualTo(42);

    int exact = TestBatches.build(Compression.NONE, BOMB).remaining() - BatchHeader.SIZE;
    assertThat(unreadable(batch, exact - 1)).hasMessageContaining("over the limit");
    assertThat(BatchReader.records(batch, exact)).isEqualTo(views(41, BOMB));
  }

  @Test
  void recordsWithoutCompressionNeedNoLimit() throws InvalidBatchException {
    ByteBuffer batch = TestBatches.build(Compression.NONE, TestBatches.sample());
    assertThat(BatchReader.records(batch, 0)).isEqualTo(views(0, TestBatches.sample()));
  }

  @Test
  void zstdOfUnstatedSizeIsReadWhateverItsRatio() throws Exception {
    byte[] raw = rawRecords(BOMB);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (ZstdOutputStream zstd = new ZstdOutputStream(out)) {
      zstd.write(raw);
    }
    ByteBuffer batch = withPayload(Compression.ZSTD, 1, out.toByteArray());
    assertThat(out.size()).isLessThan(10_000);
    assertThat(BatchReader.records(batch, 16 * MIB)).isEqualTo(views(0, BOMB));
    assertThat(unreadable(batch, MIB)).hasMessageContaining("over the limit of 1048576");
  }

  @Test
  void snappyBlockThatClaimsTwoGigabytesTakesNoMemory() {
    byte[] claim = {(byte) 0xFF, (byte) 0xFF, (byte) 0xFF, (byte) 0xFF, 0x07, 0, 0};
    byte[] framed = new byte[16 + 4 + claim.length];
    ByteBuffer.wrap(framed)
        .put(new byte[] {(byte) 0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0})
        .putInt(1)
        .putInt(1)
        .putInt(claim.length)
        .put(claim);
    assertThat(unreadable(withPayload(Compression.SNAPPY, 1, framed), MIB))
        .hasMessageContaining("over the limit");
    assertThat(unreadable(withPayload(Compression.SNAPPY, 1, claim), MIB))
        .hasMessageContaining("over the limit");
  }

  @Test
  void gzipMembersWrittenOneAfterTheOtherAreRead() throws Exception {
    byte[] records = rawRecords(TestBatches.sample());
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.writeBytes(gzip(Arrays.copyOfRange(records, 0, 100)));
    out.writeBytes(gzip(new byte[0]));
    out.writeBytes(gzip(Arrays.copyOfRange(records, 100, records.length)));
    assertThat(BatchReader.records(withPayload(Compression.GZIP, 3, out.toByteArray()), MIB))
        .isEqualTo(zeroBased(TestBatches.sample()));
  }

  @Test
  void gzipHeaderWithEveryOptionalFieldIsRead() throws Exception {
    byte[] plain = gzip(rawRecords(TestBatches.sample()));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(plain, 0, 3);
    out.write(0x1E);
    out.write(plain, 4, 6);
    out.writeBytes(new byte[] {3, 0, 1, 2, 3, 'n', 0, 'c', 0, 9, 9});
    out.write(plain, 10, plain.length - 10);
    byte[] payload = out.toByteArray();
    assertThat(BatchReader.records(withPayload(Compression.GZIP, 3, payload), MIB))
        .isEqualTo(zeroBased(TestBatches.sample()));
    for (int size = 0; size < payload.length; size++) {
      unreadable(withPayload(Compression.GZIP, 3, Arrays.copyOf(payload, size)), MIB);
    }
  }

  /** Each must end soon, without deep recursion and without a buffer per member. */
  @ParameterizedTest
  @EnumSource(
      value = Compression.class,
      names = {"NONE"},
      mode = EnumSource.Mode.EXCLUDE)
  void manyEmptyMembersAreATypedError(Compression codec) throws Exception {
    byte[] empty =
        switch (codec) {
          case GZIP -> gzip(new byte[0]);
          case SNAPPY -> snappyStream(new byte[0]);
          case LZ4 -> lz4(new byte[0]);
          case ZSTD -> Zstd.compress(new byte[0]);
          case NONE -> throw new AssertionError();
        };
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    while (out.size() < MIB) {
      out.writeBytes(empty);
    }
    unreadable(withPayload(codec, 1, out.toByteArray()), MIB);
  }

  @Test
  void rawSnappyBlockOfOtherProducersIsRead() throws Exception {
    byte[] raw = Snappy.compress(rawRecords(TestBatches.sample()));
    assertThat(BatchReader.records(withPayload(Compression.SNAPPY, 3, raw), MIB))
        .isEqualTo(zeroBased(TestBatches.sample()));
  }

  @Test
  void snappyStreamsWrittenOneAfterTheOtherAreRead() throws Exception {
    byte[] records = rawRecords(TestBatches.sample());
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.writeBytes(snappyStream(Arrays.copyOfRange(records, 0, 100)));
    out.writeBytes(snappyStream(Arrays.copyOfRange(records, 100, records.length)));
    assertThat(BatchReader.records(withPayload(Compression.SNAPPY, 3, out.toByteArray()), MIB))
        .isEqualTo(zeroBased(TestBatches.sample()));
  }

  @ParameterizedTest
  @CsvSource({
    "GZIP, 0102030405060708090a0b0c0d0e0f1011121314",
    "LZ4, 0102030405060708090a0b0c0d0e0f1011121314",
    "SNAPPY, ffffffffffffffffffffffffffff",
    "SNAPPY, 82534e4150505900000000010000000100000064ff",
    "SNAPPY, 82534e41505059000000000100000001ffffffff",
    "SNAPPY, 82534e415050590000000001000000010000000000",
    "SNAPPY, 82534e415050590000000001000000010000",
    "ZSTD, 0102030405060708090a0b0c0d0e0f1011121314",
    "ZSTD, 28b52ffd",
    "GZIP, 1f8b",
    "LZ4, 04224d18",
  })
  void damagedStreamIsATypedError(Compression codec, String hex) {
    byte[] payload = TestBatches.bytes(TestBatches.fromHex(hex));
    assertThat(unreadable(withPayload(codec, 1, payload), MIB))
        .hasMessageContaining("records of " + payload.length + " bytes do not decompress with ");
  }

  @ParameterizedTest
  @EnumSource(Compression.class)
  void emptyPayloadOfACompressedBatchIsATypedError(Compression codec) {
    unreadable(withPayload(codec, 1, new byte[0]), MIB);
  }

  @Test
  void countMustBeThatOfTheRecords() {
    ByteBuffer more = copy(TestBatches.build(Compression.ZSTD, TestBatches.sample()));
    more.putInt(BatchHeader.RECORD_COUNT_OFFSET, 4);
    more.putInt(BatchHeader.LAST_OFFSET_DELTA_OFFSET, 3);
    assertThat(unreadable(sealed(more), MIB).nextOffset()).isEqualTo(4);

    ByteBuffer fewer = copy(TestBatches.build(Compression.ZSTD, TestBatches.sample()));
    fewer.putInt(BatchHeader.RECORD_COUNT_OFFSET, 2);
    assertThat(unreadable(sealed(fewer), MIB)).hasMessageContaining("behind the last record");

    ByteBuffer forged = copy(TestBatches.build(Compression.ZSTD, TestBatches.sample()));
    forged.putInt(BatchHeader.RECORD_COUNT_OFFSET, Integer.MAX_VALUE);
    forged.putInt(BatchHeader.LAST_OFFSET_DELTA_OFFSET, Integer.MAX_VALUE - 1);
    assertThat(unreadable(sealed(forged), MIB))
        .hasMessageContaining("2147483647 records do not fit into");
  }

  @Test
  void countAboveTheOffsetsIsRefused() {
    ByteBuffer batch = copy(TestBatches.build(Compression.NONE, TestBatches.sample()));
    batch.putInt(BatchHeader.LAST_OFFSET_DELTA_OFFSET, 1);
    assertThat(unreadable(sealed(batch), MIB)).hasMessageContaining("last offset delta 1");
  }

  @Test
  void offsetDeltasMustRise() {
    // Records of 7 bytes: length 6, attributes, timestamp, offset, null key, null value, headers.
    byte[] twice =
        TestBatches.bytes(TestBatches.fromHex("0c 00 00 00 01 01 00 0c 00 00 00 01 01 00"));
    assertThat(unreadable(withPayload(Compression.NONE, 2, twice), MIB))
        .hasMessageContaining("record 1 has offset delta 0 behind 0, last is 1");
    byte[] beyond = TestBatches.bytes(TestBatches.fromHex("0c 00 00 02 01 01 00"));
    assertThat(unreadable(withPayload(Compression.NONE, 1, beyond), MIB))
        .hasMessageContaining("record 0 has offset delta 1 behind -1, last is 0");
  }

  @ParameterizedTest
  @CsvSource({
    "01000000010100, record length -1",
    "0e000000010100, record length 7 is not in 0..6",
    "0a000000010100, field of 1 bytes",
    "0c000000030100, field of -2 bytes",
    "0c000000010300, field of -2 bytes",
    "0c000000140100, field of 10 bytes",
    "0c000000010101, header count -1",
    "0c000000010108, header count 4 does not fit",
    "0e00000001010200, header count 1 does not fit",
    "12000000010102066101, 'field of 3 bytes, 2 are left'",
    "100000000101020100, header 0 has no key",
    "0e0000000101000000, 1 bytes left over in a record",
    "0c00000001010000, 1 bytes left over behind the last record",
    "1e00ffffffffffffffffffff00010100, number of more than 10 bytes",
    "160000feffffffff01010100, number 34359738367 does not fit into 32 bits",
  })
  void recordThatLiesAboutALengthIsRefused(String hex, String text) {
    byte[] payload = TestBatches.bytes(TestBatches.fromHex(hex));
    assertThat(unreadable(withPayload(Compression.NONE, 1, payload), MIB))
        .hasMessageContaining(text);
  }

  @Test
  void controlBatchAndUnknownCodecAreNotRecords() {
    ByteBuffer control = ControlBatch.encode(ControlType.TIME.code(), new byte[] {1});
    BatchHeader.patch(control, 9, 1);
    InvalidBatchException e = unreadable(control, MIB);
    assertThat(e).hasMessageContaining("control batch where records are expected");
    assertThat(e.nextOffset()).isEqualTo(9);

    ByteBuffer codec = copy(TestBatches.build(Compression.NONE, TestBatches.sample()));
    codec.putShort(BatchHeader.ATTRIBUTES_OFFSET, (short) 6);
    assertThat(unreadable(sealed(codec), MIB)).hasMessageContaining("unknown codec 6");
  }

  @Test
  void corruptBatchDoesNotSayWhereToGoOn() {
    ByteBuffer batch = copy(TestBatches.build(Compression.NONE, TestBatches.sample()));
    batch.put(70, (byte) (batch.get(70) ^ 1));
    InvalidBatchException e = refused(batch, MIB);
    assertThat(e.code()).isEqualTo(ErrorCode.CORRUPT_BATCH);
    assertThat(e.nextOffset()).isEqualTo(InvalidBatchException.UNKNOWN_OFFSET);
  }

  @Test
  void payloadIsCutIntoItsBatches() throws InvalidBatchException {
    ByteBuffer one = TestBatches.build(Compression.NONE, TestBatches.sample());
    ByteBuffer two = TestBatches.build(Compression.LZ4, List.of(input(5, "k", "v")));
    ByteBuffer payload = ByteBuffer.allocateDirect(1000).position(10);
    payload.put(one.duplicate()).put(two.duplicate()).flip().position(10);
    assertThat(BatchReader.split(payload)).containsExactly(one, two);
    assertThat(payload.position()).isEqualTo(10);
    assertThat(BatchReader.split(ByteBuffer.allocate(0))).isEmpty();
  }

  @Test
  void payloadThatEndsInsideABatchIsRefused() {
    ByteBuffer one = TestBatches.build(Compression.NONE, TestBatches.sample());
    for (int size = 1; size < one.remaining(); size++) {
      ByteBuffer cut = one.duplicate().limit(size);
      InvalidBatchException e =
          catchThrowableOfType(InvalidBatchException.class, () -> BatchReader.split(cut));
      assertThat(e.code()).isEqualTo(ErrorCode.INVALID_BATCH);
    }
    ByteBuffer negative = copy(one);
    negative.putInt(BatchHeader.BATCH_LENGTH_OFFSET, -12);
    assertThat(catchThrowableOfType(InvalidBatchException.class, () -> BatchReader.split(negative)))
        .hasMessageContaining("the batch says 0");
  }

  private static byte[] snappyStream(byte[] bytes) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (var snappy = new SnappyOutputStream(out)) {
      snappy.write(bytes);
    }
    return out.toByteArray();
  }

  private static byte[] gzip(byte[] bytes) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (var gzip = new GZIPOutputStream(out)) {
      gzip.write(bytes);
    }
    return out.toByteArray();
  }

  private static byte[] lz4(byte[] bytes) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (var lz4 = new LZ4FrameOutputStream(out, LZ4FrameOutputStream.BLOCKSIZE.SIZE_4MB)) {
      lz4.write(bytes);
    }
    return out.toByteArray();
  }

  private static byte[] rawRecords(List<Input> inputs) {
    byte[] batch = TestBatches.bytes(TestBatches.build(Compression.NONE, inputs));
    return Arrays.copyOfRange(batch, BatchHeader.SIZE, batch.length);
  }

  /** {@link TestBatches#withPayload} has base timestamp 0. */
  private static List<RecordView> zeroBased(List<Input> inputs) {
    long base = inputs.get(0).timestamp();
    return views(
        0,
        inputs.stream()
            .map(in -> new Input(in.timestamp() - base, in.key(), in.value(), in.headers()))
            .toList());
  }

  private static InvalidBatchException unreadable(ByteBuffer batch, int maxDecompressedBytes) {
    InvalidBatchException e = refused(batch, maxDecompressedBytes);
    assertThat(e.code()).isEqualTo(ErrorCode.UNREADABLE_BATCH);
    return e;
  }

  private static InvalidBatchException refused(ByteBuffer batch, int maxDecompressedBytes) {
    InvalidBatchException e =
        catchThrowableOfType(
            InvalidBatchException.class, () -> BatchReader.records(batch, maxDecompressedBytes));
    assertThat(e).isNotNull();
    return e;
  }
}
