package io.millrace.broker.partition;

import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.BatchValidator;
import io.millrace.protocol.batch.InvalidBatchException;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.ProduceBatch;
import java.nio.ByteBuffer;

/**
 * What a batch must satisfy whatever state the partition is in: it is for this partition, it is
 * what the request says, and its header and checksum hold. One pass over the bytes, for the
 * checksum; records are not decompressed.
 *
 * <p>Threads: any; keeps no state.
 */
final class BatchCheck {

  private BatchCheck() {}

  /** Null when the batch may be appended. */
  static ErrorInfo refusal(
      PartitionId id, int maxBatchBytes, long nowMillis, ProduceBatch request, ByteBuffer batch) {
    if (!request.getTopicId().equals(id.topicIdBytes())
        || request.getPartition() != id.partition()) {
      return ErrorCode.UNKNOWN_PARTITION.toInfo(
          "batch for partition "
              + request.getPartition()
              + " of topic id "
              + PartitionId.fromBytes(request.getTopicId())
              + " came to "
              + id
              + " of topic id "
              + id.topicId());
    }
    if (request.getSize() != batch.remaining()) {
      return ErrorCode.MALFORMED_REQUEST.toInfo(
          id
              + ": the request states a batch of "
              + request.getSize()
              + " bytes, but "
              + batch.remaining()
              + " are there");
    }
    try {
      BatchHeader header =
          BatchValidator.validate(batch, maxBatchBytes, BatchValidator.Limits.at(nowMillis));
      return header.crc() == request.getCrc() ? null : foreign(id, request, header);
    } catch (InvalidBatchException e) {
      return e.code().toInfo(id + ": " + e.getMessage());
    }
  }

  /** The batch's own checksum does not cover where it goes; the request's copy of it does. */
  private static ErrorInfo foreign(PartitionId id, ProduceBatch request, BatchHeader header) {
    return ErrorCode.CORRUPT_BATCH.toInfo(
        String.format(
            "%s: the request states checksum %08x for a batch with %08x: they belong to different"
                + " batches",
            id, request.getCrc(), header.crc()));
  }
}
