package io.millrace.protocol.batch;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.error.ErrorCode;
import java.nio.ByteBuffer;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.apache.kafka.common.utils.ByteUtils;

/** Kafka's own varints as the oracle. */
class VarintsProperties {

  @Property
  void intsAreThoseOfKafka(@ForAll int value) throws InvalidBatchException {
    ByteBuffer expected = ByteBuffer.allocate(10);
    ByteUtils.writeVarint(value, expected);
    byte[] actual = new byte[10];
    int end = Varints.write(actual, 0, value);
    assertThat(end).isEqualTo(expected.position()).isEqualTo(Varints.size(value));
    assertThat(actual).isEqualTo(expected.array());
    assertThat(parser(actual, end).readVarint()).isEqualTo(value);
  }

  @Property
  void longsAreThoseOfKafka(@ForAll long value) throws InvalidBatchException {
    ByteBuffer expected = ByteBuffer.allocate(10);
    ByteUtils.writeVarlong(value, expected);
    byte[] actual = new byte[10];
    int end = Varints.write(actual, 0, value);
    assertThat(end).isEqualTo(expected.position()).isEqualTo(Varints.size(value));
    assertThat(actual).isEqualTo(expected.array());
    assertThat(parser(actual, end).readVarlong()).isEqualTo(value);
  }

  private static RecordParser parser(byte[] bytes, int end) {
    return new RecordParser(ByteBuffer.wrap(bytes, 0, end), ErrorCode.INVALID_BATCH, "test", 0);
  }
}
