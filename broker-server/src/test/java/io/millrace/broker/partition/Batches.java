package io.millrace.broker.partition;

import io.millrace.broker.state.BatchId;
import io.millrace.broker.state.Sequences;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.BatchWriter;
import io.millrace.protocol.batch.Compression;
import io.millrace.protocol.message.ProduceBatch;
import java.nio.ByteBuffer;
import java.util.List;

/** Batches and produce requests for tests. */
final class Batches {

  static final long TIMESTAMP = 1_700_000_000_000L;

  private Batches() {}

  static ByteBuffer of(BatchId id, int valueBytes) {
    int records = Sequences.distance(id.firstSequence(), id.lastSequence()) + 1;
    return writer(records, valueBytes).build(id.producerId(), id.epoch(), id.firstSequence());
  }

  /** Of a producer without an id. */
  static ByteBuffer plain(int records, int valueBytes) {
    return writer(records, valueBytes)
        .build(BatchHeader.NO_PRODUCER_ID, BatchHeader.NO_PRODUCER_EPOCH, BatchHeader.NO_SEQUENCE);
  }

  private static BatchWriter writer(int records, int valueBytes) {
    BatchWriter writer = new BatchWriter(Compression.NONE, 64 * 1024 * 1024);
    byte[] value = new byte[valueBytes];
    for (int i = 0; i < records; i++) {
      writer.tryAppend(TIMESTAMP, null, value, List.of());
    }
    return writer;
  }

  static ProduceBatch.Builder request(PartitionId id, ByteBuffer batch) {
    return ProduceBatch.newBuilder()
        .setTopicId(id.topicIdBytes())
        .setPartition(id.partition())
        .setSize(batch.remaining())
        .setCrc(BatchHeader.crc(batch, batch.position()));
  }
}
