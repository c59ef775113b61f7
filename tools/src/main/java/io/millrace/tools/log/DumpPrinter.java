package io.millrace.tools.log;

import io.millrace.broker.log.SegmentWalk;
import io.millrace.broker.log.StoredBatch;
import io.millrace.protocol.batch.BatchFields;
import io.millrace.protocol.batch.BatchFields.Field;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.BatchReader;
import io.millrace.protocol.batch.InvalidBatchException;
import io.millrace.protocol.batch.RecordHeader;
import io.millrace.protocol.batch.RecordView;
import io.millrace.tools.Output;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Prints batches as they come, one line each: a segment can hold millions, so no table waits for
 * the widths of all.
 */
final class DumpPrinter {
  private static final int MAX_BATCH_BYTES = 64 << 20;
  private static final int MAX_ANNOTATED_RECORDS = 20;
  private static final int MAX_SHOWN_BYTES = 100;
  private static final String NONE = "-";
  private static final String ROW = "%8s  %5s  %-15s  %7s  %9s  %10s  %-31s  %-16s  %-6s  %-3s  %s";
  private static final String FIELD = "  %12s  %-34s  %-22s  %s";

  private final Output.Form form;
  private final PrintStream out;
  private final boolean annotate;
  private final boolean records;
  private Path file;

  DumpPrinter(Output.Form form, PrintStream out, boolean annotate, boolean records) {
    this.form = form;
    this.out = out;
    this.annotate = annotate;
    this.records = records;
  }

  void segment(Path segment, SegmentWalk walk) {
    boolean first = file == null;
    file = segment;
    if (form == Output.Form.table) {
      out.println((first ? "" : System.lineSeparator()) + segment + "  " + walk.end() + " bytes");
      line(
          "INDEX",
          "TERM",
          "OFFSETS",
          "RECORDS",
          "BYTES",
          "POSITION",
          "TIME",
          "PRODUCER",
          "CODEC",
          "CRC",
          "CONTENT");
    }
  }

  /** A good batch: the walk has computed its checksum. */
  void batch(StoredBatch batch, SegmentWalk walk) throws IOException {
    boolean control = batch.controlType() != StoredBatch.RECORDS;
    ByteBuffer bytes = control || annotate || records ? walk.read(batch, MAX_BATCH_BYTES) : null;
    ControlText content = control && bytes != null ? ControlText.of(bytes) : null;
    if (form == Output.Form.json) {
      json(batch, content, bytes);
      return;
    }
    BatchHeader header = batch.header();
    line(
        batch.kind() == StoredBatch.Kind.ENTRY ? Long.toString(batch.index()) : NONE,
        batch.kind() == StoredBatch.Kind.ENTRY ? Integer.toString(batch.term()) : NONE,
        offsets(header),
        Integer.toString(header.recordCount()),
        Integer.toString(batch.size()),
        Long.toString(batch.position()),
        times(header),
        producer(header),
        header.compression() == null ? "?" : header.compression().toString(),
        "ok",
        control ? content == null ? "too large to show" : content.line() : "");
    if (bytes != null && records && !control) {
      recordLines(bytes);
    }
    if (bytes != null && annotate) {
      annotation(batch, bytes);
    }
  }

  /** Where nothing can be read. */
  void bad(long position, long end, String reason) {
    if (form == Output.Form.json) {
      var object = new LinkedHashMap<String, Object>();
      object.put("file", file.toString());
      object.put("kind", "bad");
      object.put("position", position);
      object.put("bytes", end - position);
      object.put("problem", reason);
      out.println(Output.jsonLine(object));
      return;
    }
    line(
        NONE,
        NONE,
        NONE,
        NONE,
        Long.toString(end - position),
        Long.toString(position),
        NONE,
        NONE,
        NONE,
        "BAD",
        reason);
  }

  private void line(Object... values) {
    if (form == Output.Form.plain) {
      out.println(String.join("\t", List.of(values).stream().map(Object::toString).toList()));
    } else {
      out.println(String.format(Locale.ROOT, ROW, values).stripTrailing());
    }
  }

  private static String offsets(BatchHeader header) {
    if (header.isControl()) {
      return "(" + header.baseOffset() + ")";
    }
    return header.lastOffset() == header.baseOffset()
        ? Long.toString(header.baseOffset())
        : header.baseOffset() + "-" + header.lastOffset();
  }

  /** Of the first record, and how much later the latest is. */
  private static String times(BatchHeader header) {
    if (header.maxTimestamp() < 0) {
      return NONE;
    }
    String first = instant(header.baseTimestamp());
    return header.baseTimestamp() == header.maxTimestamp()
        ? first
        : first + "+" + (header.maxTimestamp() - header.baseTimestamp()) + "ms";
  }

  private static String instant(long millis) {
    return millis < 0 ? NONE : Instant.ofEpochMilli(millis).toString();
  }

  /** Id, epoch, and sequences. */
  private static String producer(BatchHeader header) {
    return header.hasProducerId()
        ? header.producerId()
            + "/"
            + header.producerEpoch()
            + "/"
            + header.baseSequence()
            + "-"
            + header.lastSequence()
        : NONE;
  }

  private void json(StoredBatch batch, ControlText content, ByteBuffer bytes) throws IOException {
    BatchHeader header = batch.header();
    boolean entry = batch.kind() == StoredBatch.Kind.ENTRY;
    var object = new LinkedHashMap<String, Object>();
    object.put("file", file.toString());
    object.put("kind", batch.kind().name().toLowerCase(Locale.ROOT));
    object.put("index", entry ? batch.index() : null);
    object.put("term", entry ? batch.term() : null);
    object.put("baseOffset", header.baseOffset());
    object.put("lastOffset", header.isControl() ? null : header.lastOffset());
    object.put("records", header.recordCount());
    object.put("bytes", batch.size());
    object.put("position", batch.position());
    object.put("baseTimestamp", orNull(header.baseTimestamp()));
    object.put("maxTimestamp", orNull(header.maxTimestamp()));
    object.put("producerId", orNull(header.producerId()));
    object.put("producerEpoch", orNull(header.producerEpoch()));
    object.put("baseSequence", orNull(header.baseSequence()));
    object.put(
        "compression", header.compression() == null ? null : header.compression().toString());
    object.put("crc", "ok");
    object.put("control", content == null ? null : content.type());
    object.put("content", content == null ? null : content.content());
    if (bytes != null && records && !header.isControl()) {
      object.put("recordList", recordObjects(bytes));
    }
    if (bytes != null && annotate) {
      object.put("fields", fieldObjects(batch, bytes));
    }
    out.println(Output.jsonLine(object));
  }

  private static Long orNull(long value) {
    return value == -1 ? null : Long.valueOf(value);
  }

  private void recordLines(ByteBuffer bytes) {
    try {
      for (RecordView record : BatchReader.records(bytes, MAX_BATCH_BYTES)) {
        out.println(
            "          "
                + record.offset()
                + "  "
                + instant(record.timestamp())
                + "  "
                + BatchFields.printable(record.key(), MAX_SHOWN_BYTES)
                + "  "
                + BatchFields.printable(record.value(), MAX_SHOWN_BYTES)
                + headers(record.headers()));
      }
    } catch (InvalidBatchException e) {
      out.println("          its records cannot be read: " + e.getMessage());
    }
  }

  private static String headers(List<RecordHeader> headers) {
    var text = new StringBuilder();
    for (RecordHeader header : headers) {
      text.append("  ")
          .append(printable(header.key()))
          .append('=')
          .append(BatchFields.printable(header.value(), MAX_SHOWN_BYTES));
    }
    return text.toString();
  }

  private static String printable(String key) {
    return BatchFields.printable(key.getBytes(StandardCharsets.UTF_8), MAX_SHOWN_BYTES);
  }

  private static List<Map<String, Object>> recordObjects(ByteBuffer bytes) {
    var objects = new ArrayList<Map<String, Object>>();
    try {
      for (RecordView record : BatchReader.records(bytes, MAX_BATCH_BYTES)) {
        var object = new LinkedHashMap<String, Object>();
        object.put("offset", record.offset());
        object.put("timestamp", orNull(record.timestamp()));
        object.put("key", BatchFields.printable(record.key(), MAX_SHOWN_BYTES));
        object.put("value", BatchFields.printable(record.value(), MAX_SHOWN_BYTES));
        objects.add(object);
      }
    } catch (InvalidBatchException e) {
      objects.add(Map.of("problem", e.getMessage()));
    }
    return objects;
  }

  private void annotation(StoredBatch batch, ByteBuffer bytes) throws IOException {
    try {
      for (Field field : ControlText.fields(bytes, MAX_ANNOTATED_RECORDS, MAX_BATCH_BYTES)) {
        out.println(
            String.format(
                Locale.ROOT,
                FIELD,
                position(batch, field),
                field.hex(),
                "  ".repeat(field.depth()) + field.name(),
                field.value()));
      }
      if (batch.header().recordCount() > MAX_ANNOTATED_RECORDS) {
        int more = batch.header().recordCount() - MAX_ANNOTATED_RECORDS;
        out.println("                and " + more + " more records");
      }
    } catch (InvalidBatchException e) {
      out.println("                it cannot be taken apart: " + e.getMessage());
    }
  }

  /** In the file; inside a compressed block from its begin. */
  private static String position(StoredBatch batch, Field field) {
    return field.decompressed()
        ? "+" + field.offset()
        : Long.toString(batch.position() + field.offset());
  }

  private static List<Map<String, Object>> fieldObjects(StoredBatch batch, ByteBuffer bytes)
      throws IOException {
    var objects = new ArrayList<Map<String, Object>>();
    try {
      for (Field field : ControlText.fields(bytes, MAX_ANNOTATED_RECORDS, MAX_BATCH_BYTES)) {
        var object = new LinkedHashMap<String, Object>();
        object.put("position", position(batch, field));
        object.put("bytes", field.bytes());
        object.put("hex", field.hex());
        object.put("depth", field.depth());
        object.put("name", field.name());
        object.put("value", field.value());
        objects.add(object);
      }
    } catch (InvalidBatchException e) {
      objects.add(Map.of("problem", e.getMessage()));
    }
    return objects;
  }
}
