package io.millrace.protocol.batch;

import io.millrace.protocol.error.ErrorCode;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * Takes a batch apart into its fields, in the order of its bytes, each with what it means: to read
 * along in a hex dump and learn the format. Not for use on any path of records.
 *
 * <p>Threads: any. Memory: bounded by the batch, the number of records asked for, and the limit of
 * decompression.
 */
public final class BatchFields {

  private static final int MAX_HEX_BYTES = 16;
  private static final int MAX_TEXT_BYTES = 60;
  private static final int MAX_HEADERS = 16;

  /**
   * One field.
   *
   * @param depth 0 in the batch, 1 inside the field before it, and so on
   * @param offset of its first byte, from the begin of the batch; if {@code decompressed}, from the
   *     begin of the records after decompression
   * @param hex its bytes, shortened
   */
  public record Field(
      int depth,
      int offset,
      int bytes,
      String hex,
      String name,
      String value,
      boolean decompressed) {}

  /** What a control batch's value is called; its content depends on the type. */
  public static final String CONTROL_VALUE = "value";

  private final ByteBuffer batch;
  private final BatchHeader header;
  private final List<Field> fields = new ArrayList<>();

  private BatchFields(ByteBuffer batch, BatchHeader header) {
    this.batch = batch;
    this.header = header;
  }

  /**
   * All fields of a whole batch, which starts at position 0 of the buffer; nothing is changed.
   *
   * @param maxRecords of so many records the fields are given
   * @throws InvalidBatchException if the batch cannot be taken apart
   */
  public static List<Field> of(ByteBuffer batch, int maxRecords, int maxDecompressedBytes)
      throws InvalidBatchException {
    BatchFields parts = new BatchFields(batch, BatchHeader.read(batch, 0));
    parts.addHeader();
    if (parts.header.isControl()) {
      parts.addControl();
    } else {
      parts.addRecords(maxRecords, maxDecompressedBytes);
    }
    return parts.fields;
  }

  private void addHeader() {
    boolean control = header.isControl();
    fixed(
        BatchHeader.BASE_OFFSET_OFFSET,
        BatchHeader.BATCH_LENGTH_OFFSET,
        "baseOffset",
        header.baseOffset() + (control ? ", taken by the next record, not by this batch" : ""));
    fixed(
        BatchHeader.BATCH_LENGTH_OFFSET,
        BatchHeader.PARTITION_LEADER_EPOCH_OFFSET,
        "batchLength",
        header.batchLength() + " bytes follow");
    fixed(
        BatchHeader.PARTITION_LEADER_EPOCH_OFFSET,
        BatchHeader.MAGIC_OFFSET,
        "partitionLeaderEpoch",
        header.partitionLeaderEpoch() == -1
            ? "-1: in the file only, no Raft entry"
            : "term " + header.partitionLeaderEpoch());
    fixed(
        BatchHeader.MAGIC_OFFSET,
        BatchHeader.CRC_OFFSET,
        "magic",
        header.magic() + ", the format of batches");
    fixed(
        BatchHeader.CRC_OFFSET,
        BatchHeader.ATTRIBUTES_OFFSET,
        "crc",
        "CRC-32C of all bytes from the attributes on: "
            + (BatchHeader.isIntact(batch, 0) ? "matches" : "DOES NOT MATCH"));
    fixed(
        BatchHeader.ATTRIBUTES_OFFSET,
        BatchHeader.LAST_OFFSET_DELTA_OFFSET,
        "attributes",
        "codec "
            + (header.compression() == null ? "unknown" : header.compression())
            + (control ? ", control" : "")
            + (header.isTransactional() ? ", transactional" : ""));
    fixed(
        BatchHeader.LAST_OFFSET_DELTA_OFFSET,
        BatchHeader.BASE_TIMESTAMP_OFFSET,
        "lastOffsetDelta",
        header.lastOffsetDelta()
            + (control ? ", takes no offset" : ": last offset " + header.lastOffset()));
    fixed(
        BatchHeader.BASE_TIMESTAMP_OFFSET,
        BatchHeader.MAX_TIMESTAMP_OFFSET,
        "baseTimestamp",
        time(header.baseTimestamp()));
    fixed(
        BatchHeader.MAX_TIMESTAMP_OFFSET,
        BatchHeader.PRODUCER_ID_OFFSET,
        "maxTimestamp",
        time(header.maxTimestamp()));
    fixed(
        BatchHeader.PRODUCER_ID_OFFSET,
        BatchHeader.PRODUCER_EPOCH_OFFSET,
        "producerId",
        orNone(header.producerId()));
    fixed(
        BatchHeader.PRODUCER_EPOCH_OFFSET,
        BatchHeader.BASE_SEQUENCE_OFFSET,
        "producerEpoch",
        orNone(header.producerEpoch()));
    fixed(
        BatchHeader.BASE_SEQUENCE_OFFSET,
        BatchHeader.RECORD_COUNT_OFFSET,
        "baseSequence",
        orNone(header.baseSequence()));
    fixed(
        BatchHeader.RECORD_COUNT_OFFSET,
        BatchHeader.SIZE,
        "recordCount",
        Integer.toString(header.recordCount()));
  }

  private void fixed(int from, int to, String name, String value) {
    fields.add(field(batch, 0, from, to, name, value, false));
  }

  private static String orNone(long number) {
    return number == -1 ? "-1, none" : Long.toString(number);
  }

  private void addControl() throws InvalidBatchException {
    Body body = new Body(BatchChecks.records(batch.duplicate()), false);
    body.number("length", " bytes follow");
    body.attributes();
    body.number("timestampDelta", "");
    body.number("offsetDelta", "");
    body.number("keyLength", "");
    body.shortNumber("keyVersion");
    body.shortNumber("type");
    body.bytes(body.number("valueLength", ""), CONTROL_VALUE);
    body.number("headerCount", "");
  }

  private void addRecords(int maxRecords, int maxDecompressedBytes) throws InvalidBatchException {
    ByteBuffer payload = BatchChecks.records(batch.duplicate());
    boolean compressed = header.compression() != Compression.NONE;
    if (compressed) {
      if (header.compression() == null) {
        throw new InvalidBatchException(ErrorCode.UNREADABLE_BATCH, "unknown codec");
      }
      ByteBuffer plain =
          Codecs.decompress(
              header.compression(), payload, maxDecompressedBytes, header.nextOffset());
      fields.add(
          field(
              batch,
              0,
              BatchHeader.SIZE,
              batch.limit(),
              "records",
              header.compression() + ", " + plain.remaining() + " bytes when decompressed",
              false));
      payload = plain;
    }
    Body body = new Body(payload, compressed);
    int shown = Math.min(header.recordCount(), maxRecords);
    for (int i = 0; i < shown; i++) {
      body.number("length", " bytes follow, record " + (i + 1) + " of " + header.recordCount());
      body.attributes();
      body.timestampDelta();
      body.offsetDelta();
      body.bytes(body.number("keyLength", ""), "key");
      body.bytes(body.number("valueLength", ""), "value");
      int headers = body.number("headerCount", "");
      for (int h = 0; h < Math.min(headers, MAX_HEADERS); h++) {
        body.bytes(body.number("headerKeyLength", ""), "headerKey");
        body.bytes(body.number("headerValueLength", ""), "headerValue");
      }
      if (headers > MAX_HEADERS) {
        // Without the rest of its headers the next record is not found.
        return;
      }
    }
  }

  /** Fields behind each other whose lengths the bytes themselves say. */
  private final class Body {

    private final ByteBuffer in;
    private final RecordParser parser;
    private final int base;
    private final int start;
    private final boolean decompressed;
    private int from;

    Body(ByteBuffer in, boolean decompressed) {
      this.in = in;
      this.start = in.position();
      this.from = start;
      this.decompressed = decompressed;
      this.base = decompressed ? 0 : BatchHeader.SIZE;
      this.parser =
          new RecordParser(
              in,
              ErrorCode.UNREADABLE_BATCH,
              "batch at " + header.baseOffset(),
              header.nextOffset());
    }

    private void add(String name, String value) {
      int to = in.position();
      fields.add(
          new Field(
              decompressed ? 1 : 0,
              base + from - start,
              to - from,
              hex(in, from, to),
              name,
              value,
              decompressed));
      from = to;
    }

    int number(String name, String meaning) throws InvalidBatchException {
      int value = parser.readVarint();
      add(name, value == -1 && name.endsWith("Length") ? "-1, null" : value + meaning);
      return value;
    }

    void attributes() throws InvalidBatchException {
      add("attributes", parser.readByte() + ", unused");
    }

    void timestampDelta() throws InvalidBatchException {
      long delta = parser.readVarlong();
      add("timestampDelta", delta + ": " + time(header.baseTimestamp() + delta));
    }

    void offsetDelta() throws InvalidBatchException {
      int delta = parser.readVarint();
      add("offsetDelta", delta + ": offset " + (header.baseOffset() + delta));
    }

    void shortNumber(String name) throws InvalidBatchException {
      short value = parser.readShort();
      ControlType type = name.equals("type") ? ControlType.of(value) : null;
      add(name, type == null ? Short.toString(value) : value + " " + type);
    }

    void bytes(int length, String name) throws InvalidBatchException {
      byte[] bytes = parser.readBytes(length);
      if (bytes != null) {
        add(name, printable(bytes, MAX_TEXT_BYTES));
      }
    }
  }

  /** A field of a buffer, between two absolute positions. */
  public static Field field(
      ByteBuffer buffer,
      int depth,
      int from,
      int to,
      String name,
      String value,
      boolean decompressed) {
    return new Field(depth, from, to - from, hex(buffer, from, to), name, value, decompressed);
  }

  private static String hex(ByteBuffer buffer, int from, int to) {
    byte[] bytes = new byte[Math.min(to - from, MAX_HEX_BYTES)];
    buffer.get(from, bytes);
    return HexFormat.of().formatHex(bytes) + (to - from > bytes.length ? ".." : "");
  }

  /** A time of the format: milliseconds since 1970, -1 = none. */
  public static String time(long millis) {
    return millis == -1 ? "-1, none" : millis + ", " + Instant.ofEpochMilli(millis);
  }

  /**
   * Bytes as a text in quotes if they are one, else in hex; so many at most, and then how many
   * there are. Control characters are escaped: printing it cannot upset a terminal or break a line.
   */
  public static String printable(byte[] bytes, int maxBytes) {
    if (bytes == null) {
      return "null";
    }
    String more = bytes.length > maxBytes ? ".. (" + bytes.length + " bytes)" : "";
    int shown = Math.min(bytes.length, maxBytes);
    String text = BytesText.decode(bytes, shown);
    return text == null
        ? "0x" + HexFormat.of().formatHex(bytes, 0, shown) + more
        : "'" + text + "'" + more;
  }
}
