package io.millrace.tools.records;

import io.millrace.client.ReceivedRecord;
import io.millrace.protocol.batch.RecordHeader;
import io.millrace.tools.Output;
import io.millrace.tools.Quantities;
import io.millrace.tools.UsageFailure;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** How a read record is written: the values of {@code --format}. */
public interface RecordFormat {
  void write(ReceivedRecord record, OutputStream out) throws IOException;

  static RecordFormat parse(String text, String keySeparator) {
    return switch (text) {
      case "value" -> new Template(List.of(Part.VALUE, Part.LINE_END));
      case "key-value" ->
          new Template(List.of(Part.KEY, Part.text(keySeparator), Part.VALUE, Part.LINE_END));
      case "json" -> new Json();
      default -> {
        if (text.indexOf('%') < 0) {
          throw new UsageFailure(
              "--format '"
                  + text
                  + "' is not value, key-value, json, or a text with %k %v %o %p %t %T %h");
        }
        yield Template.parse(text);
      }
    };
  }

  /** A piece of a line. */
  interface Part {
    Part KEY = (record, out) -> writeOrNothing(record.key(), out);
    Part VALUE = (record, out) -> writeOrNothing(record.value(), out);
    Part LINE_END = text("\n");

    void write(ReceivedRecord record, OutputStream out) throws IOException;

    static Part text(String text) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      return (record, out) -> out.write(bytes);
    }

    private static void writeOrNothing(byte[] bytes, OutputStream out) throws IOException {
      if (bytes != null) {
        out.write(bytes);
      }
    }
  }

  /** Fixed pieces and fields, one record after the other. */
  record Template(List<Part> parts) implements RecordFormat {
    static Template parse(String text) {
      String plain = Quantities.unescaped(text);
      var parts = new ArrayList<Part>();
      var literal = new StringBuilder();
      for (int i = 0; i < plain.length(); i++) {
        char c = plain.charAt(i);
        if (c != '%') {
          literal.append(c);
          continue;
        }
        if (++i == plain.length()) {
          throw new UsageFailure("--format '" + text + "' ends with a single %; write %% for it");
        }
        if (plain.charAt(i) == '%') {
          literal.append('%');
          continue;
        }
        parts.add(Part.text(literal.toString()));
        literal.setLength(0);
        parts.add(field(plain.charAt(i), text));
      }
      parts.add(Part.text(literal.append('\n').toString()));
      return new Template(List.copyOf(parts));
    }

    private static Part field(char letter, String format) {
      return switch (letter) {
        case 'k' -> Part.KEY;
        case 'v' -> Part.VALUE;
        case 'o' -> (record, out) -> Part.text(Long.toString(record.offset())).write(record, out);
        case 'p' ->
            (record, out) -> Part.text(Integer.toString(record.partition())).write(record, out);
        case 't' ->
            (record, out) -> Part.text(Long.toString(record.timestampMillis())).write(record, out);
        case 'T' -> (record, out) -> Part.text(record.topic()).write(record, out);
        case 'h' -> (record, out) -> Part.text(headers(record.headers())).write(record, out);
        default ->
            throw new UsageFailure(
                "--format '"
                    + format
                    + "': %"
                    + letter
                    + " is not known; use %k key, %v value, %o offset, %p partition, %t timestamp,"
                    + " %T topic, %h headers");
      };
    }

    private static String headers(List<RecordHeader> headers) {
      return String.join(
          ",",
          headers.stream()
              .map(
                  header ->
                      header.key()
                          + "="
                          + (header.value() == null
                              ? ""
                              : new String(header.value(), StandardCharsets.UTF_8)))
              .toList());
    }

    @Override
    public void write(ReceivedRecord record, OutputStream out) throws IOException {
      for (Part part : parts) {
        part.write(record, out);
      }
    }
  }

  /**
   * One object on one line. Bytes that are not UTF-8 stand under the same name with "Base64" after
   * it, so that nothing is altered.
   */
  record Json() implements RecordFormat {
    @Override
    public void write(ReceivedRecord record, OutputStream out) throws IOException {
      var object = new LinkedHashMap<String, Object>();
      object.put("topic", record.topic());
      object.put("partition", record.partition());
      object.put("offset", record.offset());
      object.put("timestampMillis", record.timestampMillis());
      put(object, "key", record.key());
      put(object, "value", record.value());
      if (!record.headers().isEmpty()) {
        var headers = new ArrayList<Map<String, Object>>();
        for (RecordHeader header : record.headers()) {
          var one = new LinkedHashMap<String, Object>();
          one.put("key", header.key());
          put(one, "value", header.value());
          headers.add(one);
        }
        object.put("headers", headers);
      }
      out.write(Output.jsonLine(object).getBytes(StandardCharsets.UTF_8));
      out.write('\n');
    }

    private static void put(Map<String, Object> object, String name, byte[] bytes) {
      if (bytes == null) {
        object.put(name, null);
        return;
      }
      try {
        object.put(
            name, StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
      } catch (CharacterCodingException notText) {
        object.put(name + "Base64", Base64.getEncoder().encodeToString(bytes));
      }
    }
  }
}
