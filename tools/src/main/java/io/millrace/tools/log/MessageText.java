package io.millrace.tools.log;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.millrace.protocol.batch.BatchFields;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Protobuf messages as fields for JSON, and on one line for people. */
final class MessageText {
  private static final int UUID_BYTES = 16;
  private static final int MAX_BYTES = 40;

  private MessageText() {}

  /** The fields that are set, by their JSON names. */
  static Map<String, Object> fields(Message message) {
    var fields = new LinkedHashMap<String, Object>();
    message
        .getAllFields()
        .forEach((field, value) -> fields.put(field.getJsonName(), plain(field, value)));
    return fields;
  }

  private static Object plain(FieldDescriptor field, Object value) {
    if (field.isRepeated() && value instanceof List<?> list) {
      return list.stream().map(each -> single(each)).toList();
    }
    return single(value);
  }

  private static Object single(Object value) {
    if (value instanceof Message message) {
      return fields(message);
    }
    if (value instanceof EnumValueDescriptor constant) {
      return constant.getName();
    }
    return value instanceof ByteString bytes ? text(bytes) : value;
  }

  /** Ids of 16 bytes as UUID; anything else as text or hex, shortened. */
  static String text(ByteString bytes) {
    if (bytes.size() == UUID_BYTES) {
      ByteBuffer buffer = bytes.asReadOnlyByteBuffer();
      return new UUID(buffer.getLong(), buffer.getLong()).toString();
    }
    return BatchFields.printable(bytes.toByteArray(), MAX_BYTES);
  }

  /** {@code name=value name={name=value} name=[a, b]}. */
  static String line(Map<String, Object> fields) {
    var line = new StringBuilder();
    fields.forEach(
        (name, value) ->
            line.append(line.isEmpty() ? "" : " ").append(name).append('=').append(text(value)));
    return line.toString();
  }

  private static String text(Object value) {
    if (value instanceof Map<?, ?> map) {
      var fields = new LinkedHashMap<String, Object>();
      map.forEach((name, each) -> fields.put(name.toString(), each));
      return "{" + line(fields) + "}";
    }
    if (value instanceof List<?> list) {
      return "[" + String.join(", ", list.stream().map(MessageText::text).toList()) + "]";
    }
    return String.valueOf(value);
  }
}
