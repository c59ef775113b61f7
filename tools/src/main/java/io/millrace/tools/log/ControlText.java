package io.millrace.tools.log;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import io.millrace.broker.ControlContents;
import io.millrace.broker.log.SegmentFields;
import io.millrace.broker.log.SegmentFoot;
import io.millrace.broker.log.SegmentHead;
import io.millrace.protocol.batch.BatchFields;
import io.millrace.protocol.batch.BatchFields.Field;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlRecord;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.batch.InvalidBatchException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a control batch says. */
record ControlText(String type, Map<String, Object> content) {
  private static final int MAX_BYTES = 40;

  /** Of a whole batch, from position 0 on. */
  static ControlText of(ByteBuffer batch) {
    try {
      ControlRecord record = ControlBatch.decode(batch);
      String type = record.type() == null ? "type " + record.code() : record.type().name();
      return new ControlText(type, content(record, batch));
    } catch (InvalidBatchException | InvalidProtocolBufferException e) {
      return new ControlText("unreadable", Map.of("reason", e.getMessage()));
    }
  }

  private static Map<String, Object> content(ControlRecord record, ByteBuffer batch)
      throws InvalidBatchException, InvalidProtocolBufferException {
    if (record.type() == ControlType.SEGMENT_HEAD) {
      SegmentHead head = SegmentHead.decode(batch);
      return head == null ? unknown(record) : of(head);
    }
    if (record.type() == ControlType.SEGMENT_FOOT) {
      SegmentFoot foot = SegmentFoot.decode(batch);
      return foot == null ? unknown(record) : of(foot);
    }
    Message message = ControlContents.messageOf(record);
    return message == null ? unknown(record) : MessageText.fields(message);
  }

  private static Map<String, Object> unknown(ControlRecord record) {
    return record.value().isEmpty()
        ? Map.of()
        : Map.of("value", BatchFields.printable(record.value().toByteArray(), MAX_BYTES));
  }

  private static Map<String, Object> of(SegmentHead head) {
    var fields = new LinkedHashMap<String, Object>();
    fields.put("cluster", head.identity().clusterId());
    fields.put("topic", head.identity().topicId().toString());
    fields.put("partition", head.identity().partition());
    fields.put("firstIndex", head.name().firstIndex());
    fields.put("baseOffset", head.name().baseOffset());
    fields.put("logTime", head.logTime());
    return fields;
  }

  private static Map<String, Object> of(SegmentFoot foot) {
    var fields = new LinkedHashMap<String, Object>();
    fields.put("lastIndex", foot.lastIndex());
    fields.put("nextOffset", foot.nextOffset());
    fields.put("maxTimestamp", foot.maxTimestamp());
    fields.put("firstLogTime", foot.firstLogTime());
    fields.put("lastLogTime", foot.lastLogTime());
    fields.put("recordBytes", foot.recordBytes());
    fields.put("chain", String.format("%08x", foot.chain()));
    var terms = new ArrayList<Map<String, Object>>();
    for (int i = 0; i < foot.epochs().size(); i++) {
      var term = new LinkedHashMap<String, Object>();
      term.put("term", foot.epochs().term(i));
      term.put("firstIndex", foot.epochs().firstIndex(i));
      term.put("firstOffset", foot.epochs().firstOffset(i));
      terms.add(term);
    }
    fields.put("terms", terms);
    return fields;
  }

  /** The fields of a batch, those in the value of a control batch among them. */
  static List<Field> fields(ByteBuffer batch, int maxRecords, int maxDecompressedBytes)
      throws InvalidBatchException, IOException {
    List<Field> fields = BatchFields.of(batch, maxRecords, maxDecompressedBytes);
    var all = new ArrayList<Field>();
    ControlRecord control = isControl(fields) ? ControlBatch.decode(batch) : null;
    for (Field field : fields) {
      if (control != null && field.name().equals(BatchFields.CONTROL_VALUE)) {
        addValue(all, field, valueFields(control, batch, field));
      } else {
        all.add(field);
      }
    }
    return all;
  }

  private static void addValue(List<Field> all, Field value, List<Field> parts) {
    String text = parts.isEmpty() ? value.value() : value.bytes() + " bytes:";
    all.add(
        new Field(
            value.depth(), value.offset(), value.bytes(), value.hex(), value.name(), text, false));
    all.addAll(parts);
  }

  private static boolean isControl(List<Field> fields) {
    return fields.stream().anyMatch(field -> field.name().equals("keyVersion"));
  }

  private static List<Field> valueFields(ControlRecord control, ByteBuffer batch, Field value)
      throws IOException {
    if (control.type() == ControlType.SEGMENT_HEAD) {
      return SegmentFields.ofHead(batch, value.offset(), value.bytes());
    }
    if (control.type() == ControlType.SEGMENT_FOOT) {
      return SegmentFields.ofFoot(batch, value.offset(), value.bytes());
    }
    Message message = ControlContents.messageOf(control);
    return message == null
        ? List.of()
        : MessageFields.of(batch, value.offset(), value.bytes(), message.getDescriptorForType());
  }

  /** On one line. */
  String line() {
    String text = MessageText.line(content);
    return text.isEmpty() ? type : type + " " + text;
  }
}
