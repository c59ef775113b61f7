package io.millrace.broker.api;

import io.millrace.broker.cluster.Deadlines;
import io.millrace.broker.partition.Partition;
import io.millrace.broker.partition.PartitionId;
import io.millrace.broker.partition.PartitionLookup;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.DeleteRecordsPartition;
import io.millrace.protocol.message.DeleteRecordsRequest;
import io.millrace.protocol.message.DeleteRecordsResponse;
import io.millrace.protocol.message.DeleteRecordsResult;
import io.millrace.protocol.message.ErrorInfo;
import io.netty.util.Timeout;
import io.netty.util.Timer;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Removes records below an offset. Answers when every partition has a result, that is when its move
 * of the log start is applied, or at the deadline: what is missing then is REQUEST_TIMEOUT, outcome
 * unknown. Asking again does no harm.
 */
public final class DeleteRecordsHandler implements RequestHandler {

  private final PartitionLookup partitions;
  private final Timer timer;
  private final RequestLimits limits;
  private final DistinctErrors errors;

  public DeleteRecordsHandler(
      PartitionLookup partitions, Timer timer, RequestLimits limits, DistinctErrors errors) {
    this.partitions = partitions;
    this.timer = timer;
    this.limits = limits;
    this.errors = errors;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.DELETE_RECORDS;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    DeleteRecordsRequest header = request.header(DeleteRecordsRequest.parser());
    limits.checkPartitions(header.getPartitionsCount());
    RequestLimits.notNegative("deadline_millis", header.getContext().getDeadlineMillis());
    long waitMillis = Deadlines.millisFor(header.getContext());
    List<CompletableFuture<DeleteRecordsResult>> results = new ArrayList<>();
    for (DeleteRecordsPartition wanted : header.getPartitionsList()) {
      results.add(delete(wanted));
    }
    Timeout timeout =
        timer.newTimeout(
            expired -> expire(header, results, waitMillis), waitMillis, TimeUnit.MILLISECONDS);
    CompletableFuture<Void> all =
        CompletableFuture.allOf(results.toArray(CompletableFuture[]::new))
            .whenComplete((done, failure) -> timeout.cancel());
    FutureAnswers.answer(
        all,
        done ->
            DeleteRecordsResponse.newBuilder()
                .addAllResults(results.stream().map(CompletableFuture::join).toList())
                .build(),
        responder,
        errors,
        "deletion of records");
  }

  private CompletableFuture<DeleteRecordsResult> delete(DeleteRecordsPartition wanted) {
    CompletableFuture<DeleteRecordsResult> result = new CompletableFuture<>();
    UUID topicId = PartitionId.fromBytes(wanted.getTopicId());
    Partition partition = topicId == null ? null : partitions.find(topicId, wanted.getPartition());
    if (topicId == null) {
      result.complete(
          error(
              wanted,
              ErrorCode.UNKNOWN_TOPIC.toInfo(
                  "a topic id has 16 bytes, this one " + wanted.getTopicId().size())));
    } else if (partition == null) {
      result.complete(error(wanted, partitions.explainMissing(topicId, wanted.getPartition())));
    } else {
      partition.deleteRecords(wanted, result::complete);
    }
    return result;
  }

  private static void expire(
      DeleteRecordsRequest header,
      List<CompletableFuture<DeleteRecordsResult>> results,
      long waitMillis) {
    ErrorInfo late =
        ErrorCode.REQUEST_TIMEOUT.toInfo(
            "not committed within " + waitMillis + " ms; it may still be: ask again");
    for (int i = 0; i < results.size(); i++) {
      results.get(i).complete(error(header.getPartitions(i), late));
    }
  }

  private static DeleteRecordsResult error(DeleteRecordsPartition wanted, ErrorInfo error) {
    return DeleteRecordsResult.newBuilder()
        .setTopicId(wanted.getTopicId())
        .setPartition(wanted.getPartition())
        .setError(error)
        .build();
  }
}
