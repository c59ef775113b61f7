package io.millrace.protocol.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.protobuf.ByteString;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.RaftHeader;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ControlBatchTest {

  @Test
  void codesAreTheGoldenList() {
    assertThat(Arrays.stream(ControlType.values()).map(t -> t.code() + " " + t))
        .containsExactly(
            "1000 CONF",
            "1001 SEGMENT_HEAD",
            "1002 SEGMENT_FOOT",
            "1003 TIME",
            "1004 LOG_START",
            "1005 CLEAN_POINT",
            "1006 CLAIM",
            "1007 COMMIT",
            "1008 GROUP_DELETE",
            "1009 PRODUCER_EXPIRE",
            "1010 METADATA",
            "1011 NO_OP");
    assertThat(List.of(-1, 0, 999, 1012, 1020, 1040, 32767))
        .allSatisfy(code -> assertThat(ControlType.of(code)).isNull());
  }

  @ParameterizedTest
  @EnumSource(ControlType.class)
  void messageComesBackAndTakesNoOffset(ControlType type) throws Exception {
    RaftHeader value = RaftHeader.newBuilder().setType(7).setGroup("t-1-0").build();
    ByteBuffer batch = ControlBatch.encode(type, value);
    BatchHeader.patch(batch, 500, 9);
    BatchHeader header = BatchHeader.read(batch, 0);
    assertThat(ControlBatch.isControl(header)).isTrue();
    assertThat(BatchHeader.isControl(batch, 0)).isTrue();
    assertThat(header.lastOffset()).isEqualTo(499);
    assertThat(header.nextOffset()).isEqualTo(500);
    assertThat(BatchHeader.nextOffset(batch, 0)).isEqualTo(500);
    assertThat(header.recordCount()).isZero();
    assertThat(header.maxTimestamp()).isEqualTo(-1);
    assertThat(header.hasProducerId()).isFalse();
    assertThat(header.lastSequence()).isEqualTo(-1);
    assertThat(header.sizeInBytes()).isEqualTo(batch.remaining());
    assertThat(BatchHeader.isIntact(batch, 0)).isTrue();

    ControlRecord record = ControlBatch.decode(batch);
    assertThat(record.type()).isEqualTo(type);
    assertThat(RaftHeader.parseFrom(record.value())).isEqualTo(value);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 54, 55, 56, 57, 63, 64, 127, 128, 8191, 8192, 100_000})
  void valueOfAnySizeInEveryForm(int size) throws InvalidBatchException {
    byte[] value = new byte[size];
    Arrays.fill(value, (byte) 0x5A);
    ByteBuffer batch = ControlBatch.encode((short) 1007, value);
    assertThat(ControlBatch.encode((short) 1007, ByteString.copyFrom(value))).isEqualTo(batch);
    ByteBuffer direct = ByteBuffer.allocateDirect(batch.remaining() + 5).position(5);
    direct.put(batch.duplicate()).position(5);
    assertThat(ControlBatch.decode(direct).value().toByteArray()).isEqualTo(value);
  }

  @Test
  void unknownTypeIsReadableSoThatTheReplicaCanNameIt() throws InvalidBatchException {
    ControlRecord record = ControlBatch.decode(ControlBatch.encode((short) 1999, new byte[] {1}));
    assertThat(record.type()).isNull();
    assertThat(record.code()).isEqualTo((short) 1999);
  }

  @Test
  void recordBatchIsNoControlBatch() {
    ByteBuffer batch = TestBatches.build(Compression.NONE, TestBatches.sample());
    assertThat(ControlBatch.isControl(BatchHeader.read(batch, 0))).isFalse();
    assertThat(refused(batch)).hasMessageContaining("no control batch: attributes 0x0, 3 records");
  }

  @Test
  void otherShapesAreRefused() {
    refused(b -> b.putInt(BatchHeader.RECORD_COUNT_OFFSET, 1), "1 records");
    refused(b -> b.putInt(BatchHeader.LAST_OFFSET_DELTA_OFFSET, 0), "last offset delta 0");
    refused(b -> b.putShort(BatchHeader.ATTRIBUTES_OFFSET, (short) 0x21), "attributes 0x21");
    refused(b -> b.put(61, (byte) 0x1A), "record length 13 is not in 0..12");
    refused(b -> b.put(62, (byte) 1), "fixed fields");
    refused(b -> b.put(63, (byte) 2), "fixed fields");
    refused(b -> b.put(64, (byte) 2), "fixed fields");
    refused(b -> b.put(65, (byte) 6), "fixed fields");
    refused(b -> b.put(70, (byte) 6), "field of 1 bytes, 0 are left");
    refused(b -> b.put(70, (byte) 1), "field of -1 bytes");
    refused(b -> b.put(73, (byte) 2), "has headers");
  }

  private static void refused(Consumer<ByteBuffer> change, String text) {
    ByteBuffer batch = ControlBatch.encode((short) 1003, new byte[] {1, 2});
    change.accept(batch);
    assertThat(refused(TestBatches.sealed(batch))).hasMessageContaining(text);
  }

  private static InvalidBatchException refused(ByteBuffer batch) {
    InvalidBatchException e =
        catchThrowableOfType(InvalidBatchException.class, () -> ControlBatch.decode(batch));
    assertThat(e).isNotNull();
    assertThat(e.code()).isEqualTo(ErrorCode.INVALID_BATCH);
    return e;
  }
}
