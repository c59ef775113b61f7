package io.millrace.protocol.batch;

import io.millrace.protocol.error.ErrorCode;
import java.nio.ByteBuffer;

/** The checks that reader and validator share. A batch lies between position and limit. */
final class BatchChecks {

  private BatchChecks() {}

  /** Length and magic: after this every field of the header can be read. */
  static BatchHeader header(ByteBuffer batch) throws InvalidBatchException {
    int pos = batch.position();
    int available = batch.remaining();
    if (available < BatchHeader.SIZE) {
      throw new InvalidBatchException(
          ErrorCode.INVALID_BATCH,
          "batch of " + available + " bytes is shorter than its header of " + BatchHeader.SIZE);
    }
    // Magic first: the other formats have other fields where the length is compared.
    byte magic = BatchHeader.magic(batch, pos);
    if (magic != BatchHeader.MAGIC) {
      throw new InvalidBatchException(
          ErrorCode.UNSUPPORTED_MAGIC,
          "batch has magic " + magic + "; supported: " + BatchHeader.MAGIC);
    }
    long size = BatchHeader.sizeInBytes(batch, pos);
    if (size != available) {
      throw new InvalidBatchException(
          ErrorCode.INVALID_BATCH,
          "batch says it has " + size + " bytes, but " + available + " are there");
    }
    return BatchHeader.read(batch, pos);
  }

  /** After {@link #header}. */
  static void crc(ByteBuffer batch) throws InvalidBatchException {
    int pos = batch.position();
    if (!BatchHeader.crcMatches(batch, pos, batch.remaining())) {
      throw new InvalidBatchException(
          ErrorCode.CORRUPT_BATCH,
          String.format(
              "checksum of a batch of %d bytes does not match its content (it says %08x)",
              batch.remaining(), BatchHeader.crc(batch, pos)));
    }
  }

  /** View of the bytes behind the header. */
  static ByteBuffer records(ByteBuffer batch) {
    return batch.duplicate().position(batch.position() + BatchHeader.SIZE);
  }
}
