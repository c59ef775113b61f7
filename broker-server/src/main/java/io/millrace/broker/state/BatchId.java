package io.millrace.broker.state;

import io.millrace.protocol.batch.BatchHeader;
import java.nio.ByteBuffer;

/** Identity of one batch of an idempotent producer; a retry carries the same one. */
public record BatchId(long producerId, short epoch, int firstSequence, int lastSequence) {

  /** The identity in a batch header at {@code pos}; null for a producer without an id. */
  public static BatchId of(ByteBuffer batch, int pos) {
    long producerId = BatchHeader.producerId(batch, pos);
    if (producerId == BatchHeader.NO_PRODUCER_ID) {
      return null;
    }
    int first = batch.getInt(pos + BatchHeader.BASE_SEQUENCE_OFFSET);
    return new BatchId(
        producerId,
        batch.getShort(pos + BatchHeader.PRODUCER_EPOCH_OFFSET),
        first,
        Sequences.plus(first, BatchHeader.recordCount(batch, pos) - 1));
  }

  @Override
  public String toString() {
    return "producer "
        + producerId
        + " epoch "
        + epoch
        + " sequence "
        + firstSequence
        + ".."
        + lastSequence;
  }
}
