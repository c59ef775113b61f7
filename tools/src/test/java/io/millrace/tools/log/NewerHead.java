package io.millrace.tools.log;

import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.batch.InvalidBatchException;
import java.nio.ByteBuffer;

/** Makes a segment one of the next format version. */
final class NewerHead {
  private NewerHead() {}

  static byte[] of(byte[] segment) throws InvalidBatchException {
    byte[] newer = segment.clone();
    int bytes = (int) BatchHeader.sizeInBytes(ByteBuffer.wrap(newer), 0);
    byte[] value =
        ControlBatch.decode(ByteBuffer.wrap(newer, 0, bytes).slice()).value().toByteArray();
    value[1] = 2;
    ByteBuffer head = ControlBatch.encode(ControlType.SEGMENT_HEAD.code(), value);
    ByteBuffer.wrap(newer).put(0, head, 0, bytes);
    return newer;
  }
}
