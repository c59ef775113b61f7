package io.millrace.client.fake;

import com.google.protobuf.ByteString;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.BatchReader;
import io.millrace.protocol.batch.BatchValidator;
import io.millrace.protocol.batch.InvalidBatchException;
import io.millrace.protocol.batch.RecordView;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.FsyncPolicy;
import io.millrace.protocol.message.ProduceResult;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** One partition's log and producer rules. Guarded by the cluster's lock. */
public final class FakePartition {

  static final int BATCH_OVERHEAD_BYTES = 128;

  final ByteString topicId;
  final String topic;
  final int partition;
  final int maxRecordBytes;
  final FakeProducers producers = new FakeProducers();
  final List<ByteBuffer> batches = new ArrayList<>();
  int leader;
  long term = 1;
  long logStart;
  long end;

  /** The partition pretends to end here; records above are not readable yet. */
  long readableEnd = Long.MAX_VALUE;

  FakePartition(String topic, ByteString topicId, int partition, int maxRecordBytes, int leader) {
    this.topic = topic;
    this.topicId = topicId;
    this.partition = partition;
    this.maxRecordBytes = maxRecordBytes;
    this.leader = leader;
  }

  ProduceResult produce(ByteBuffer batch, boolean resume, int statedCrc) {
    BatchHeader header;
    try {
      header =
          BatchValidator.validate(
              batch,
              maxRecordBytes + BATCH_OVERHEAD_BYTES,
              BatchValidator.Limits.at(System.currentTimeMillis()));
    } catch (InvalidBatchException e) {
      if (batch.remaining() >= BatchHeader.SIZE) {
        producers.refused(BatchHeader.read(batch, batch.position()));
      }
      return error(e.code().toInfo(e.getMessage()));
    }
    if (header.crc() != statedCrc) {
      return error(ErrorCode.CORRUPT_BATCH.toInfo("stated CRC differs"));
    }
    FakeProducers.Decision decision = producers.decide(header, resume);
    if (decision.duplicate() != null) {
      return result(decision.duplicate().baseOffset(), true);
    }
    if (decision.refusal() != null) {
      producers.refused(header);
      return error(decision.refusal().toInfo(""));
    }
    ByteBuffer stored = ByteBuffer.allocate(batch.remaining());
    stored.put(batch.duplicate()).flip();
    long base = end;
    BatchHeader.patch(stored, base, (int) term);
    batches.add(stored);
    end += header.recordCount();
    producers.applied(header, base);
    return result(base, false);
  }

  void refused(ByteBuffer batch) {
    producers.refused(BatchHeader.read(batch, batch.position()));
  }

  static ProduceResult error(ErrorInfo error) {
    return ProduceResult.newBuilder().setError(error).setBaseOffset(-1).build();
  }

  private ProduceResult result(long base, boolean duplicate) {
    return ProduceResult.newBuilder()
        .setBaseOffset(base)
        .setTerm(term)
        .setFsync(FsyncPolicy.FSYNC_ALWAYS)
        .setDuplicate(duplicate)
        .build();
  }

  long visibleEnd() {
    return Math.min(end, readableEnd);
  }

  /** Index of the batch that holds the offset, or the number of batches. */
  int indexOf(long offset) {
    for (int i = 0; i < batches.size(); i++) {
      ByteBuffer b = batches.get(i);
      if (BatchHeader.baseOffset(b, 0) + BatchHeader.lastOffsetDelta(b, 0) >= offset) {
        return i;
      }
    }
    return batches.size();
  }

  static long nextOffset(ByteBuffer batch) {
    return BatchHeader.baseOffset(batch, 0) + BatchHeader.lastOffsetDelta(batch, 0) + 1;
  }

  long offsetForTime(long timestamp) {
    for (RecordView record : records()) {
      if (record.timestamp() >= timestamp) {
        return record.offset();
      }
    }
    return -1;
  }

  List<RecordView> records() {
    List<RecordView> all = new ArrayList<>();
    for (ByteBuffer batch : batches) {
      try {
        all.addAll(BatchReader.records(batch.duplicate(), Integer.MAX_VALUE));
      } catch (InvalidBatchException e) {
        throw new AssertionError(e);
      }
    }
    return all;
  }
}
