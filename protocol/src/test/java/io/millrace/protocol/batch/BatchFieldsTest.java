package io.millrace.protocol.batch;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.batch.BatchFields.Field;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class BatchFieldsTest {

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static ByteBuffer batch(Compression codec) {
    BatchWriter writer = new BatchWriter(codec, 10_000);
    writer.tryAppend(
        1000, bytes("key"), bytes("v".repeat(200)), List.of(new RecordHeader("h", null)));
    writer.tryAppend(1003, null, bytes("w".repeat(200)), List.of());
    ByteBuffer built = writer.build(7, (short) 1, 40);
    return ByteBuffer.allocate(built.remaining()).put(built).flip();
  }

  private static Field named(List<Field> fields, String name) {
    return fields.stream().filter(field -> field.name().equals(name)).findFirst().orElseThrow();
  }

  @Test
  void everyByteIsInOneField() throws InvalidBatchException {
    for (ByteBuffer batch :
        List.of(
            batch(Compression.NONE),
            batch(Compression.LZ4),
            ControlBatch.encode(ControlType.NO_OP.code(), new byte[0]),
            ControlBatch.encode(ControlType.COMMIT.code(), bytes("content")))) {
      int at = 0;
      for (Field field : BatchFields.of(batch, 10, 10_000)) {
        if (!field.decompressed()) {
          assertThat(field.offset()).as(field.name()).isEqualTo(at);
          at += field.bytes();
        }
      }
      assertThat(at).isEqualTo(batch.limit());
    }
  }

  @Test
  void fieldsSayWhatTheyMean() throws InvalidBatchException {
    List<Field> fields = BatchFields.of(batch(Compression.NONE), 10, 10_000);
    assertThat(named(fields, "producerId"))
        .isEqualTo(new Field(0, 43, 8, "0000000000000007", "producerId", "7", false));
    assertThat(named(fields, "lastOffsetDelta").value()).isEqualTo("1: last offset 1");
    assertThat(named(fields, "key").value()).isEqualTo("'key'");
    assertThat(named(fields, "headerValueLength").value()).isEqualTo("-1, null");
    assertThat(named(fields, "maxTimestamp").value()).isEqualTo("1003, 1970-01-01T00:00:01.003Z");
    assertThat(named(fields, "crc").value()).endsWith(": matches");

    List<Field> packed = BatchFields.of(batch(Compression.ZSTD), 1, 10_000);
    assertThat(named(packed, "records").value()).startsWith("zstd, ").contains("decompressed");
    assertThat(packed.stream().filter(field -> field.name().equals("key"))).hasSize(1);
    assertThat(named(packed, "key").decompressed()).isTrue();
  }

  @Test
  void bytesArePrintedWithoutHarm() {
    assertThat(BatchFields.printable(null, 10)).isEqualTo("null");
    assertThat(BatchFields.printable(bytes("a'b\\\n\r\t\u001b[2J"), 20))
        .isEqualTo("'a\\'b\\\\\\n\\r\\t\\u001b[2J'");
    assertThat(BatchFields.printable(bytes("h\u00e4llo"), 2)).isEqualTo("'h'.. (6 bytes)");
    assertThat(BatchFields.printable(new byte[] {(byte) 0xff, 1, 2}, 2))
        .isEqualTo("0xff01.. (3 bytes)");
    assertThat(BatchFields.printable(new byte[0], 2)).isEqualTo("''");
  }
}
