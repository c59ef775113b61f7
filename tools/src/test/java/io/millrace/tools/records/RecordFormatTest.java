package io.millrace.tools.records;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonParser;
import io.millrace.client.ReceivedRecord;
import io.millrace.protocol.batch.RecordHeader;
import io.millrace.tools.UsageFailure;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class RecordFormatTest {
  private static final byte[] NOT_TEXT = {(byte) 0xC3, 0x28};

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static ReceivedRecord record(byte[] key, byte[] value, RecordHeader... headers) {
    return new ReceivedRecord("orders", 3, 42, 1_700_000_000_000L, key, value, List.of(headers));
  }

  private static byte[] written(String format, ReceivedRecord record) throws IOException {
    var out = new ByteArrayOutputStream();
    RecordFormat.parse(format, "\t").write(record, out);
    return out.toByteArray();
  }

  private static String text(String format, ReceivedRecord record) throws IOException {
    return new String(written(format, record), StandardCharsets.UTF_8);
  }

  @Test
  void valueAndKeyValue() throws IOException {
    assertThat(text("value", record(bytes("k"), bytes("v")))).isEqualTo("v\n");
    assertThat(text("key-value", record(bytes("k"), bytes("v")))).isEqualTo("k\tv\n");
    assertThat(text("key-value", record(null, null))).isEqualTo("\t\n");
  }

  @Test
  void bytesThatAreNotTextAreWrittenAsTheyAre() throws IOException {
    assertThat(written("value", record(null, NOT_TEXT)))
        .containsExactly(NOT_TEXT[0], NOT_TEXT[1], '\n');
  }

  @Test
  void everyField() throws IOException {
    assertThat(
            text(
                "%T/%p:%o @%t\\t%k=%v [%h] 100%%",
                record(
                    bytes("k"),
                    bytes("v"),
                    new RecordHeader("a", bytes("1")),
                    new RecordHeader("b", null))))
        .isEqualTo("orders/3:42 @1700000000000\tk=v [a=1,b=] 100%\n");
  }

  @Test
  void json() throws IOException {
    assertThat(
            JsonParser.parseString(
                text("json", record(bytes("k"), bytes("v\n"), new RecordHeader("a", bytes("1"))))))
        .isEqualTo(
            JsonParser.parseString(
                """
                {"topic":"orders","partition":3,"offset":42,"timestampMillis":1700000000000,
                 "key":"k","value":"v\\n","headers":[{"key":"a","value":"1"}]}
                """));
    assertThat(text("json", record(null, NOT_TEXT)))
        .isEqualTo(
            "{\"topic\":\"orders\",\"partition\":3,\"offset\":42,\"timestampMillis\":1700000000000,"
                + "\"key\":null,\"valueBase64\":\"wyg=\"}\n");
  }

  @Test
  void whatIsNotKnownIsRefusedWithTheForms() {
    assertThatThrownBy(() -> RecordFormat.parse("values", "\t"))
        .isInstanceOf(UsageFailure.class)
        .hasMessageContaining("--format 'values' is not value, key-value, json");
    assertThatThrownBy(() -> RecordFormat.parse("%q", "\t"))
        .isInstanceOf(UsageFailure.class)
        .hasMessageContaining("%q is not known");
    assertThatThrownBy(() -> RecordFormat.parse("%k %", "\t"))
        .isInstanceOf(UsageFailure.class)
        .hasMessageContaining("ends with a single %");
  }
}
