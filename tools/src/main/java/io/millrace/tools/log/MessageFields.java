package io.millrace.tools.log;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.WireFormat;
import io.millrace.protocol.batch.BatchFields;
import io.millrace.protocol.batch.BatchFields.Field;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** The fields of an encoded protobuf message where they stand in a batch. */
final class MessageFields {
  private static final int MAX_DEPTH = 8;
  private static final int MAX_TEXT_BYTES = 60;

  private final ByteBuffer batch;
  private final List<Field> fields = new ArrayList<>();

  private MessageFields(ByteBuffer batch) {
    this.batch = batch;
  }

  /**
   * @param batch a whole batch from position 0 on, with an array
   * @param offset of the message in it
   */
  static List<Field> of(ByteBuffer batch, int offset, int bytes, Descriptor type)
      throws IOException {
    var message = new MessageFields(batch);
    message.add(type, offset, bytes, 1);
    return message.fields;
  }

  private void add(Descriptor type, int offset, int bytes, int depth) throws IOException {
    CodedInputStream in =
        CodedInputStream.newInstance(batch.array(), batch.arrayOffset() + offset, bytes);
    while (true) {
      int from = in.getTotalBytesRead();
      int tag = in.readTag();
      if (tag == 0) {
        return;
      }
      int number = WireFormat.getTagFieldNumber(tag);
      FieldDescriptor field = type.findFieldByNumber(number);
      if (WireFormat.getTagWireType(tag) != WireFormat.WIRETYPE_LENGTH_DELIMITED) {
        String value = numeric(in, tag, field);
        put(depth, offset + from, offset + in.getTotalBytesRead(), name(field, number), value);
        continue;
      }
      int length = in.readRawVarint32();
      int start = in.getTotalBytesRead();
      byte[] content = in.readRawBytes(length);
      boolean nested =
          field != null
              && field.getJavaType() == FieldDescriptor.JavaType.MESSAGE
              && depth < MAX_DEPTH;
      put(
          depth,
          offset + from,
          offset + (nested ? start : in.getTotalBytesRead()),
          name(field, number),
          nested ? "message of " + length + " bytes" : text(field, content));
      if (nested) {
        add(field.getMessageType(), offset + start, length, depth + 1);
      }
    }
  }

  private void put(int depth, int from, int to, String name, String value) {
    fields.add(BatchFields.field(batch, depth, from, to, name, value, false));
  }

  private static String name(FieldDescriptor field, int number) {
    return field == null ? "field " + number : field.getJsonName() + " (" + number + ")";
  }

  private static String numeric(CodedInputStream in, int tag, FieldDescriptor field)
      throws IOException {
    switch (WireFormat.getTagWireType(tag)) {
      case WireFormat.WIRETYPE_VARINT -> {
        long value = in.readRawVarint64();
        if (field != null && field.getJavaType() == FieldDescriptor.JavaType.BOOLEAN) {
          return Boolean.toString(value != 0);
        }
        if (field != null && field.getJavaType() == FieldDescriptor.JavaType.ENUM) {
          EnumValueDescriptor constant = field.getEnumType().findValueByNumber((int) value);
          return constant == null ? Long.toString(value) : value + " " + constant.getName();
        }
        return Long.toString(value);
      }
      case WireFormat.WIRETYPE_FIXED64 -> {
        return Long.toString(in.readRawLittleEndian64());
      }
      case WireFormat.WIRETYPE_FIXED32 -> {
        return Integer.toString(in.readRawLittleEndian32());
      }
      default -> {
        in.skipField(tag);
        return "";
      }
    }
  }

  private static String text(FieldDescriptor field, byte[] content) {
    return field != null && field.getJavaType() == FieldDescriptor.JavaType.BYTE_STRING
        ? MessageText.text(ByteString.copyFrom(content))
        : BatchFields.printable(content, MAX_TEXT_BYTES);
  }
}
