package io.millrace.protocol.batch;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;

/** Builders of batches for tests. */
final class TestBatches {

  static final int MIB = 1 << 20;

  /** A record to write; what must come back. */
  record Input(long timestamp, byte[] key, byte[] value, List<RecordHeader> headers) {}

  private TestBatches() {}

  static byte[] utf8(String text) {
    return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
  }

  static Input input(long timestamp, String key, String value, RecordHeader... headers) {
    return new Input(timestamp, utf8(key), utf8(value), List.of(headers));
  }

  static ByteBuffer build(Compression codec, List<Input> inputs) {
    return build(codec, inputs, -1, (short) -1, -1);
  }

  static ByteBuffer build(
      Compression codec, List<Input> inputs, long producerId, short epoch, int sequence) {
    BatchWriter writer = new BatchWriter(codec, Integer.MAX_VALUE);
    for (Input in : inputs) {
      if (!writer.tryAppend(in.timestamp, in.key, in.value, in.headers)) {
        throw new AssertionError("no room");
      }
    }
    return writer.build(producerId, epoch, sequence);
  }

  /** Three records of every shape; compresses with every codec. */
  static List<Input> sample() {
    return List.of(
        input(1000, "key", "value".repeat(40), new RecordHeader("h", utf8("x"))),
        input(1005, null, "v".repeat(300)),
        input(999, "k", null, new RecordHeader("ä", null), new RecordHeader("", new byte[0])));
  }

  /** What the inputs must read back as. */
  static List<RecordView> views(long baseOffset, List<Input> inputs) {
    List<RecordView> views = new ArrayList<>();
    for (Input in : inputs) {
      views.add(
          new RecordView(baseOffset + views.size(), in.timestamp, in.key, in.value, in.headers));
    }
    return views;
  }

  /** Inputs of a seed: any bytes, null keys and values, headers, compressible or not. */
  static List<Input> random(Random random, int count, int maxValueBytes) {
    boolean compressible = random.nextBoolean();
    List<Input> inputs = new ArrayList<>();
    long now = random.nextInt(4) == 0 ? -1 : 1_700_000_000_000L;
    for (int i = 0; i < count; i++) {
      List<RecordHeader> headers = new ArrayList<>();
      for (int h = random.nextInt(8) == 0 ? random.nextInt(4) : 0; h > 0; h--) {
        String name = random.nextBoolean() ? "trace-" + h : "größe-\u4e16\uD83D\uDE00" + h;
        headers.add(new RecordHeader(name, bytes(random, 20, compressible)));
      }
      long timestamp = now < 0 ? -1 : Math.max(0, now + random.nextInt(100_000) - 50_000);
      inputs.add(
          new Input(
              timestamp,
              bytes(random, 30, compressible),
              bytes(random, maxValueBytes, compressible),
              headers));
    }
    return inputs;
  }

  private static byte[] bytes(Random random, int max, boolean compressible) {
    if (random.nextInt(8) == 0) {
      return null;
    }
    byte[] bytes = new byte[random.nextInt(max + 1)];
    if (compressible) {
      for (int i = 0; i < bytes.length; i++) {
        bytes[i] = (byte) ('a' + i % 7);
      }
    } else {
      random.nextBytes(bytes);
    }
    return bytes;
  }

  /** Gives a changed batch a checksum that matches, and the length that it has. */
  static ByteBuffer sealed(ByteBuffer batch) {
    batch.putInt(BatchHeader.BATCH_LENGTH_OFFSET, batch.remaining() - BatchHeader.LOG_OVERHEAD);
    int covered = batch.remaining() - BatchHeader.ATTRIBUTES_OFFSET;
    batch.putInt(BatchHeader.CRC_OFFSET, Crc32c.of(batch, BatchHeader.ATTRIBUTES_OFFSET, covered));
    return batch;
  }

  /** A batch of {@code count} records around a payload that is given. */
  static ByteBuffer withPayload(Compression codec, int count, byte[] payload) {
    ByteBuffer batch = ByteBuffer.allocate(BatchHeader.SIZE + payload.length);
    batch.put(BatchHeader.MAGIC_OFFSET, BatchHeader.MAGIC);
    batch.putShort(BatchHeader.ATTRIBUTES_OFFSET, (short) codec.id());
    batch.putInt(BatchHeader.LAST_OFFSET_DELTA_OFFSET, count - 1);
    batch.putLong(BatchHeader.PRODUCER_ID_OFFSET, -1);
    batch.putShort(BatchHeader.PRODUCER_EPOCH_OFFSET, (short) -1);
    batch.putInt(BatchHeader.BASE_SEQUENCE_OFFSET, -1);
    batch.putInt(BatchHeader.RECORD_COUNT_OFFSET, count);
    System.arraycopy(payload, 0, batch.array(), BatchHeader.SIZE, payload.length);
    return sealed(batch);
  }

  static byte[] bytes(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.remaining()];
    buffer.duplicate().get(bytes);
    return bytes;
  }

  static ByteBuffer copy(ByteBuffer buffer) {
    return ByteBuffer.wrap(bytes(buffer));
  }

  static String hex(ByteBuffer buffer) {
    return HexFormat.of().formatHex(bytes(buffer));
  }

  static ByteBuffer fromHex(String hex) {
    return ByteBuffer.wrap(HexFormat.of().parseHex(hex.replaceAll("\\s", "")));
  }
}
