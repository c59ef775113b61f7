package io.millrace.protocol.batch;

import static io.millrace.protocol.batch.TestBatches.fromHex;
import static io.millrace.protocol.batch.TestBatches.hex;
import static io.millrace.protocol.batch.TestBatches.input;
import static io.millrace.protocol.batch.TestBatches.views;
import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.batch.TestBatches.Input;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Bytes on disk and on the wire that must stay as they are. */
class RecordBatchGoldenTest {

  private static final String ONE_RECORD =
      """
      0000000000000000 0000003a ffffffff 02 e99b8dd8 0000 00000000
      0000018bcfe56800 0000018bcfe56800 ffffffffffffffff ffff ffffffff 00000001
      10 00 00 00 02 6b 02 76 00
      """;

  private static final String ALL_NULL =
      """
      0000000000000000 00000038 ffffffff 02 baab5a07 0000 00000000
      ffffffffffffffff ffffffffffffffff ffffffffffffffff ffff ffffffff 00000001
      0c 00 00 00 01 01 00
      """;

  private static final String EVERY_FIELD =
      """
      0000000000000000 0000005a ffffffff 02 8cf26cb2 0000 00000002
      00000000000003e8 0000000000000428 1122334455667788 0102 0a0b0c0d 00000003
      26 00 00 00 06 6b6579 0a 76616c7565 02 02 68 04 0102
      0e 00 8001 02 01 00 00
      18 00 01 04 00 01 04 04 c3a4 01 00 00
      """;

  private static final String CONTROL =
      """
      0000000000000000 0000003e 00000000 02 d3845ce9 0020 ffffffff
      ffffffffffffffff ffffffffffffffff ffffffffffffffff ffff ffffffff 00000000
      18 00 00 00 08 0000 03eb 04 cafe 00
      """;

  @Test
  void oneRecordWithoutProducer() throws InvalidBatchException {
    assertGolden(ONE_RECORD, List.of(input(1_700_000_000_000L, "k", "v")), -1, -1, -1);
  }

  @Test
  void nullKeyAndValueWithoutTimestamp() throws InvalidBatchException {
    assertGolden(ALL_NULL, List.of(input(-1, null, null)), -1, -1, -1);
  }

  @Test
  void producerHeadersNullsAndTimestampsThatGoBack() throws InvalidBatchException {
    List<Input> inputs =
        List.of(
            input(1000, "key", "value", new RecordHeader("h", new byte[] {1, 2})),
            input(1064, null, ""),
            input(999, "", null, new RecordHeader("ä", null), new RecordHeader("", new byte[0])));
    assertGolden(EVERY_FIELD, inputs, 0x1122334455667788L, 0x0102, 0x0A0B0C0D);
  }

  @Test
  void controlBatch() throws InvalidBatchException {
    ByteBuffer batch =
        ControlBatch.encode(ControlType.TIME.code(), new byte[] {(byte) 0xCA, (byte) 0xFE});
    assertThat(hex(batch)).isEqualTo(hex(fromHex(CONTROL)));
    ControlRecord record = ControlBatch.decode(fromHex(CONTROL));
    assertThat(record.type()).isEqualTo(ControlType.TIME);
    assertThat(record.version()).isZero();
    assertThat(record.value().toByteArray()).containsExactly(0xCA, 0xFE);
  }

  /** Written by kafka-clients 4.3.1; our own compressed bytes may change with a library. */
  @ParameterizedTest
  @CsvSource({
    "GZIP,   0000006e ffffffff 02 e002d6a1 0001,"
        + "1f8b08000000000000ffeb60626060e0ca4eadd435f8c0589698539aaa407f92a18389818909ec0ac38175"
        + "050b0bd8154603e80a0026a786a892010000",
    "SNAPPY, 0000007f ffffffff 02 874e4916 0002,"
        + "82534e415050590000000001000000010000003a92034888020000000a6b65792d30f00176616c756520fe"
        + "0600c606001400880200020205860031fe8600f6860004040405860032fe8600ea8600",
    "LZ4,    00000076 ffffffff 02 5d3ca466 0003,"
        + "04224d1860408236000000ff0488020000000a6b65792d30f00176616c75652006005f6100880200020286"
        + "001f3186006b21040486001f32860063506c7565200000000000",
    "ZSTD,   0000006a ffffffff 02 0a315a00 0004,"
        + "28b52ffd00586c0100e888020000000a6b65792d30f00176616c7565200088020002023104043205001824"
        + "0104dc9058c208f04b5aec010000",
  })
  void compressedBatchIsReadForEver(Compression codec, String start, String payload)
      throws InvalidBatchException {
    String rest =
        "00000002 0000018bcfe56800 0000018bcfe56802 0000000000000007 0001 00000005 00000003";
    ByteBuffer batch = fromHex("0000000000000000" + start + rest + payload);
    String value = "value ".repeat(20);
    List<Input> inputs =
        List.of(
            input(1_700_000_000_000L, "key-0", value),
            input(1_700_000_000_001L, "key-1", value),
            input(1_700_000_000_002L, "key-2", value));
    assertThat(BatchHeader.read(batch, 0).compression()).isEqualTo(codec);
    assertThat(BatchReader.records(batch, 1000)).isEqualTo(views(0, inputs));
  }

  private static void assertGolden(
      String golden, List<Input> inputs, long producerId, int epoch, int sequence)
      throws InvalidBatchException {
    ByteBuffer batch =
        TestBatches.build(Compression.NONE, inputs, producerId, (short) epoch, sequence);
    assertThat(hex(batch)).isEqualTo(hex(fromHex(golden)));
    assertThat(BatchReader.records(fromHex(golden), 0)).isEqualTo(views(0, inputs));
  }
}
