package io.millrace.broker.api;

import io.millrace.broker.partition.Partition;
import io.millrace.broker.partition.PartitionId;
import io.millrace.broker.partition.PartitionLookup;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.ListOffsetsPartition;
import io.millrace.protocol.message.ListOffsetsRequest;
import io.millrace.protocol.message.ListOffsetsResponse;
import io.millrace.protocol.message.ListOffsetsResult;
import io.millrace.protocol.message.OffsetKind;
import java.util.UUID;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/**
 * Offsets by name or time. A search by time reads files, so such a request is answered by a reader
 * thread; all others on the event loop.
 */
public final class ListOffsetsHandler implements RequestHandler {

  private final PartitionLookup partitions;
  private final Executor readers;
  private final RequestLimits limits;
  private final DistinctErrors errors;

  public ListOffsetsHandler(
      PartitionLookup partitions, Executor readers, RequestLimits limits, DistinctErrors errors) {
    this.partitions = partitions;
    this.readers = readers;
    this.limits = limits;
    this.errors = errors;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.LIST_OFFSETS;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    ListOffsetsRequest header = request.header(ListOffsetsRequest.parser());
    limits.checkPartitions(header.getPartitionsCount());
    boolean readsFiles =
        header.getPartitionsList().stream()
            .anyMatch(partition -> partition.getKind() == OffsetKind.OFFSET_TIMESTAMP);
    if (!readsFiles) {
      responder.respond(answer(header));
      return;
    }
    try {
      readers.execute(() -> answerFromFiles(header, responder));
    } catch (RejectedExecutionException stopped) {
      responder.fail(ErrorCode.SHUTTING_DOWN, "this broker stops; ask another one");
    }
  }

  private void answerFromFiles(ListOffsetsRequest header, Responder responder) {
    ListOffsetsResponse response;
    try {
      response = answer(header);
    } catch (RuntimeException | Error fault) {
      errors.record("search of offsets by time", fault);
      responder.fail(ErrorCode.SERVER_ERROR, "search of offsets by time failed: " + fault);
      return;
    }
    responder.respond(response);
  }

  private ListOffsetsResponse answer(ListOffsetsRequest header) {
    ListOffsetsResponse.Builder response = ListOffsetsResponse.newBuilder();
    for (ListOffsetsPartition wanted : header.getPartitionsList()) {
      response.addResults(answer(wanted));
    }
    return response.build();
  }

  private ListOffsetsResult answer(ListOffsetsPartition wanted) {
    UUID topicId = PartitionId.fromBytes(wanted.getTopicId());
    if (topicId == null) {
      return error(
          wanted,
          ErrorCode.UNKNOWN_TOPIC.toInfo(
              "a topic id has 16 bytes, this one " + wanted.getTopicId().size()));
    }
    Partition partition = partitions.find(topicId, wanted.getPartition());
    return partition == null
        ? error(wanted, partitions.explainMissing(topicId, wanted.getPartition()))
        : partition.listOffsets(wanted);
  }

  private static ListOffsetsResult error(ListOffsetsPartition wanted, ErrorInfo error) {
    return ListOffsetsResult.newBuilder()
        .setTopicId(wanted.getTopicId())
        .setPartition(wanted.getPartition())
        .setOffset(-1)
        .setTimestamp(-1)
        .setError(error)
        .build();
  }
}
