package io.millrace.broker.log;

import io.millrace.protocol.batch.BatchFields;
import io.millrace.protocol.batch.BatchFields.Field;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;

/** The fields in the values of head and footer, as {@link BatchFields} gives those of the batch. */
public final class SegmentFields {

  private static final int VALUE_DEPTH = 1;
  private static final int EPOCH_DEPTH = 2;

  private final ByteBuffer batch;
  private final int end;
  private final List<Field> fields = new ArrayList<>();
  private int at;

  private SegmentFields(ByteBuffer batch, int offset, int bytes) {
    this.batch = batch;
    this.at = offset;
    this.end = offset + bytes;
  }

  /**
   * @param batch the whole batch of a readable head, from position 0 on
   * @param offset of the value in it
   */
  public static List<Field> ofHead(ByteBuffer batch, int offset, int bytes) {
    SegmentFields parts = new SegmentFields(batch, offset, bytes);
    parts.twoBytes("formatVersion");
    parts.twoBytes("reserved");
    parts.fourBytes("partition", "");
    parts.topicId();
    parts.number("firstIndex", "Raft index of the first entry");
    parts.number("baseOffset", "offset of the first record");
    parts.time("logTime");
    parts.add(VALUE_DEPTH, 2, "clusterIdLength", Short.toString(batch.getShort(parts.at)));
    int length = parts.end - parts.at;
    byte[] cluster = new byte[length];
    batch.get(parts.at, cluster);
    parts.add(VALUE_DEPTH, length, "clusterId", new String(cluster, StandardCharsets.UTF_8));
    return parts.fields;
  }

  /** As {@link #ofHead}, of a readable footer. */
  public static List<Field> ofFoot(ByteBuffer batch, int offset, int bytes) {
    SegmentFields parts = new SegmentFields(batch, offset, bytes);
    parts.twoBytes("formatVersion");
    parts.twoBytes("reserved");
    parts.add(
        VALUE_DEPTH,
        4,
        "chain",
        HexFormat.of().toHexDigits(batch.getInt(parts.at)) + ", CRC chain of all headers");
    parts.number("lastIndex", "Raft index of the last entry");
    parts.number("nextOffset", "offset behind the last record");
    parts.time("maxTimestamp");
    parts.time("firstLogTime");
    parts.time("lastLogTime");
    parts.number("recordBytes", "bytes of record batches");
    int epochs = batch.getInt(parts.at);
    parts.fourBytes("epochs", " terms begin or go on here");
    for (int i = 0; i < epochs; i++) {
      String text =
          "term "
              + batch.getLong(parts.at)
              + " from entry "
              + batch.getLong(parts.at + 8)
              + ", offset "
              + batch.getLong(parts.at + 16);
      parts.add(EPOCH_DEPTH, 24, "epoch", text);
    }
    parts.fourBytes("footerBytes", " bytes from its begin to the end of the file");
    parts.add(VALUE_DEPTH, 4, "magic", "MRFT");
    return parts.fields;
  }

  private void add(int depth, int bytes, String name, String value) {
    fields.add(BatchFields.field(batch, depth, at, at + bytes, name, value, false));
    at += bytes;
  }

  private void twoBytes(String name) {
    add(VALUE_DEPTH, 2, name, Short.toString(batch.getShort(at)));
  }

  private void fourBytes(String name, String meaning) {
    add(VALUE_DEPTH, 4, name, batch.getInt(at) + meaning);
  }

  private void number(String name, String meaning) {
    add(VALUE_DEPTH, 8, name, batch.getLong(at) + ", " + meaning);
  }

  private void time(String name) {
    add(VALUE_DEPTH, 8, name, BatchFields.time(batch.getLong(at)));
  }

  private void topicId() {
    add(VALUE_DEPTH, 16, "topicId", new UUID(batch.getLong(at), batch.getLong(at + 8)).toString());
  }
}
