package io.millrace.broker.api;

import io.millrace.broker.cluster.Deadlines;
import io.millrace.broker.partition.Partition;
import io.millrace.broker.partition.PartitionId;
import io.millrace.broker.partition.PartitionLookup;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.ProduceBatch;
import io.millrace.protocol.message.ProduceRequest;
import io.millrace.protocol.message.ProduceResult;
import io.netty.buffer.ByteBuf;
import io.netty.util.Timer;
import java.nio.ByteBuffer;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/**
 * Hands the batches of a request to their partitions, in order, and answers when all have a result
 * or the deadline is there.
 *
 * <p>Each batch is copied once, out of the receive buffer onto the heap: it lives there until it is
 * applied, while the receive buffer is needed for the next request. Whether a batch is good, its
 * checksum beside the partition included, is checked by the partition.
 *
 * <p>Errors: sizes that do not add up to the payload refuse the whole request before anything is
 * appended; everything else is an error of one batch.
 */
public final class ProduceHandler implements RequestHandler {

  private final PartitionLookup partitions;
  private final Timer timer;
  private final RequestLimits limits;
  private final DistinctErrors errors;

  /**
   * @param timer of the deadlines
   * @param errors takes faults of single batches
   */
  public ProduceHandler(
      PartitionLookup partitions, Timer timer, RequestLimits limits, DistinctErrors errors) {
    this.partitions = partitions;
    this.timer = timer;
    this.limits = limits;
    this.errors = errors;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.PRODUCE;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    ProduceRequest header = request.header(ProduceRequest.parser());
    ByteBuf payload = request.payload();
    check(header, payload.readableBytes());
    long waitMillis = Deadlines.millisFor(header.getContext());
    PendingProduce pending = new PendingProduce(header.getBatchesCount(), waitMillis, responder);
    pending.start(timer.newTimeout(expired -> pending.expire(), waitMillis, TimeUnit.MILLISECONDS));
    int position = payload.readerIndex();
    for (int i = 0; i < header.getBatchesCount(); i++) {
      ProduceBatch batch = header.getBatches(i);
      byte[] bytes = new byte[batch.getSize()];
      payload.getBytes(position, bytes);
      position += bytes.length;
      produce(batch, ByteBuffer.wrap(bytes), i, pending);
    }
  }

  private void check(ProduceRequest header, int payloadBytes) {
    if (header.getBatchesCount() == 0) {
      throw RequestLimits.malformed("a produce request without a batch");
    }
    limits.checkPartitions(header.getBatchesCount());
    RequestLimits.notNegative("deadline_millis", header.getContext().getDeadlineMillis());
    long sum = 0;
    for (ProduceBatch batch : header.getBatchesList()) {
      RequestLimits.notNegative("size of a batch", batch.getSize());
      sum += batch.getSize();
    }
    if (sum != payloadBytes) {
      throw RequestLimits.malformed(
          "the sizes of "
              + header.getBatchesCount()
              + " batches add up to "
              + sum
              + " bytes, the payload has "
              + payloadBytes);
    }
  }

  private void produce(ProduceBatch batch, ByteBuffer bytes, int index, PendingProduce pending) {
    UUID topicId = PartitionId.fromBytes(batch.getTopicId());
    if (topicId == null) {
      pending.done(
          index,
          error(
              ErrorCode.UNKNOWN_TOPIC.toInfo(
                  "a topic id has 16 bytes, this one " + batch.getTopicId().size())));
      return;
    }
    Partition partition = partitions.find(topicId, batch.getPartition());
    if (partition == null) {
      pending.done(index, error(partitions.explainMissing(topicId, batch.getPartition())));
      return;
    }
    try {
      partition.produce(batch, bytes, result -> pending.done(index, result));
    } catch (RuntimeException | Error fault) {
      // The batches before this one are on their way; theirs must not be lost with it.
      errors.record("produce to " + partition.id(), fault);
      pending.done(
          index, error(ErrorCode.SERVER_ERROR.toInfo(partition.id() + " failed: " + fault)));
    }
  }

  private static ProduceResult error(ErrorInfo error) {
    return ProduceResult.newBuilder().setError(error).setBaseOffset(-1).build();
  }
}
